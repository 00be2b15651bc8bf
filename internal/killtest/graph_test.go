package killtest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket"
	"github.com/hocket-run/hocket/internal/documents/linked"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/killtest"
	"github.com/hocket-run/hocket/internal/service"
)

const (
	envDB     = "HOCKET_TEST_DB"
	envDiary  = "HOCKET_TEST_DIARY"
	envAnswer = "HOCKET_TEST_ANSWER" // to the run's question, "" if none is open
)

func TestMain(m *testing.M) {
	if os.Getenv(envTicks) != "" {
		if err := childTicks(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if run := killtest.Child(); run != "" {
		drive := child
		switch {
		case os.Getenv(envMap) != "":
			drive = childMap
		case os.Getenv(envGraphMap) != "":
			drive = childGraphMap
		case os.Getenv(envDocument) != "":
			drive = childDocument
		case os.Getenv(envEdit) != "":
			drive = childEdit
		case os.Getenv(envLine) != "":
			drive = childLine
		case os.Getenv(envSteps) != "":
			drive = childSteps
		case os.Getenv(envCompact) != "":
			drive = childCompact
		}
		if err := drive(run); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// child executes a run of the graph to its question or its end, as a restarted program does.
func child(run string) error {
	ctx := context.Background()
	d, err := openDiary(os.Getenv(envDiary), run)
	if err != nil {
		return err
	}
	g, err := d.graph()
	if err != nil {
		return err
	}
	e, err := hocket.Open(ctx, hocket.Config{DB: os.Getenv(envDB), Env: func(string) string { return "" }})
	if err != nil {
		return err
	}
	defer e.Close()
	_, err = hocket.Run(ctx, e, g, order{}, hocket.RunOptions{ID: run})
	if answer := os.Getenv(envAnswer); errors.Is(err, hocket.ErrExists) && answer != "" {
		_, err = hocket.Resume(ctx, e, g, run, hocket.Answer{Value: answer})
	} else if errors.Is(err, hocket.ErrExists) {
		_, err = hocket.Resume(ctx, e, g, run)
	}
	return err
}

// reader is the parent's view of the journal and the diary.
type reader struct {
	t     *testing.T
	watch *service.Service
	diary string
	read  int // bytes of the diary read so far

	status map[string]event.Status
	// returned are the calls whose results are in the journal, by idempotency key; noted are the
	// values of sub-steps in the journal, by that key and their own; received are the values that a
	// function received.
	returned map[string]bool
	noted    map[string]string
	received map[string]string
	begun    map[string]int
	wrong    []string
}

// readDiary reads what the last child wrote to the diary; the contents of the journal before its
// start are known.
func (r *reader) readDiary() {
	r.t.Helper()
	raw, err := os.ReadFile(r.diary)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		r.t.Fatal(err)
	}
	rest := string(raw[r.read:])
	for line := range strings.Lines(rest) {
		if !strings.HasSuffix(line, "\n") {
			break // the child was killed while writing
		}
		r.read += len(line)
		kind, more, _ := strings.Cut(strings.TrimSpace(line), " ")
		key, value, _ := strings.Cut(more, " ")
		switch kind {
		case wroteCall:
			r.begun[key]++
			if r.returned[key] {
				r.wrong = append(r.wrong, "node function "+key+" was called again though its result was in the journal")
			}
		case wroteBegun:
			r.begun[key]++
			if _, ok := r.noted[key]; ok {
				r.wrong = append(r.wrong, "sub-step "+key+" was done again though its value was in the journal")
			}
			if _, ok := r.received[key]; ok {
				r.wrong = append(r.wrong, "sub-step "+key+" was done again though its value had been given")
			}
		case wroteTook:
			if was, ok := r.received[key]; ok && was != value {
				r.wrong = append(r.wrong, fmt.Sprintf("sub-step %s gave %s and then %s", key, was, value))
			}
			r.received[key] = value
		default:
			r.t.Fatalf("the diary says %q", line)
		}
	}
}

// journal reads the journal of a run and returns its last state.
func (r *reader) journal(run string, plan *engine.Plan) (last order, stored bool) {
	r.t.Helper()
	events, err := r.watch.Events(context.Background(), run, 0)
	if errors.Is(err, journal.ErrNotFound) {
		return last, false
	}
	if err != nil {
		r.t.Fatalf("run %s: %v", run, err)
	}
	folded := engine.New(plan, run)
	if err := folded.Apply(events); err != nil {
		r.t.Fatalf("run %s: %v", run, err)
	}
	r.status[run] = folded.Status()
	for _, e := range events {
		switch d := e.Data.(type) {
		case *event.FuncReturned:
			if d.Error == nil {
				r.returned[run+"/"+d.Call] = true
			}
		case *event.FuncNoted:
			key, value := run+"/"+d.Call+"/"+d.Key, string(d.Value)
			if d.Key == "message" { // of the agent, which does not know its call
				key = run + agentAnswered
			}
			if was, ok := r.received[key]; ok && was != value {
				r.wrong = append(r.wrong, fmt.Sprintf("the journal has %s of sub-step %s, which gave %s", value, key,
					was))
			}
			r.noted[key] = value
		}
	}
	for key := range r.received {
		if _, ok := r.noted[key]; !ok && strings.HasPrefix(key, run+"/") {
			r.wrong = append(r.wrong, "sub-step "+key+" gave a value that is not in the journal")
		}
	}
	raw, err := json.Marshal(folded.State())
	if err == nil {
		err = json.Unmarshal(raw, &last)
	}
	if err != nil {
		r.t.Fatalf("run %s: %v", run, err)
	}
	return last, true
}

// TestKillGraph checks P3, P4, D8 and ADR 12: a graph of Go functions killed at random moments ends
// as if nothing had happened; no function whose result is in the journal is called again, and no
// sub-step whose value is there is repeated. There are 50 kills in make test, 1,000 in make
// test-all.
func TestKillGraph(t *testing.T) {
	t.Parallel()
	g, err := new(diary).graph()
	if err != nil {
		t.Fatal(err)
	}
	plan, err := engine.Compile(g.Workflow(), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	db := filepath.Join(folder, "hocket.db")
	watch, err := service.Open(t.Context(), service.Config{Documents: linked.Kit(), DB: db})
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Close()
	r := &reader{
		t: t, watch: watch, diary: filepath.Join(folder, "diary"),
		status: map[string]event.Status{}, returned: map[string]bool{}, noted: map[string]string{},
		received: map[string]string{}, begun: map[string]int{},
	}
	want, undisturbed := finished, 0
	h := killtest.Harness{
		Env: func(run string) []string {
			env := []string{envDB + "=" + db, envDiary + "=" + r.diary}
			if r.status[run] == event.StatusPaused {
				env = append(env, envAnswer+"=gift wrap")
			}
			return env
		},
		After: func(run string) bool {
			r.readDiary()
			last, stored := r.journal(run, plan)
			if !stored || !r.status[run].Ended() {
				return false
			}
			if run == killtest.Undisturbed {
				undisturbed = len(r.begun)
			}
			if d := cmp.Diff(last, want); d != "" || r.status[run] != event.StatusCompleted {
				t.Fatalf("run %s: %s with\n%s", run, r.status[run], d)
			}
			return true
		},
	}
	runs := h.Kill(t, killtest.Kills())
	if len(r.wrong) > 0 {
		t.Errorf("%d things went wrong:\n%s", len(r.wrong), strings.Join(r.wrong, "\n"))
	}
	times := 0
	for _, n := range r.begun {
		times += n
	}
	if len(r.begun) != undisturbed*(runs+1) {
		t.Errorf("%d functions and sub-steps over %d runs, %d in one that was not disturbed", len(r.begun), runs+1,
			undisturbed)
	}
	t.Logf("%d functions and sub-steps were begun %d times", len(r.begun), times)
}
