package project

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/workflow"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// journal builds events by hand; each one is numbered and dated 10 ms after the one before.
type journal struct{ events []event.Event }

func (j *journal) at() time.Time {
	return start.Add(time.Duration(len(j.events)) * 10 * time.Millisecond)
}

func (j *journal) run(data ...event.Data) *journal {
	for _, d := range data {
		j.events = append(j.events, event.Event{Seq: uint64(len(j.events) + 1), At: j.at(), Data: d})
	}
	return j
}

func (j *journal) step(n int, node string, data ...event.Data) *journal {
	for _, d := range data {
		j.events = append(j.events, event.Event{Seq: uint64(len(j.events) + 1), At: j.at(), Step: n, Node: node,
			Data: d})
	}
	return j
}

// begun starts a run with the given input.
func begun(input string) *journal {
	return new(journal).run(&event.RunCreated{Version: 1, Digest: "d", Input: event.Value(input)},
		&event.RunStarted{})
}

func started(kind workflow.Kind, from int) *event.StepStarted {
	return &event.StepStarted{Tokens: []int{1}, Kind: kind, Iteration: 1, From: from}
}

func agentStarted(agent string, from int, input string) *event.StepStarted {
	return &event.StepStarted{Tokens: []int{1}, Kind: workflow.KindAgent, Iteration: 1, From: from, Agent: agent,
		Input: event.Value(input)}
}

func inScope(d *event.StepStarted, scope int) *event.StepStarted {
	d.Scope = scope
	return d
}

func called(call string) *event.ModelCalled {
	return &event.ModelCalled{Call: call, Attempt: 1, Agent: "a", Model: "openai/gpt-5-mini", Conversation: "c",
		Length: 1}
}

func replied(call, text string) *event.ModelReplied {
	return &event.ModelReplied{Call: call, Attempt: 1, Message: chat.Message{Role: chat.RoleAssistant,
		Text: chat.NewText(text)}, Usage: &chat.Usage{InputTokens: 10, OutputTokens: 3},
		CostUSD: new(0.1)}
}

func edge(to string) *event.EdgeTaken { return &event.EdgeTaken{To: to, Token: 1} }

func branch(to string, n, scope int) *event.EdgeTaken {
	return &event.EdgeTaken{To: to, Token: 1, Branch: n, Scope: scope}
}

func arrival(to string, scope int) *event.EdgeTaken { return &event.EdgeTaken{To: to, Scope: scope} }

var (
	same  = &event.StepCompleted{Same: true, Ports: []string{"out"}}
	reply = &event.StepCompleted{Reply: true, Ports: []string{"out"}}
)

// agentStep adds a complete agent step that answers with text.
func (j *journal) agentStep(n int, node, agent string, from, scope int, input, text string) *journal {
	return j.step(n, node, inScope(agentStarted(agent, from, input), scope), called(node), replied(node, text), reply)
}

// definition builds a workflow from nodes; agents are named after their ids, capitalized if it
// matters.
func definition(format string, nodes ...workflow.Node) *workflow.Workflow {
	w := &workflow.Workflow{Format: format, Nodes: nodes, Agents: []workflow.Agent{{ID: "a", Name: "Writer"},
		{ID: "b", Name: "Critic"}, {ID: "gen"}, {ID: "sub", Name: "Helper"}, {ID: "sub2", Name: "Deeper"}}}
	if len(nodes) > 0 {
		w.Entry = nodes[0].ID
	}
	return w
}

func node(id string, kind workflow.Kind) workflow.Node { return workflow.Node{ID: id, Kind: kind} }

func approval(id string) workflow.Node {
	return workflow.Node{ID: id, Kind: workflow.KindWait, Wait: &workflow.Wait{Kind: workflow.WaitApproval}}
}

func fork(id, join, shape string, branches ...string) workflow.Node {
	n := workflow.Node{ID: id, Kind: workflow.KindFork, Fork: &workflow.Fork{Join: join, Shape: shape}}
	for _, b := range branches {
		n.Fork.Branches = append(n.Fork.Branches, workflow.Branch{ID: b})
	}
	return n
}

func forkJoin(id string) workflow.Node {
	return workflow.Node{ID: id, Kind: workflow.KindJoin, Hidden: true, Join: &workflow.Join{Fork: "x"}}
}

// wantJSON compares got and want as JSON, ignoring the order of object keys.
func wantJSON(t *testing.T, got any, want string) {
	t.Helper()
	b, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	var g, w any
	if err := json.Unmarshal(b, &g); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(want), &w); err != nil {
		t.Fatalf("want is no JSON: %v", err)
	}
	if diff := cmp.Diff(g, w); diff != "" {
		t.Errorf("(-got +want):\n%s", diff)
	}
}
