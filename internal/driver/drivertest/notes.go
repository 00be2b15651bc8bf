package drivertest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/loop"
	"github.com/hocket-run/hocket/internal/sim"
	"github.com/hocket-run/hocket/workflow"
)

func funcNode(id string) workflow.Node {
	return workflow.Node{ID: id, Kind: workflow.KindFunc, Func: &workflow.FuncNode{Func: id},
		Retry: &workflow.Retry{MaxRetries: 2, Delay: workflow.Duration(time.Second)}}
}

// substeps is a workflow of functions with sub-steps: a, which fails once after its first sub-step,
// then x and y concurrently.
func substeps() (*flow, *sim.World) {
	f := chain(funcNode("a"))
	f.fork("a", "f", workflow.Fork{}, nodes(funcNode("x")), nodes(funcNode("y")))
	w := &sim.World{}
	w.Func = func(_ context.Context, run string, c *engine.CallFunc, rec driver.Caller) engine.FuncResult {
		for i, key := range []string{"k1", "k2"} {
			_, err := w.Once(run, c, rec, key, func() (event.Value, error) { return text("did " + key), nil })
			if err == nil && i == 0 && c.Node == "a" && c.Attempt == 1 {
				err = errors.New("try again")
			}
			if err != nil {
				return engine.FuncResult{Failure: &event.Failure{Code: event.CodeFunc, Message: err.Error(),
					Retryable: true}}
			}
		}
		return engine.FuncResult{Output: text("from " + c.Node)}
	}
	return f, w
}

// testNotes checks that each sub-step is executed once despite retries, deaths at every write, and
// stores that fail at every write (ADR 12).
func testNotes(t *testing.T, c Cluster) {
	f, w := substeps()
	clean, writes := drive(t, c, w, f, func(int) func(string, int) sim.Fault { return nil })
	want, once := outcome(clean), map[string]int{"a.1/k1": 1, "a.1/k2": 1, "x.3/k1": 1, "x.3/k2": 1, "y.4/k1": 1,
		"y.4/k2": 1}
	if want["end"] != event.Type("run.completed") || count(clean, "func.noted") != len(once) || len(w.Wrong()) > 0 {
		t.Fatalf("wrong %q\n%s", w.Wrong(), show(clean))
	}
	if d := cmp.Diff(w.Noted(), once); d != "" {
		t.Errorf("sub-steps: got - want +\n%s", d)
	}
	for how, k := range faults(c, 2, writes, sim.FaultDieBefore, sim.FaultDieAfter, sim.FaultError, sim.FaultSilent) {
		c := c.Fresh(t)
		f, w := substeps()
		events, _ := drive(t, c, w, f, func(process int) func(string, int) sim.Fault {
			return func(_ string, i int) sim.Fault {
				if process == 0 && i == k {
					return how
				}
				return sim.FaultNone
			}
		})
		if got := outcome(events); !cmp.Equal(got, want) {
			t.Errorf("fault %v at write %d:\n%s\n%s", how, k, cmp.Diff(want, got), show(events))
		}
		if wrong := w.Wrong(); len(wrong) > 0 {
			t.Errorf("fault %v at write %d: %q", how, k, wrong)
		}
		dies := how == sim.FaultDieBefore || how == sim.FaultDieAfter
		if got := w.Noted(); !dies && !cmp.Equal(got, once) {
			t.Errorf("fault %v at write %d: no process died, and sub-steps were done %v times", how, k, got)
		}
	}
}

// testNotesRefused checks that a note rejected by the engine is reported to the caller and that the
// run continues. A cancelled call and a call of a process that lost the run accept no notes.
func testNotesRefused(t *testing.T, c Cluster) {
	results := make(chan error, 1)
	var hold chan struct{}
	w := &sim.World{Func: func(ctx context.Context, _ string, f *engine.CallFunc, rec driver.Caller) engine.FuncResult {
		key := "k"
		switch {
		case f.Node == "refused":
			key = ""
		case hold != nil:
			<-hold
		default:
			<-ctx.Done()
		}
		results <- rec.Record(engine.FuncNote{ID: f.ID, Key: key})
		return engine.FuncResult{Output: text("ok")}
	}}
	p := c.Open(t, Options{World: w})
	run := start(t, p, chain(funcNode("refused")))
	if err := <-results; !errors.Is(err, loop.ErrNote) {
		t.Errorf("without key: %v, want ErrNote", err)
	}
	settle(t, c, p, run, event.StatusCompleted)

	run = start(t, p, chain(funcNode("cancelled")))
	synctest.Wait()
	if err := p.Cancel(t.Context(), run, "enough"); err != nil {
		t.Fatal(err)
	}
	if err := <-results; !errors.Is(err, engine.ErrNoteLate) {
		t.Errorf("of a cancelled call: %v, want ErrNoteLate", err)
	}
	settle(t, c, p, run, event.StatusCancelled)

	hold = make(chan struct{})
	run = start(t, p, chain(funcNode("fenced")))
	synctest.Wait()
	p.Fence()
	q := c.Open(t, Options{World: &sim.World{}})
	if err := q.Resume(t.Context(), run); err != nil {
		t.Fatal(err)
	}
	settle(t, c, q, run, event.StatusCompleted)
	close(hold)
	if err := <-results; err == nil || errors.Is(err, loop.ErrNote) {
		t.Errorf("of a process that lost the run: %v", err)
	}
	if events := c.Events(t, run); count(events, "func.noted") > 0 {
		t.Errorf("a note of a process that lost the run is in the journal\n%s", show(events))
	}
	closeAll(t, p, q)
}

// testNotesInterrupted checks that the result of a sub-step is kept while its run is being
// interrupted; its function is called again and does the remaining sub-steps.
func testNotesInterrupted(t *testing.T, c Cluster) {
	var did []string
	w := &sim.World{Func: func(ctx context.Context, _ string, f *engine.CallFunc, rec driver.Caller) engine.FuncResult {
		for _, key := range []string{"k1", "k2", "k3"} {
			if slices.ContainsFunc(f.Notes, func(had loop.Note) bool {
				return had.Key == key && string(had.Value) == `"`+key+`"`
			}) {
				continue
			}
			if key == "k3" && len(did) == 2 { // the first process stops here
				return engine.FuncResult{Failure: &event.Failure{Code: event.CodeFunc, Message: "cut off"}}
			}
			did = append(did, key)
			if key == "k2" {
				<-ctx.Done()
			}
			if err := rec.Record(engine.FuncNote{ID: f.ID, Key: key, Value: text(key)}); err != nil {
				t.Errorf("note %s: %v", key, err)
			}
			if key == "k2" { // the driver would not wait this long twice
				if err := wait(context.Background(), time.Second); err != nil {
					t.Error(err)
				}
			}
		}
		return engine.FuncResult{Output: text(strings.Join(did, ","))}
	}}
	p := c.Open(t, Options{World: w})
	run := start(t, p, chain(funcNode("n")))
	synctest.Wait()
	closeAll(t, p)
	q := c.Open(t, Options{World: w})
	did = append(did, "/")
	if err := q.Resume(t.Context(), run); err != nil {
		t.Fatal(err)
	}
	settle(t, c, q, run, event.StatusCompleted)
	if got := strings.Join(did, ","); got != "k1,k2,/,k3" {
		t.Errorf("sub-steps %s", got)
	}
	closeAll(t, q)
}
