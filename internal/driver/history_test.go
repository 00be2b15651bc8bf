package driver_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/enginetest"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/tool"
	"github.com/hocket-run/hocket/workflow"
)

// TestHistory checks that a finished call is reported as it was made: with its arguments, wherever
// they are stored, for the agent whose conversation it was part of; failed calls are not reported
// (D19).
func TestHistory(t *testing.T) {
	t.Parallel()
	g := enginetest.Graph([]workflow.Node{enginetest.Agent("outer"),
		{ID: "n", Kind: workflow.KindTool, Tool: &workflow.ToolNode{Tool: "last"}}}, "outer -> n",
		workflow.Agent{ID: "outer", Subagents: []workflow.Subagent{{Agent: "inner", Tool: "ask"}}},
		workflow.Agent{ID: "inner"})
	w := enginetest.New(t, g, nil)
	w.Start("go")
	w.Finish("agent outer", enginetest.Asks(enginetest.Call("c1", "t", `{"by":"outer"}`),
		enginetest.Call("c2", "ask", `{"input":"x"}`)))
	w.Finish("agent inner", enginetest.Asks(enginetest.Call("c1", "u", `{"by":"inner"}`),
		enginetest.Call("c3", "broken", `{}`)))
	w.Finish("tool u", enginetest.Returns("inner"))
	w.Finish("tool broken", &engine.ToolResult{Failure: &event.Failure{Code: "server", Message: "boom"}})
	w.Finish("tool t", &engine.ToolResult{Text: "outer", IsError: true})
	w.Finish("agent inner", enginetest.Say("done"))
	over := enginetest.Reply("over")
	over.Source = "2"
	w.Finish("agent outer", over)
	w.Finish("tool last", enginetest.Returns("end"))
	want := []tool.Finished{
		finished("inner", "outer", "u", "1.1.4", `{"by":"inner"}`, "inner"),
		finished("outer", "outer", "t", "1.0.2", `{"by":"outer"}`, "outer"),
		finished("", "n", "last", "2.0.1", `{"input":"over"}`, "end"),
	}
	want[1].Result.IsError = true
	h := historyOf(t, w)
	if diff := cmp.Diff(want, h.Tools); diff != "" {
		t.Errorf("%s\n%s", diff, w.Log())
	}
	if diff := cmp.Diff([]int{2}, h.Replies); diff != "" {
		t.Error(diff)
	}
}

// TestHistoryOfExecutor checks that calls made by a tool executor have the arguments of the
// preceding reply, and are made for the agent that requested them (S3-4).
func TestHistoryOfExecutor(t *testing.T) {
	t.Parallel()
	agent := enginetest.Agent("a")
	agent.Agent.Prompt.Mode = workflow.PromptShared
	g := enginetest.Graph([]workflow.Node{agent, {ID: "x", Kind: workflow.KindExec}}, "a:calls -> x; x -> a")
	g.Rules.SharedConversation = true
	w := enginetest.New(t, g, nil)
	w.Start("go")
	w.Finish("agent a", enginetest.Asks(enginetest.Call("c1", "note", `{"n":1}`)))
	c, ok := w.Pending[0].(*engine.CallTool)
	if !ok || c.Agent == nil || string(c.Arguments) != `{"n":1}` {
		t.Fatalf("no tool is called for an agent\n%s", w.Log())
	}
	w.Finish("tool note", enginetest.Returns("noted"))
	want := []tool.Finished{finished(c.Agent.ID, "x", "note", "2.0.1", `{"n":1}`, "noted")}
	if diff := cmp.Diff(want, historyOf(t, w).Tools); diff != "" {
		t.Errorf("%s\n%s", diff, w.Log())
	}
}

func finished(agent, node, name, call, arguments, text string) tool.Finished {
	return tool.Finished{Call: tool.Call{Run: "run1", Agent: agent, Node: node, Name: name,
		Arguments: json.RawMessage(arguments), Key: "run1/" + call}, Result: tool.Result{Text: text}}
}

func historyOf(t *testing.T, w *enginetest.World) *driver.History {
	t.Helper()
	fold := engine.New(w.Plan, "run1")
	h := driver.NewHistory("run1", fold)
	for i, e := range w.Events {
		if err := fold.Apply(w.Events[i : i+1]); err != nil {
			t.Fatal(err)
		}
		h.Add(e)
	}
	return h
}
