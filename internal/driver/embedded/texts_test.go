package embedded_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/hocket-run/hocket/internal/driver/embedded"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/sim"
	"github.com/hocket-run/hocket/internal/text"
	"github.com/hocket-run/hocket/workflow"
)

// large is a chain of two agents with an approval between them. The prompt of the second agent is
// its input, or is built from it.
func large(prompt string) *workflow.Workflow {
	w := agents("a", "b")
	w.Nodes = append(w.Nodes, workflow.Node{ID: "ok", Kind: workflow.KindWait,
		Wait: &workflow.Wait{Kind: workflow.WaitApproval}})
	w.Nodes[1].Agent.Prompt.Text = prompt
	w.Edges = []workflow.Edge{{From: "a", To: "ok"}, {From: "ok", Port: workflow.PortApprove, To: "b"}}
	return w
}

// TestTexts_LoadedOnDemand checks that a large output leaves memory once it is in the journal, and
// is loaded when a prompt needs it: by the engine, which computes the prompt's SHA-256, or only for
// the call. A store that does not respond is retried. If the store has lost or changed the output,
// the run's actor ends, and no model is called with a different prompt.
func TestTexts_LoadedOnDemand(t *testing.T) {
	t.Parallel()
	said := strings.Repeat("0123456789abcde\n", engine.LargeBytes/16+1)
	hash := journal.HashOf([]byte(said))
	for _, prompt := range []string{"", "of {{PREVIOUS_OUTPUT}}."} {
		for _, state := range []string{"stored", "busy", "gone", "changed"} {
			t.Run(fmt.Sprintf("%s prompt %q", state, prompt), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					m := journal.NewMemory()
					o := &stubStore{Backend: m.Open(journal.KindServe)}
					var reads, calls atomic.Int64
					o.blob = func(ctx context.Context, h string) ([]byte, error) {
						if h != hash {
							return o.Backend.Blob(ctx, h)
						}
						switch n := reads.Add(1); {
						case state == "busy" && n < 3:
							return nil, errStore
						case state == "gone":
							return nil, journal.ErrNotFound
						case state == "changed":
							return nil, &journal.CorruptError{Reason: "out-of-line value has other content (test)"}
						}
						return o.Backend.Blob(ctx, h)
					}
					w := &sim.World{Model: func(_ context.Context, q model.Request) (model.Reply, error) {
						calls.Add(1)
						got := q.Messages[len(q.Messages)-1].Text.String()
						want := strings.ReplaceAll(prompt, "{{PREVIOUS_OUTPUT}}", said)
						if prompt == "" {
							want = said
						}
						if calls.Load() == 2 && got != want {
							t.Errorf("the model was asked with %d bytes, want %d", len(got), len(want))
						}
						return sim.Reply("%s", said), nil
					}}
					d := open(t, m, embedded.Config{Store: o, Open: w.Open})
					run := start(t, d, large(prompt))
					status(t, d, run)
					err := d.Answer(t.Context(), run, engine.Answer{Value: event.Value(`"approve"`)})
					synctest.Wait()
					if state == "stored" || state == "busy" {
						if s := status(t, d, run); err != nil || s.Status != event.StatusCompleted {
							t.Errorf("%+v, %v; want completed", s, err)
						}
						if reads.Load() == 0 || calls.Load() != 2 {
							t.Errorf("%d reads for %d calls", reads.Load(), calls.Load())
						}
						return
					}
					if calls.Load() != 1 {
						t.Errorf("%d model calls, want none without the text", calls.Load()-1)
					}
					if prompt == "" { // the answer does not need the output; the call does
						_, err = d.Wait(t.Context(), run)
					}
					var corrupt *journal.CorruptError
					if !errors.As(err, &corrupt) || !strings.Contains(err.Error(), "out-of-line value") {
						t.Errorf("the run is %v, want damaged", err)
					}
				})
			})
		}
	}
}

// TestTexts_MissingAtInterrupt checks that a string that cannot be loaded while the last result of
// an interrupted run is stored leaves the run as its journal has it.
func TestTexts_MissingAtInterrupt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := journal.NewMemory()
		o := &stubStore{Backend: m.Open(journal.KindServe)}
		var isLost atomic.Bool
		o.append = func(ctx context.Context, a journal.Append) error {
			if isLost.Load() { // panics as the encoder does
				panic(&text.LoadError{Err: errStore})
			}
			return o.Backend.Append(ctx, a)
		}
		w := &sim.World{Model: func(ctx context.Context, _ model.Request) (model.Reply, error) {
			<-ctx.Done()
			return sim.Reply("done"), nil
		}}
		d := open(t, m, embedded.Config{Store: o, Open: w.Open})
		run := start(t, d, agents("a"))
		synctest.Wait()
		isLost.Store(true)
		err := d.Interrupt(t.Context(), run)
		isLost.Store(false)
		if s := status(t, d, run); err != nil || !s.Interrupted {
			t.Errorf("%+v, %v; want interrupted", s, err)
		}
	})
}
