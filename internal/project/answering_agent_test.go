package project

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/workflow"
)

// TestTrail_AnsweringAgent checks P36, S1-25 and S4-34: trail, step context and log name the agent
// that answered: the agent that last took over the conversation of the step, not one that took over
// a sub-agent's conversation, and the step's own agent if the step started over.
func TestTrail_AnsweringAgent(t *testing.T) {
	t.Parallel()
	def := definition("rounds", workflow.Node{ID: "A", Kind: workflow.KindAgent,
		Agent: &workflow.AgentNode{Agent: "a"}})
	handed := func(frame int, from, to string) *event.AgentHanded {
		return &event.AgentHanded{Frame: frame, ToolCallID: "t", From: from, Agent: to}
	}
	begin := func() *journal { return begun(`"x"`).step(1, "A", agentStarted("a", 0, "")) }
	sub := &event.SubagentStarted{Frame: 1, Call: "1.1", Agent: "sub", Depth: 1, Input: "i"}
	failed := event.Failure{Code: "invalid_output", Message: "no JSON"}
	for name, c := range map[string]struct {
		journal  *journal
		id, name string
		logged   []string // of hand-offs
	}{
		"no hand-off": {begin().step(1, "A", called("c"), replied("c", "yes"), reply), "a", "Writer", nil},
		"once": {begin().step(1, "A", called("c"), replied("c", ""), handed(0, "a", "b"), called("d"),
			replied("d", "yes"), reply), "b", "Critic", []string{"Writer hands over to Critic"}},
		"to and fro": {begin().step(1, "A", called("c"), replied("c", ""), handed(0, "a", "b"), called("d"),
			replied("d", ""), handed(0, "b", "a"), called("e"), replied("e", "yes"), reply),
			"a", "Writer", []string{"Writer hands over to Critic", "Critic hands over to Writer"}},
		"a sub-agent hands over": {begin().step(1, "A", called("c"), replied("c", ""), sub, handed(1, "sub", "sub2"),
			&event.SubagentCompleted{Frame: 1, Call: "1.1"}, called("d"), replied("d", "yes"), reply),
			"a", "Writer", []string{"Helper hands over to Deeper"}},
		"and begins again": {begin().step(1, "A", called("c"), replied("c", ""), handed(0, "a", "b"), called("d"),
			replied("d", "odd"),
			&event.StepRetrying{Attempt: 2, Error: failed}, called("e"), replied("e", "yes"), reply), "a", "Writer",
			[]string{"Writer hands over to Critic"}},
		"a call is made again": {begin().step(1, "A", called("c"), replied("c", ""), handed(0, "a", "b"), called("d"),
			&event.ModelFailed{Call: "d", Error: failed},
			&event.StepRetrying{Attempt: 2, Call: "d", Error: failed}, called("d"), replied("d", "yes"), reply), "b",
			"Critic", []string{"Writer hands over to Critic"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := Fold("r", def, c.journal.events)
			trail := f.Trail()
			if len(trail) != 1 || trail[0].AgentID != c.id || trail[0].AgentName != c.name {
				t.Errorf("trail %+v, want %s, %s", trail, c.id, c.name)
			}
			if got, want := string(f.Context()), `{"A":{"output":"yes","agent":"`+c.name+`"}}`; got != want {
				t.Errorf("context %s, want %s", got, want)
			}
			var logged []string
			for _, l := range Logs(def, c.journal.events) {
				if l.Type == LogHandOff {
					logged = append(logged, l.Content)
				}
			}
			if diff := cmp.Diff(c.logged, logged); diff != "" {
				t.Errorf("log (-want +got):\n%s", diff)
			}
		})
	}
	// A step that failed after a hand-off belongs to the agent that had it.
	j := begin().step(1, "A", called("c"), replied("c", ""), handed(0, "a", "b"), called("d"),
		&event.ModelFailed{Call: "d", Error: failed}, &event.StepFailed{Error: failed})
	wantJSON(t, Fold("r", def, j.run(&event.RunFailed{Error: failed}).events).Trail(),
		`[{"nodeId":"A","agentId":"b","agentName":"Critic","order":0,"round":0,"input":"x","output":null,`+
			`"error":"no JSON"}]`)
}
