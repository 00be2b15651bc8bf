package embedded_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/hocket-run/hocket/internal/driver/embedded"
	"github.com/hocket-run/hocket/internal/driver/stored"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/workflow"
)

// decisions is a loop of n decisions after an approval.
func decisions(n int) *workflow.Workflow {
	never := []workflow.Case{
		{Port: "out", When: workflow.Condition{Language: workflow.LangMatch, Op: "contains", Text: "no such text"}},
	}
	return &workflow.Workflow{
		Name: "test", Entry: "ok", Limits: workflow.Limits{MaxSteps: new(n + 2), MaxLoopIterations: n},
		Nodes: []workflow.Node{
			{ID: "ok", Kind: workflow.KindWait, Wait: &workflow.Wait{Kind: workflow.WaitApproval}},
			{ID: "a", Kind: workflow.KindDecide, Decide: &workflow.Decide{Cases: never, Else: "on"}},
			{ID: "b", Kind: workflow.KindDecide, Decide: &workflow.Decide{Cases: never, Else: "on"}},
		},
		Edges: []workflow.Edge{{From: "ok", Port: workflow.PortApprove, To: "a"}, {From: "a", Port: "on", To: "b"},
			{From: "b", Port: "on", To: "a", Loop: true}},
	}
}

// failing is a store whose Append of several records fails once, before or after storing them.
type failing struct {
	journal.Backend
	after, failed bool
}

func (f *failing) Append(ctx context.Context, a journal.Append) error {
	if len(a.More) == 0 || f.failed {
		return f.Backend.Append(ctx, a)
	}
	f.failed = true
	if f.after {
		if err := f.Backend.Append(ctx, a); err != nil {
			return err
		}
	}
	return errors.New("the disk does not answer")
}

// TestActivation_SplitRecords checks that an activation of many decisions is stored as records of
// limited size, and that a fork within it includes all of it. If the store fails, all of it is
// stored, once.
func TestActivation_SplitRecords(t *testing.T) {
	t.Parallel()
	for name, after := range map[string]bool{"failed before it is stored": false, "failed after it is stored": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				m := journal.NewMemory()
				f := &failing{Backend: m.Open(journal.KindServe), after: after}
				d := open(t, m, embedded.Config{Store: f})
				run := start(t, d, decisions(1500))
				if err := d.Answer(t.Context(), run, engine.Answer{Value: event.Value(`"approve"`)}); err != nil {
					t.Fatal(err)
				}
				if s := status(t, d, run); s.Status != event.StatusFailed || !f.failed {
					t.Fatalf("%+v, failed append: %t; want one that its limit ended", s, f.failed)
				}
				var longest, records int
				var last uint64
				if err := f.Each(t.Context(), run, 0, func(r journal.Record) error {
					if r.First != last+1 {
						t.Errorf("record of event %d after event %d", r.First, last)
					}
					last, longest, records = r.Last, max(longest, len(r.Data)), records+1
					return nil
				}); err != nil {
					t.Fatal(err)
				}
				if longest > 300<<10 || records < int(last)/500 {
					t.Errorf("%d events in %d records, the longest with %d bytes", last, records, longest)
				}
				var activation uint64
				if _, err := runsOf(m).Fork(t.Context(), run, last/2, func(past []event.Event) error {
					activation = past[len(past)-1].Seq
					return nil
				}); err == nil || !errors.Is(err, stored.ErrForkPoint) || activation != last {
					t.Errorf("fork within the activation: %v, past up to event %d of %d; want all of a run that ended",
						err, activation, last)
				}
			})
		})
	}
}
