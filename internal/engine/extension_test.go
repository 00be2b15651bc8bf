package engine_test

import (
	"strings"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/enginetest"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/workflow"
)

func setNode(id, value string) workflow.Node {
	return workflow.Node{ID: id, Kind: workflow.KindSet, Set: &workflow.SetNode{Value: []byte(value)}}
}

func failingTool(id string, c *workflow.Catch) workflow.Node {
	return workflow.Node{ID: id, Kind: workflow.KindTool, Tool: &workflow.ToolNode{Tool: "act", Args: []byte("{}")},
		Catch: c}
}

// runExtended runs a graph whose tool act fails; it answers an open wait if an answer is given, and
// otherwise fires timers.
func runExtended(t *testing.T, nodes []workflow.Node, edges, answer string) *enginetest.World {
	t.Helper()
	w := enginetest.New(t, enginetest.Graph(nodes, edges), nil)
	w.Tool = func(*engine.CallTool) *engine.ToolResult {
		return &engine.ToolResult{Failure: &event.Failure{Code: "network", Message: "no route"}}
	}
	w.Start("go")
	w.Go(nil)
	if waits := w.Run.Waits(); len(waits) > 0 && answer != "" {
		w.Feed(engine.Answer{Wait: waits[0].ID, Value: event.Value(answer)})
	}
	return w
}

// TestExtensions checks values, caught failures, answers and ends.
func TestExtensions(t *testing.T) {
	t.Parallel()
	ask := workflow.Node{ID: "q", Kind: workflow.KindWait, Wait: &workflow.Wait{
		Kind: workflow.WaitQuestion, Prompt: "{{ $input }}: how many?", Template: true,
		Schema: []byte(`{"type":"integer"}`),
	}}
	gate := workflow.Node{ID: "g", Kind: workflow.KindWait, Wait: &workflow.Wait{Kind: workflow.WaitApproval,
		FailReject: true}}
	end := func(e workflow.EndNode) workflow.Node { return workflow.Node{ID: "e", Kind: workflow.KindEnd, End: &e} }
	for name, c := range map[string]struct {
		nodes                []workflow.Node
		edges, answer        string
		status               event.Status
		output, code, failed string
	}{
		"a value keeps its type": {
			[]workflow.Node{setNode("a", `{"n":3}`),
				setNode("b", `{"m":"{{ $steps.a.output.n + 1 }}","t":"{{ $input }}!"}`)}, "a -> b", "",
			event.StatusCompleted, `{"m":4,"t":"go!"}`, "", "",
		},
		"a reference without a value": {[]workflow.Node{setNode("a", `"{{ $steps.a.output }}"`)}, "", "",
			event.StatusFailed, "", event.CodeExpression, "has no value"},
		"a default that reads the failure": {
			[]workflow.Node{failingTool("t",
				&workflow.Catch{Port: workflow.PortOut, Default: []byte(`"{{ $steps.t.error.code }}"`)})}, "", "",
			event.StatusCompleted, `"network"`, "", "",
		},
		"an error edge hands on what the step was given": {
			[]workflow.Node{failingTool("t", &workflow.Catch{Port: workflow.PortError}),
				setNode("b", `["{{PREVIOUS_OUTPUT}}","{{ $steps.t.error.message }}"]`)}, "t:error -> b", "",
			event.StatusCompleted, `["go","no route"]`, "", "",
		},
		"a rejection fails": {[]workflow.Node{gate}, "", `{"decision":"reject","note":"too late"}`, event.StatusFailed,
			"", event.CodeRejected, "too late"},
		"the answer is read": {
			[]workflow.Node{gate, setNode("b", `"{{ $steps.g.decision }}: {{ $steps.g.note }}"`)}, "g:approve -> b",
			`{"decision":"approve","note":"fine"}`,
			event.StatusCompleted, `"approve: fine"`, "", "",
		},
		"an answer that matches": {[]workflow.Node{ask}, "", `3`, event.StatusCompleted, `3`, "", ""},
		"an end with an output": {[]workflow.Node{end(workflow.EndNode{Output: []byte(`{"in":"{{ $input }}"}`)})}, "",
			"", event.StatusCompleted, `{"in":"go"}`, "", ""},
		"an end that failed": {
			[]workflow.Node{end(workflow.EndNode{Status: workflow.EndFailed, Message: "no {{ $input }}"})}, "", "",
			event.StatusFailed, "", event.CodeEnded, "no go",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := runExtended(t, c.nodes, c.edges, c.answer)
			if w.Run.Status() != c.status || c.output != "" && string(w.Run.Output()) != c.output {
				t.Errorf("%s with %s, want %s with %s\n%s", w.Run.Status(), w.Run.Output(), c.status, c.output, w.Log())
			}
			if d, ok := w.Events[len(w.Events)-1].Data.(*event.RunFailed); c.code != "" &&
				(!ok || d.Error.Code != c.code || !strings.Contains(d.Error.Message, c.failed)) {
				t.Errorf("the failure is %+v, want %s with %q", d, c.code, c.failed)
			}
		})
	}
}

// TestDefaultAtDeadline checks that the default is the output at the deadline.
func TestDefaultAtDeadline(t *testing.T) {
	t.Parallel()
	n := workflow.Node{ID: "q", Kind: workflow.KindWait, Wait: &workflow.Wait{Kind: workflow.WaitQuestion, Prompt: "?",
		Deadline: workflow.Duration(time.Hour), Default: []byte(`{"n":0}`)}}
	w := enginetest.New(t, enginetest.Graph([]workflow.Node{n}, ""), nil)
	w.Start("go")
	w.Fire(w.Timers[0].ID)
	if string(w.Run.Output()) != `{"n":0}` || w.Run.Status() != event.StatusCompleted {
		t.Errorf("%s with %s\n%s", w.Run.Status(), w.Run.Output(), w.Log())
	}
}
