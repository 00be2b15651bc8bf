package graph_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/graph"
	"github.com/hocket-run/hocket/internal/engine/event"
)

// TestQuorum checks that a quorum continues with the first branches that succeed, cancels the
// others, and fails as soon as too few can succeed, and that only the winners count, in declared
// order.
func TestQuorum(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		quorum int
		broken string // the failing branch
		finish string // in this order
		work   string // still running afterwards
		end    string
		log    []string
	}{
		"one":              {1, "", "c", "a b z", "", []string{"c"}},
		"two, in order":    {2, "", "c a", "b z", "", []string{"a", "c"}},
		"two, one fails":   {2, "b", "b c a", "z", "", []string{"a", "c"}},
		"all of three":     {3, "", "c b a", "z", "", []string{"a", "b", "c"}},
		"too few can":      {3, "b", "b", "a c", "1 of 3 branches failed; the first: it is broken", nil},
		"still enough can": {1, "b", "b", "a c", "", []string{"a"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := graph.New[state]("t").Parallel(graph.ParallelConfig[state]{
				Branches: []string{"a", "b", "c"}, Strategy: graph.StrategyQuorum, Quorum: tc.quorum,
				Merge: func(s *state, results []graph.BranchResult) error {
					for _, r := range results {
						s.Log = append(s.Log, r.Branch)
					}
					return nil
				},
			}).Then(nothing("z"))
			for _, id := range []string{"a", "b", "c"} {
				if id == tc.broken {
					b.Node(failingNode(id, -1, graph.NodeOptions{Retry: once()}))
				} else {
					b.Node(fixedOutput(id, 1))
				}
			}
			w := newWorld(t, compiled(t, b))
			w.StartWith(event.RunCreated{})
			for node := range strings.FieldsSeq(tc.finish) {
				w.finish(node)
			}
			if got := w.atWork(); got != tc.work {
				t.Errorf("at work %q, want %q\n%s", got, tc.work, w.Log())
			}
			w.Go(nil)
			if tc.end == "" {
				w.want("parallel_1, a, b, c, z", "completed")
			} else {
				w.want("parallel_1, a, b, c", tc.end)
			}
			if got := w.state().Log; !slices.Equal(got, tc.log) {
				t.Errorf("winners %v, want %v", got, tc.log)
			}
		})
	}
	for want, c := range map[string]graph.ParallelConfig[state]{
		`Parallel node "p" waits for 0 of 1 branches`: {ID: "p", Branches: []string{"a"},
			Strategy: graph.StrategyQuorum},
		`Parallel node "p" waits for 2 of 1 branches`: {ID: "p", Branches: []string{"a"},
			Strategy: graph.StrategyQuorum, Quorum: 2},
		`Parallel node "p" has a quorum, but the strategy "all"`: {ID: "p", Branches: []string{"a"}, Quorum: 1},
	} {
		_, err := graph.New[state]("t").Parallel(c).Node(nothing("a")).Compile()
		if l := problems(t, err); len(l) != 1 || l[0].Message != want {
			t.Errorf("%v, want %s", l, want)
		}
	}
}
