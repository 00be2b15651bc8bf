package compat_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket"
	"github.com/hocket-run/hocket/graph"
	"github.com/hocket-run/hocket/graph/compat"
)

// TestCheckpoints checks that step_<n> is saved after each node, that checkpoint_<n> or the label
// of the signal is saved in addition, and is the only one without AutoCheckpoint, that n counts
// across pauses and resumes, and that the state of a waiting run is saved, too (S2-65).
func TestCheckpoints(t *testing.T) {
	t.Parallel()
	node := func(id string, signals ...graph.Signal) graph.Node[counted] {
		return graph.NewNode(id, graph.TypeTool,
			func(_ context.Context, c *graph.Context[counted]) (graph.Result[counted], error) {
				s := c.State
				s.Tags = append(s.Tags, id)
				return graph.Result[counted]{Update: &s, Signals: signals}, nil
			})
	}
	g, err := graph.New[counted]("t").Start(node("a")).Then(node("b", graph.Signal{Type: graph.SignalCheckpoint})).Wait(
		"go on?").
		Then(node("c", graph.Signal{Type: graph.SignalCheckpoint, Data: map[string]any{"label": "approved"}})).Then(
		node("d")).Compile()
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		auto *bool
		want []string
	}{
		"S2-65 automatic": {nil, []string{"step_1=a", "checkpoint_2=ab", "step_2=ab", "step_3=ab", "approved=abc",
			"step_4=abc", "step_5=abcd"}},
		"S2-65 signals": {new(bool), []string{"checkpoint_2=ab", "approved=abc"}},
	} {
		for kind, c := range checkpointStores(t) {
			t.Run(name+" "+kind, func(t *testing.T) {
				e, err := hocket.Open(t.Context(), hocket.Config{})
				if err != nil {
					t.Fatal(err)
				}
				defer e.Close()
				o := hocket.RunOptions{ID: "r", Checkpointer: c, AutoCheckpoint: tt.auto}
				r, err := hocket.Run(t.Context(), e, g, counted{}, o)
				if err != nil || r.Status != hocket.StatusPaused {
					t.Fatalf("%+v, %v", r, err)
				}
				o.ResumeFrom, o.Answer = &r.Snapshot, &hocket.Answer{Value: "yes"}
				if r, err = hocket.Run(t.Context(), e, g, counted{}, o); err != nil ||
					r.Status != hocket.StatusCompleted {
					t.Fatalf("%+v, %v", r, err)
				}
				labels, err := c.List(t.Context(), "r")
				if err != nil {
					t.Fatal(err)
				}
				got := []string{}
				for _, l := range labels {
					s, err := compat.LoadState[counted](t.Context(), c, "r", l)
					if err != nil {
						t.Fatal(err)
					}
					got = append(got, l+"="+strings.Join(s.Tags, ""))
				}
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
				if err := c.Delete(t.Context(), "r", ""); err != nil {
					t.Fatal(err)
				}
			})
		}
	}
}
