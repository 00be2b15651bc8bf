package project

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/workflow"
)

// TestContext checks S4-34 and S4-4: the step context is in order of execution, with the latest
// outputs, nested blocks and no conditions.
func TestContext(t *testing.T) {
	t.Parallel()
	def := blockDef("")
	def.Nodes = append(def.Nodes, workflow.Node{ID: "gen", Kind: workflow.KindAgent,
		Agent: &workflow.AgentNode{Agent: "gen"}}, node("check", workflow.KindDecide),
		workflow.Node{ID: "count", Kind: workflow.KindTool},
		workflow.Node{ID: "glue", Kind: workflow.KindTool, Hidden: true})
	done := &event.StepCompleted{Ports: []string{"out"}}
	inner := `{"steps":{"y":{"output":"Y","agent":"Writer"},"z":{"output":"Z","agent":"Critic"}},"order":["y","z"]}`
	tests := map[string]struct {
		journal *journal
		want    string
	}{
		"nothing": {begun(`"x"`), `{}`},
		"a loop": {begun(`"x"`).agentStep(1, "gen", "gen", 0, 0, "", "first").step(2, "check",
			started(workflow.KindDecide, 1), same).
			agentStep(3, "after", "gen", 2, 0, "", "A").step(4, "count", started(workflow.KindTool, 3),
			&event.StepCompleted{Output: event.Value(`{"n":1}`)}).
			step(5, "glue", started(workflow.KindTool, 3), &event.StepCompleted{Output: event.Value(`1`)}).agentStep(
			6, "gen", "gen", 4, 0, "", "second"),
			`{"gen":{"output":"second","agent":"gen"},"after":{"output":"A","agent":"gen"},"count":{"output":{"n":1},` +
				`"agent":""}}`},
		"a block": {blockJournal().step(1, "par", done).agentStep(6, "after", "gen", 1, 0, "", "end"),
			`{"par":{"steps":{"gen_1":{"output":"G","agent":"gen"},"inner":` + inner +
				`},"order":["gen_1","inner"]},"after":{"output":"end","agent":"gen"}}`},
		"a block cut short": {begun(`"x"`).agentStep(1, "gen", "gen", 0, 0, "", "g").
			step(2, "par", started(workflow.KindFork, 1), branch("par/gen_1", 1, 1), branch("inner", 2, 2)).
			step(3, "par/gen_1", inScope(agentStarted("gen", 2, ""), 1)).
			step(4, "inner", inScope(started(workflow.KindFork, 2), 2), branch("y", 1, 3), branch("z", 2, 4)).
			agentStep(5, "y", "a", 4, 3, "", "Y").step(3, "par/gen_1", &event.StepFailed{}).step(2, "par",
			&event.StepFailed{}).run(&event.RunFailed{}),
			`{"gen":{"output":"g","agent":"gen"},"par":{"steps":{"inner":{"steps":{"y":{"output":"Y",` +
				`"agent":"Writer"}},"order":["y"]}},"order":["inner"]}}`},
		"a failed step": {begun(`"x"`).step(1, "gen", agentStarted("gen", 0, ""), &event.StepFailed{Port: "error"}).
			agentStep(2, "after", "gen", 1, 0, "", "A"),
			`{"after":{"output":"A","agent":"gen"}}`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := string(Fold("r", def, tt.journal.events).Context()); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

// TestTrail checks S1-25, S1-10 and S1-13: A B C B C B is three rounds; the failed agent is
// included with its error.
func TestTrail(t *testing.T) {
	t.Parallel()
	def := definition("rounds", node("A", workflow.KindAgent), node("B", workflow.KindAgent),
		node("C", workflow.KindAgent))
	j := begun(`"x"`)
	from := 0
	for i, id := range []string{"A", "B", "C", "B", "C"} {
		next := map[string]string{"A": "B", "B": "C", "C": "B"}[id]
		j.agentStep(i+1, id, "b", from, 0, `"to `+id+`"`, "by "+id).step(i+1, id, edge(next))
		from = i + 1
	}
	j.step(6, "B", agentStarted("a", 5, `"to B"`))
	running := Fold("r", def, j.events).Trail()
	if len(running) != 5 {
		t.Errorf("%d entries while the sixth goes on", len(running))
	}
	j.step(6, "B", &event.StepFailed{Error: event.Failure{Code: "rate_limit", Message: "slow down"}}).run(
		&event.RunFailed{Error: event.Failure{Message: "slow down"}})
	want := []TrailEntry{
		{NodeID: "A", AgentID: "b", AgentName: "Critic", Order: 0, Round: 0,
			Input: event.Value(`"x"`), Prompt: event.Value(`"to A"`),
			Output: event.Value(`"by A"`), SentToNodeID: "B"},
		{NodeID: "B", AgentID: "b", AgentName: "Critic", Order: 1, Round: 0,
			Input: event.Value(`"by A"`), Prompt: event.Value(`"to B"`),
			Output: event.Value(`"by B"`), SentToNodeID: "C"},
		{NodeID: "C", AgentID: "b", AgentName: "Critic", Order: 2, Round: 0,
			Input: event.Value(`"by B"`), Prompt: event.Value(`"to C"`),
			Output: event.Value(`"by C"`), SentToNodeID: "B"},
		{NodeID: "B", AgentID: "b", AgentName: "Critic", Order: 3, Round: 1,
			Input: event.Value(`"by C"`), Prompt: event.Value(`"to B"`),
			Output: event.Value(`"by B"`), SentToNodeID: "C"},
		{NodeID: "C", AgentID: "b", AgentName: "Critic", Order: 4, Round: 1,
			Input: event.Value(`"by B"`), Prompt: event.Value(`"to C"`),
			Output: event.Value(`"by C"`), SentToNodeID: "B"},
		{NodeID: "B", AgentID: "a", AgentName: "Writer", Order: 5, Round: 2,
			Input: event.Value(`"by C"`), Prompt: event.Value(`"to B"`),
			Error: new("slow down")},
	}
	got := Fold("r", def, j.events).Trail()
	if diff := cmp.Diff(got, want); diff != "" {
		t.Error(diff)
	}
	wantJSON(t, got[5:], `[{"nodeId":"B","agentId":"a","agentName":"Writer","order":5,"round":2,"input":"by `+
		`C","prompt":"to B","output":null,"error":"slow down"}]`)
	wantJSON(t, Fold("r", def, begun(`1`).events).Trail(), `[]`) // S1-7
}

// TestNodes checks P2: every node of a run that ended is succeeded, failed, cancelled or skipped.
func TestNodes(t *testing.T) {
	t.Parallel()
	def := definition("graph", node("done", workflow.KindAgent), node("bad", workflow.KindAgent),
		node("busy", workflow.KindAgent), approval("ask"), node("join", workflow.KindJoin),
		node("never", workflow.KindAgent), workflow.Node{ID: "glue", Kind: workflow.KindJoin, Hidden: true})
	j := begun(`"x"`).agentStep(1, "done", "a", 0, 0, "", "1").agentStep(2, "done", "a", 0, 0, "", "2").
		step(3, "bad", agentStarted("a", 0, ""), &event.StepFailed{Error: event.Failure{Message: "boom"},
			Port: "error"}).
		step(4, "busy", agentStarted("a", 0, "")).
		step(5, "ask", started(workflow.KindWait, 0), &event.WaitOpened{Wait: "w", Kind: "approval"}).
		step(6, "join", &event.StepSkipped{Reason: "all paths were skipped"})
	got := func(events []event.Event) map[string]string {
		m := map[string]string{}
		for _, n := range Fold("r", def, events).Nodes() {
			m[n.Node] = string(n.Status) + ": " + n.Reason
			if want := map[string]int{"done": 2, "bad": 1, "busy": 1, "ask": 1}[n.Node]; n.Runs != want {
				t.Errorf("%s ran %d times, not %d", n.Node, n.Runs, want)
			}
		}
		return m
	}
	if diff := cmp.Diff(got(j.events), map[string]string{
		"done": "succeeded: ", "bad": "failed: boom", "busy": "running: ", "ask": "waiting: ",
		"join": "skipped: all paths were skipped", "never": "pending: ",
	}); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(got(j.run(&event.RunFailed{}).events), map[string]string{
		"done": "succeeded: ", "bad": "failed: boom", "busy": "cancelled: the run ended",
		"ask": "cancelled: the run ended", "join": "skipped: all paths were skipped",
		"never": "skipped: the run ended before",
	}); diff != "" {
		t.Error(diff)
	}
}

// TestCanvasFields checks S0-37, S0-18 and S0-25: the additional fields of runs of canvas
// documents.
func TestCanvasFields(t *testing.T) {
	t.Parallel()
	def := definition("canvas", node("s", workflow.KindStart), node("if", workflow.KindDecide), approval("n3"),
		node("w", workflow.KindAgent))
	j := begun(`"hi"`).step(1, "s", started(workflow.KindStart, 0), same).step(2, "if", started(workflow.KindDecide, 1),
		same)
	canvas := func(j *journal) Run { return Fold("r", def, j.events).Run() }
	r := canvas(j)
	wantJSON(t, map[string]any{"w": r.WaitingForInput, "c": r.CurrentNodeID, "s": r.State},
		`{"w":false,"c":null,"s":{"s":"hi"}}`)

	j.step(3, "n3", started(workflow.KindWait, 2), &event.WaitOpened{Wait: "w3", Kind: "approval"}).
		step(4, "other", started(workflow.KindWait, 2), &event.WaitOpened{Wait: "w4", Kind: "approval"}).run(
		&event.RunPaused{Wait: "w3"})
	r = canvas(j)
	wantJSON(t, map[string]any{"w": r.WaitingForInput, "c": r.CurrentNodeID, "n": len(r.Waiting)},
		`{"w":true,"c":"n3","n":2}`)

	j.run(&event.RunResumed{Reason: "answer"}).step(3, "n3", &event.WaitAnswered{Wait: "w3", Decision: "reject",
		Note: "too \"long\""}, same).
		step(4, "other", &event.WaitClosed{Wait: "w4", Reason: "ended"}).agentStep(5, "w", "a", 3, 0, "", "text").run(
		&event.RunCompleted{OutputStep: 5})
	r = canvas(j)
	wantJSON(t, map[string]any{"w": r.WaitingForInput, "c": r.CurrentNodeID, "s": r.State},
		`{"w":false,"c":null,"s":{"s":"hi","n3":"hi","n3_approval":{"decision":"reject","note":"too `+
			`\"long\""},"w":"text"}}`)
}

// TestRoundsFields checks S1-28 and S1-24: the additional fields of runs of rounds documents.
func TestRoundsFields(t *testing.T) {
	t.Parallel()
	created := func(meta map[string]string) Run {
		return Fold("r", definition("rounds"), new(journal).run(&event.RunCreated{Workflow: "wf", Meta: meta}).events).
			Run()
	}
	r := created(nil)
	wantJSON(t, r.RoundsFields, `{"targetType":"workflow","targetId":"wf"}`)
	wantJSON(t, r.Workflow, `{"id":"wf","name":null,"format":"rounds","version":null,"branch":null}`)
	r = created(map[string]string{MetaTargetType: "workflow", MetaTargetID: "t", MetaTargetBranchID: "night",
		MetaVersion: "7"})
	wantJSON(t, r.RoundsFields, `{"targetType":"workflow","targetId":"t","targetBranchId":"night"}`)
	wantJSON(t, r.Workflow, `{"id":"wf","name":null,"format":"rounds","version":7,"branch":"night"}`)
}

// TestGraphState checks that runs of Go graphs show their typed state: the initial state and the
// changes made by steps of the run's own scope and by whole blocks.
func TestGraphState(t *testing.T) {
	t.Parallel()
	update := func(field, value string) *event.StepCompleted {
		return &event.StepCompleted{Update: map[string]event.Value{field: event.Value(value)}}
	}
	j := begun(`{"n":0,"kept":true}`).step(1, "f", started(workflow.KindFunc, 0), update("n", "1")).
		step(2, "par", started(workflow.KindFork, 1), branch("b", 1, 1)).step(3, "b",
		inScope(started(workflow.KindFunc, 2), 1), update("n", "5")).
		step(2, "par")
	wantJSON(t, Fold("r", definition("graph", fork("par", "j", "", "b")), j.events).Run().State, `{"n":1,"kept":true}`)
	j.step(2, "par", update("n", "6"))
	// S2-75: what the graph keeps in addition to the user's state is not shown as part of it.
	j.step(4, "loop", started(workflow.KindFunc, 3), update("outputs.loop_start_1_iteration", "2")).step(5, "m",
		started(workflow.KindFunc, 4), update("$usage", `{}`))
	wantJSON(t, Fold("r", definition("graph", fork("par", "j", "", "b")), j.events).Run().State, `{"n":6,"kept":true}`)
	if Fold("r", definition("steps"), j.events).Run().State != nil {
		t.Error("other formats show a state")
	}
}

// TestViews_JournalPrefix checks P36: the view of a prefix does not depend on later events, and
// events that do not fit do no harm.
func TestViews_JournalPrefix(t *testing.T) {
	t.Parallel()
	def := blockDef("")
	j := blockJournal().step(1, "par", &event.StepCompleted{}).run(&event.RunCompleted{OutputStep: 1})
	live := NewLogFolder("r", def)
	for i, e := range j.events {
		live.Add(e)
		if diff := cmp.Diff(live.Run(), Fold("r", def, j.events[:i+1]).Run()); diff != "" {
			t.Fatalf("after %d events: %s", i+1, diff)
		}
	}
	j.step(20, "sub", started(workflow.KindSubflow, 0), &event.EdgeTaken{Edge: -1, To: "w", Token: 9, Scope: 9}).
		agentStep(21, "sub/w", "a", 20, 9, "", "one").
		step(20, "sub", &event.StepCompleted{})
	bare := Fold("r", nil, j.events).Run()
	if string(bare.Outputs["sub"]) != `"one"` || bare.Outputs["par"] != nil || string(bare.Outputs["y"]) != `"Y"` {
		t.Errorf("without definition: %s", bare.Outputs)
	}
	for skip := range j.events {
		l := NewLogFolder("r", nil)
		for i, e := range j.events {
			if i != skip {
				l.Add(e)
			}
			l.Run()
			l.Trail()
			l.Context()
			l.Nodes()
		}
	}
}
