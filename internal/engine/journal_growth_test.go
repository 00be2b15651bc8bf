package engine_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/enginetest"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/workflow"
)

// TestRun_StoredBytesLinear checks that what a run stores grows with its new data, not with what
// its prompts repeat: at most 1.5 times its unique bytes plus 1 KB per step, and 2n steps store at
// most 2.2 times as much as n.
func TestRun_StoredBytesLinear(t *testing.T) {
	t.Parallel()
	const size = 5000
	agent := func(id string, mode workflow.PromptMode) workflow.Node {
		return workflow.Node{ID: id, Kind: workflow.KindAgent,
			Agent: &workflow.AgentNode{Agent: "w", Prompt: workflow.Prompt{Mode: mode}}}
	}
	chain := func(n int) *workflow.Workflow {
		var all []workflow.Node
		edges := ""
		for i := range n {
			all = append(all, agent(fmt.Sprintf("s%d", i), workflow.PromptContext))
			if i > 0 {
				edges += fmt.Sprintf("; s%d -> s%d", i-1, i)
			}
		}
		return enginetest.Graph(all, edges[2:], workflow.Agent{ID: "w"})
	}
	loop := func(mode workflow.PromptMode) func(int) *workflow.Workflow {
		return func(n int) *workflow.Workflow {
			g := enginetest.Graph([]workflow.Node{agent("first", mode), agent("a", mode), agent("b", mode)},
				"first -> a; a -> b; b -> a", workflow.Agent{ID: "w"})
			g.Edges[2].Loop = true
			g.Limits.MaxSteps, g.Limits.MaxLoopIterations = new(n), 2*n
			return g
		}
	}
	branches := func(n int) *workflow.Workflow {
		var ids []string
		for i := range n - 2 {
			ids = append(ids, fmt.Sprintf("b%d", i))
		}
		all := append([]workflow.Node{agent("a", workflow.PromptContext)},
			enginetest.Fork("p", workflow.Fork{}, ids...)...)
		edges := "a -> p; p/join -> z"
		for _, id := range ids {
			all = append(all, enginetest.In("p", agent(id, workflow.PromptContext)))
			edges += fmt.Sprintf("; p:%[1]s -> %[1]s; %[1]s -> p/join", id)
		}
		return enginetest.Graph(append(all, agent("z", workflow.PromptContext)), edges, workflow.Agent{ID: "w"})
	}
	for name, flow := range map[string]func(int) *workflow.Workflow{
		"chain": chain, "loop of prior outputs": loop(workflow.PromptContext),
		"loop of turns": loop(workflow.PromptTurns), "branches": branches,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stored := func(n int) int {
				w := enginetest.New(t, flow(n), nil)
				w.SkipLaws = true
				steps := 0
				w.Model = func(*engine.CallModel) *engine.ModelResult {
					steps++
					return enginetest.Reply(fmt.Sprint(steps, strings.Repeat("x", size)))
				}
				w.Start("go")
				w.Go(nil)
				data, blobs, err := journal.Encode(w.Events)
				if err != nil {
					t.Fatal(err)
				}
				bytes := len(data)
				for _, b := range blobs {
					bytes += len(b.Data)
				}
				if most := steps*size*3/2 + 1000*n; steps < n-1 || bytes > most {
					t.Errorf("%d steps of %d bytes store %d bytes, at most %d may be", steps, size, bytes, most)
				}
				return bytes
			}
			if one, two := stored(50), stored(100); two*10 > one*22 {
				t.Errorf("50 steps store %d bytes, 100 store %d", one, two)
			}
		})
	}
}
