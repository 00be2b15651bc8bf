package engine_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/enginetest"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/workflow"
)

// mapped returns a map node followed by the nodes of its body, the first of which is its entry.
func mapped(m workflow.Node, body ...workflow.Node) []workflow.Node {
	m.Kind, m.Map.Entry = workflow.KindMap, body[0].ID
	for i := range body {
		if body[i].Parent == "" {
			body[i].Parent = m.ID
		}
	}
	return append([]workflow.Node{m}, body...)
}

func toolWith(id, args string) workflow.Node {
	return workflow.Node{ID: id, Kind: workflow.KindTool, Tool: &workflow.ToolNode{Tool: id, Args: []byte(args)}}
}

// TestMap checks where a map gets its list from, what its body sees, and what the map returns (X-30
// to X-35).
func TestMap(t *testing.T) {
	t.Parallel()
	over := func(list string) workflow.Node {
		return workflow.Node{ID: "m", Map: &workflow.Map{Over: []byte(list), MaxConcurrency: 2}}
	}
	failing := func(onError string, c *workflow.Catch) []workflow.Node {
		m := over(`["a","b","bad","c","bad"]`)
		m.Map.OnItemError, m.Catch = onError, c
		return append(mapped(m, toolWith("t", `{"v":"{{ $item }}"}`)),
			setNode("z", `{"e":"{{ has($steps.m.error) ? $steps.m.error.code : 'none' }}","o":"{{PREVIOUS_OUTPUT}}"}`))
	}
	nested := over(`[[1,2],[],[3]]`)
	nested.Map.As = "row"
	cell := workflow.Node{ID: "n", Kind: workflow.KindMap, Parent: "m", Map: &workflow.Map{Entry: "s"}}
	inner := setNode("s", `"{{ $row_index }}.{{ $item_index }}:{{ $item }}{{ $input }}"`)
	inner.Parent = "n"
	for name, c := range map[string]struct {
		nodes  []workflow.Node
		edges  string
		status event.Status
		output string
		failed string
	}{
		"in order": {
			mapped(over(`[1,{"a":2},"x"]`), toolWith("t", `{"v":"{{ $item }}","i":"{{ $item_index }}"}`)), "",
			event.StatusCompleted, `[{"i":0,"v":1},{"i":1,"v":{"a":2}},{"i":2,"v":"x"}]`, "",
		},
		"an empty list": {mapped(over(`[]`), toolWith("t", `{}`)), "", event.StatusCompleted, `[]`, ""},
		"the input is the list": {
			append(mapped(workflow.Node{ID: "m", Map: &workflow.Map{}}, setNode("s", `"{{PREVIOUS_OUTPUT}}!"`)),
				setNode("a", `["x","y"]`)), "a -> m", event.StatusCompleted, `["x!","y!"]`, "",
		},
		"outputs around and inside": {
			append(mapped(over(`["x"]`), setNode("s", `"{{ $item }}1"`),
				setNode("u", `"{{ $steps.a.output }} {{ $steps.s.output }}"`)), setNode("a", `"around"`)),
			"a -> m; s -> u", event.StatusCompleted, `["around x1"]`, ""},
		"nested": {append(mapped(nested, cell), inner), "", event.StatusCompleted,
			`[["0.0:1go","0.1:2go"],[],["2.0:3go"]]`, ""},
		"no list": {mapped(over(`"{{ $input }}"`), toolWith("t", `{}`)), "", event.StatusFailed,
			"", `expression: over: a map needs a list, not "go"`},
		"too long": {mapped(over("["+strings.Repeat("1,", workflow.MaxItems)+"1]"),
			toolWith("t", `{}`)), "", event.StatusFailed, "",
			"max_items: the list of the map has 10001 items; at most 10000 are allowed"},
		"fail_fast": {failing("", nil), "m -> z", event.StatusFailed, "", "boom: items[2]: bad"},
		"fail_fast caught": {failing(workflow.FailFast, &workflow.Catch{Port: workflow.PortOut}), "m -> z",
			event.StatusCompleted, `{"e":"boom","o":"go"}`, ""},
		"skip": {failing(workflow.FailSkip, nil), "m -> z", event.StatusCompleted,
			`{"e":"none","o":["A","B",null,"C",null]}`, ""},
		"collect": {failing(workflow.FailCollect, nil), "m -> z", event.StatusFailed, "",
			"items_failed: 2 of 5 items failed; the first, items[2]: bad"},
		"collect caught": {failing(workflow.FailCollect, &workflow.Catch{Port: workflow.PortOut}),
			"m -> z", event.StatusCompleted,
			`{"e":"items_failed","o":["A","B",{"error":{"code":"boom","message":"bad","node":"t"}},"C",` +
				`{"error":{"code":"boom","message":"bad","node":"t"}}]}`, ""},
		"collect caught with a default": {failing(workflow.FailCollect, &workflow.Catch{Port: workflow.PortOut,
			Default: []byte(`"none"`)}), "m -> z", event.StatusCompleted, `{"e":"items_failed","o":"none"}`, ""},
		"collect along an error edge": {failing(workflow.FailCollect, &workflow.Catch{Port: workflow.PortError}),
			"m:error -> z", event.StatusCompleted,
			`{"e":"items_failed","o":["A","B",{"error":{"code":"boom","message":"bad","node":"t"}},"C",` +
				`{"error":{"code":"boom","message":"bad","node":"t"}}]}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := enginetest.Graph(c.nodes, c.edges)
			if c.edges != "" && strings.HasPrefix(c.edges, "a") {
				g.Entry = "a"
			}
			w := enginetest.New(t, g, nil)
			w.Tool = itemTool
			w.Start("go")
			w.Go(nil)
			if w.Run.Status() != c.status || c.output != "" && string(w.Run.Output()) != c.output {
				t.Errorf("%s with %s, want %s with %s\n%s", w.Run.Status(), w.Run.Output(), c.status, c.output, w.Log())
			}
			if d, ok := w.Events[len(w.Events)-1].Data.(*event.RunFailed); c.failed != "" &&
				(!ok || d.Error.Code+": "+d.Error.Message != c.failed) {
				t.Errorf("got %+v, want %s", w.Events[len(w.Events)-1].Data, c.failed)
			}
		})
	}
}

// itemTool returns a string in upper case, fails for "bad", and otherwise returns its arguments
// with i first.
func itemTool(c *engine.CallTool) *engine.ToolResult {
	switch args := string(c.Arguments); {
	case args == `{"v":"bad"}`:
		return &engine.ToolResult{Failure: &event.Failure{Code: "boom", Message: "bad"}}
	case strings.HasPrefix(args, `{"v":"`) && !strings.Contains(args, `"i"`):
		return &engine.ToolResult{Text: strings.ToUpper(args[6 : len(args)-2])}
	}
	return &engine.ToolResult{Structured: sorted(c.Arguments)}
}

func sorted(v event.Value) event.Value {
	s := string(v)
	if at := strings.Index(s, `,"i":`); at > 0 {
		s = "{" + s[at+1:len(s)-1] + "," + s[1:at] + "}"
	}
	return event.Value(s)
}

// TestMapConcurrency checks that no more items run concurrently than the map allows, and that
// whenever one ends, in whatever order, the next one starts.
func TestMapConcurrency(t *testing.T) {
	t.Parallel()
	w := enginetest.New(t,
		enginetest.Graph(
			mapped(workflow.Node{ID: "m", Map: &workflow.Map{Over: []byte(`[0,1,2,3,4,5,6]`), MaxConcurrency: 3}},
				toolWith("t", `{"v":"{{ $item }}"}`)), ""), nil)
	w.Tool = itemTool
	w.Start("go")
	for most := 3; w.Run.Status() == event.StatusRunning; {
		if n := len(w.Pending); n > most || n == 0 {
			t.Fatalf("%d calls are out, want at most %d\n%s", n, most, w.Log())
		}
		c := w.Pending[len(w.Pending)-1] // newest first
		w.Pending = w.Pending[:len(w.Pending)-1]
		w.Feed(w.Answer(c))
	}
	if got, want := string(w.Run.Output()), `[{"v":0},{"v":1},{"v":2},{"v":3},{"v":4},{"v":5},{"v":6}]`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestMapRetry checks that a retried map does not repeat its finished items, and that with
// collected failures only the failed items are repeated.
func TestMapRetry(t *testing.T) {
	t.Parallel()
	for _, onError := range []string{workflow.FailFast, workflow.FailCollect} {
		m := workflow.Node{ID: "m", Map: &workflow.Map{Over: []byte(`["a","b","c"]`), MaxConcurrency: 1,
			OnItemError: onError}, Retry: &workflow.Retry{MaxRetries: 1, Delay: workflow.Duration(time.Second)}}
		w := enginetest.New(t, enginetest.Graph(mapped(m, toolWith("t", `{"v":"{{ $item }}"}`)), ""), nil)
		calls := map[string]int{}
		w.Tool = func(c *engine.CallTool) *engine.ToolResult {
			args := string(c.Arguments)
			if calls[args]++; args == `{"v":"b"}` && calls[args] == 1 {
				return &engine.ToolResult{Failure: &event.Failure{Code: "boom", Message: "once"}}
			}
			return itemTool(c)
		}
		w.Start("go")
		w.Go(nil)
		if got := string(w.Run.Output()); got != `["A","B","C"]` {
			t.Errorf("%s: got %s\n%s", onError, got, w.Log())
		}
		if got, want := fmt.Sprint(calls), `map[{"v":"a"}:1 {"v":"b"}:2 {"v":"c"}:1]`; got != want {
			t.Errorf("%s: calls %s, want %s", onError, got, want)
		}
	}
}

// TestMapApprovals checks that an approval inside a map asks once per item, that the answers may
// come in any order, and that after the map the note of the last approved item applies.
func TestMapApprovals(t *testing.T) {
	t.Parallel()
	gate := workflow.Node{ID: "g", Kind: workflow.KindWait, Wait: &workflow.Wait{Kind: workflow.WaitApproval,
		Prompt: "{{ $item }}?", Template: true, FailReject: true}}
	nodes := append(
		mapped(workflow.Node{ID: "m", Map: &workflow.Map{Over: []byte(`["a","b"]`), OnItemError: workflow.FailSkip}},
			gate, setNode("s", `"{{ $steps.g.decision }} {{ $item }}"`)),
		setNode("z", `["{{PREVIOUS_OUTPUT}}","{{APPROVAL_NOTE}}"]`))
	w := enginetest.New(t, enginetest.Graph(nodes, "g:approve -> s; m -> z"), nil)
	w.Start("go")
	waits := w.Run.Waits()
	if len(waits) != 2 || waits[0].Prompt != "a?" || waits[1].Prompt != "b?" || w.Run.Status() != event.StatusPaused {
		t.Fatalf("got %+v in a run that is %s", waits, w.Run.Status())
	}
	w.Feed(engine.Answer{Wait: waits[1].ID, Value: event.Value(`{"decision":"approve","note":"fine"}`)})
	w.Crash()
	w.Feed(engine.Answer{Wait: waits[0].ID, Value: event.Value(`{"decision":"reject","note":"no"}`)})
	if got, want := string(w.Run.Output()), `[[null,"approve b"],"fine"]`; got != want {
		t.Errorf("got %s, want %s\n%s", got, want, w.Log())
	}
}

// TestMapSteps checks that by default each started item may use its own number of steps; an
// explicit limit is shared by all.
func TestMapSteps(t *testing.T) {
	t.Parallel()
	list := "[" + strings.TrimSuffix(strings.Repeat("1,", 3000), ",") + "]"
	m := workflow.Node{ID: "m", Map: &workflow.Map{Over: []byte(list)}}
	w := enginetest.New(t, enginetest.Graph(mapped(m, setNode("s", `1`)), ""), nil)
	w.SkipLaws = true
	w.Start("go")
	wantStatus(t, w, event.StatusCompleted)
	w = enginetest.New(t, enginetest.Graph(mapped(m, setNode("s", `1`)), ""), nil)
	w.SkipLaws = true
	w.StartWith(event.RunCreated{Input: enginetest.Text("go"), Limits: workflow.Limits{MaxSteps: new(1000)}})
	if f := failure(t, w); f.Code != event.CodeMaxSteps {
		t.Errorf("got %+v, want %s", f, event.CodeMaxSteps)
	}
}

// TestMapPrompts checks that an agent's prompt may contain the item; an agent without a prompt
// receives the item in place of the run's input.
func TestMapPrompts(t *testing.T) {
	t.Parallel()
	body := []workflow.Node{
		{ID: "a", Kind: workflow.KindAgent, Agent: &workflow.AgentNode{Agent: "x",
			Prompt: workflow.Prompt{Mode: workflow.PromptTemplate, Text: "Read {{PREVIOUS_OUTPUT}}."}}},
		{ID: "b", Kind: workflow.KindAgent,
			Agent: &workflow.AgentNode{Agent: "x", Prompt: workflow.Prompt{Mode: workflow.PromptContext}}},
	}
	g := enginetest.Graph(
		mapped(workflow.Node{ID: "m", Map: &workflow.Map{Over: []byte(`["one","two"]`), MaxConcurrency: 1}}, body...),
		"a -> b")
	g.Agents = append(g.Agents, workflow.Agent{ID: "x", System: "Item {{ $item_index }}", Template: true})
	w := enginetest.New(t, g, nil)
	var asked []string
	w.Model = func(c *engine.CallModel) *engine.ModelResult {
		asked = append(asked, c.Messages[len(c.Messages)-1].Text.String())
		return enginetest.Reply("done")
	}
	w.Start("go")
	w.Go(nil)
	want := []string{"Read one.",
		"--- Prior Step Outputs ---\n\n[a (agent: x)]:\ndone\n\n--- End Prior Step Outputs ---\n\none", "Read two.",
		"--- Prior Step Outputs ---\n\n[a (agent: x)]:\ndone\n\n--- End Prior Step Outputs ---\n\ntwo"}
	if fmt.Sprintf("%q", asked) != fmt.Sprintf("%q", want) {
		t.Errorf("got  %q\nwant %q", asked, want)
	}
}
