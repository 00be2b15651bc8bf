package engine_test

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/enginetest"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/workflow"
)

// TestMaxBytes checks that a run that is too large makes no further call, wherever that call would
// be made, keeps what was done, and continues from there under a larger limit. Without a recorded
// limit, as in all runs of earlier versions, it never ends that way (SEC17, D20).
func TestMaxBytes(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("x", 30_000)
	tool := enginetest.Call("1", "search", fmt.Sprintf(`{"q":%q}`, large))
	sub := enginetest.Call("1", "subagent_k", fmt.Sprintf(`{"input":%q}`, large))
	for name, tc := range map[string]struct {
		before, after []any
	}{
		"next step": {[]any{enginetest.Say("%s", large)}, []any{enginetest.Say("z")}},
		"tool call": {[]any{enginetest.Asks(tool)}, []any{enginetest.Returns("found"), enginetest.Say("x"),
			enginetest.Say("z")}},
		"in a tool loop": {[]any{enginetest.Asks(enginetest.Call("1", "search", `{}`)), enginetest.Returns(large)},
			[]any{enginetest.Say("x"), enginetest.Say("z")}},
		"sub-agent": {[]any{enginetest.Asks(sub)},
			[]any{enginetest.Say("k"), enginetest.Say("x"), enginetest.Say("z")}},
		"after sub-agent": {[]any{enginetest.Asks(enginetest.Call("1", "subagent_k", `{"input":"x"}`)),
			enginetest.Say("%s", large)}, []any{enginetest.Say("x"), enginetest.Say("z")}},
	} {
		for _, bounded := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, %t", name, bounded), func(t *testing.T) {
				t.Parallel()
				g := enginetest.Graph(nodes("a", "z"), "a -> z", workflow.Agent{ID: "a",
					Subagents: []workflow.Subagent{{Agent: "k", Tool: "subagent_k"}}}, workflow.Agent{ID: "k"})
				w := enginetest.New(t, g, nil)
				c := event.RunCreated{Input: enginetest.Text("go")}
				if bounded {
					c.Limits.MaxBytes = 30_000
				}
				w.StartWith(c)
				for _, in := range tc.before {
					wantStatus(t, w, event.StatusRunning)
					w.FinishAt(0, in)
				}
				if bounded {
					wantStatus(t, w, event.StatusFailed)
					last := w.Events[len(w.Events)-1].Data.(*event.RunFailed)
					if last.Error.Code != event.CodeMaxBytes || !strings.Contains(last.Error.Message, "max_bytes") ||
						w.Run.EndedByLimit() != event.CodeMaxBytes || len(w.Pending) > 0 {
						t.Fatalf("got %+v, %d calls out", last.Error, len(w.Pending))
					}
					w.Crash()
					w.Feed(engine.Reopen{Limits: workflow.Limits{MaxBytes: 1 << 20}})
				}
				for _, in := range tc.after {
					if len(w.Pending) != 1 {
						t.Fatalf("%d calls out, want 1\n%s", len(w.Pending), w.Log())
					}
					w.FinishAt(0, in)
				}
				wantStatus(t, w, event.StatusCompleted)
				w.CheckPrefixes()
			})
		}
	}
}

