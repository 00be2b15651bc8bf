package engine_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/enginetest"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/workflow"
)

// TestScope_StateReleased checks that blocks and sub-flows that have ended keep no copy of the
// state they started with: what one loop iteration adds to the state of the run does not depend on
// how large the state is (P6).
func TestScope_StateReleased(t *testing.T) {
	t.Parallel()
	const passes, large = 6, 20_000
	size := func(passes int) int {
		sub := subNode("s", false)
		sub.Subflow.Mapper = "out"
		all := append(nodes(sub), enginetest.Fork("p", workflow.Fork{}, "a", "b")...)
		all = append(all, enginetest.In("p", funcNode("a")), enginetest.In("p", funcNode("b")), funcNode("z"))
		g := typedFlow(enginetest.Graph(all, "s -> p; p:a -> a; p:b -> b; a -> p/join; b -> p/join; p/join -> z"),
			enginetest.Graph(nodes(funcNode("x")), ""))
		w := enginetest.New(t, g,
			&host{merge: func(string, map[string]event.Value, engine.View) (map[string]event.Value, error) {
				return map[string]event.Value{"k": event.Value("1")}, nil
			}})
		w.StartWith(
			event.RunCreated{Input: event.Value(fmt.Sprintf(`{"n":1,"large":%q}`, strings.Repeat("x", large)))})
		for i := range passes {
			w.Finish("s/x", update("n=2"))
			w.Finish("a", update("n=3"))
			w.Finish("b", update(""))
			end := update("")
			if i < passes-1 {
				end.Goto = []string{"s"}
			}
			w.Finish("z", end)
		}
		wantStatus(t, w, event.StatusCompleted)
		return len(enginetest.State(w.Run))
	}
	if one, many := size(1), size(passes); many-one > large/2 {
		t.Errorf("%d passes more add %d bytes to the run, with a state of %d", passes-1, many-one, large)
	}
}