// TestMaxBytesGrowth checks that what a run would produce from what it has is measured in advance:
// texts that repeat an output, and outputs composed of outputs that double with every block
// (SEC17).
func TestMaxBytesGrowth(t *testing.T) {
	t.Parallel()
	const most = 100_000
	refs := strings.Repeat("{{ $steps.a.output }}", 1000)
	repeats, err := json.Marshal(map[string]any{"q": []string{refs}})
	if err != nil {
		t.Fatal(err)
	}
	system, argument := workflow.Agent{ID: "b", System: refs, Template: true},
		workflow.Node{ID: "b", Kind: workflow.KindTool, Tool: &workflow.ToolNode{Tool: "t", Args: repeats}}
	pass := func(id string) workflow.Node {
		never := workflow.Condition{Language: workflow.LangMatch, Op: "equal", Text: "never"}
		return workflow.Node{ID: id, Kind: workflow.KindDecide,
			Decide: &workflow.Decide{Cases: []workflow.Case{{Port: "out", When: never}}, Else: "out"}}
	}
	chain := func(shape string) *workflow.Workflow {
		all, edges, from := nodes("a"), "", "a"
		for i := range 60 {
			f, l, r := fmt.Sprintf("f%d", i), fmt.Sprintf("l%d", i), fmt.Sprintf("r%d", i)
			all = append(all, enginetest.Fork(f, workflow.Fork{Shape: shape}, l, r)...)
			all = append(all, enginetest.In(f, pass(l)), enginetest.In(f, pass(r)))
			edges += fmt.Sprintf("; %[1]s -> %[2]s; %[2]s:%[3]s -> %[3]s; %[2]s:%[4]s -> %[4]s; %[3]s -> %[2]s/join; "+
				"%[4]s -> %[2]s/join", from, f, l, r)
			from = f + "/join"
		}
		return enginetest.Graph(all, edges[2:])
	}
	for name, g := range map[string]*workflow.Workflow{
		"system prompt": enginetest.Graph(nodes("a", enginetest.Agent("b")), "a -> b", workflow.Agent{ID: "a"}, system),
		"arguments":     enginetest.Graph(nodes("a", argument), "a -> b"),
		"blocks":        chain(workflow.ShapeMap),
		"blocks, list":  chain(""),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := enginetest.New(t, g, nil)
			c := event.RunCreated{Input: enginetest.Text("go")}
			c.Limits.MaxBytes = most
			w.StartWith(c)
			w.Finish("a", enginetest.Say("%s", strings.Repeat("x", 1000)))
			wantStatus(t, w, event.StatusFailed)
			last := w.Events[len(w.Events)-1].Data.(*event.RunFailed)
			if last.Error.Code != event.CodeMaxBytes {
				t.Fatalf("got %+v", last.Error)
			}
			data, err := json.Marshal(w.Events)
			if err != nil || len(data) > 3*most {
				t.Errorf("the events have %d bytes, %v; the bound is %d", len(data), err, most)
			}
			w.CheckPrefixes()
		})
	}
}

// TestValueGrowth checks that values that double with every step are made in about the memory that
// they take, and that an activation that makes large values is cut short so that they can be
// stored, however fast it is.
func TestValueGrowth(t *testing.T) { //nolint:paralleltest // it measures what is allocated
	const steps = 40
	all, edges := []any{}, ""
	for i := range steps {
		id := fmt.Sprintf("s%d", i)
		all = append(all, setNode(id, `["{{ PREVIOUS_OUTPUT }}", "{{ PREVIOUS_OUTPUT }}"]`))
		if i > 0 {
			edges += fmt.Sprintf("; s%d -> %s", i-1, id)
		}
	}
	w := enginetest.New(t, enginetest.Graph(nodes(all...), edges[2:]), nil)
	w.SkipLaws, w.Stop = true, func() bool { return false }
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	w.Start(strings.Repeat("x", 1000))
	activations := 1
	for ; w.Run.IsCut(); activations++ {
		w.Feed(engine.Continue{})
	}
	runtime.ReadMemStats(&after)
	wantStatus(t, w, event.StatusFailed)
	last := w.Events[len(w.Events)-1].Data.(*event.RunFailed)
	if last.Error.Code != event.CodeValueTooLarge || activations != 3 {
		t.Errorf("%+v after %d activations, want value_too_large after 3", last.Error, activations)
	}
	made := 0
	for _, ev := range w.Events {
		if d, ok := ev.Data.(*event.StepCompleted); ok {
			made += len(d.Output)
		}
	}
	if all := after.TotalAlloc - before.TotalAlloc; all > uint64(made+made/4) {
		t.Errorf("values of %d bytes allocated %d", made, all)
	}
}
