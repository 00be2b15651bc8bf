package cli

import (
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/workflow"
)

// TestRetrying checks that the wait before the next attempt is shown with its duration, since a
// provider may request an hour.
func TestRetrying(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.Local)
	for name, c := range map[string]struct {
		wait        time.Duration
		line, doing string
	}{
		"at once": {0, "↻ w  attempt 2 follows  slow down (rate_limit)", "retries (attempt 2)"},
		"soon":    {20 * time.Millisecond, "↻ w  attempt 2 follows  slow down (rate_limit)", "retries (attempt 2)"},
		"in seconds": {2 * time.Second, "↻ w  attempt 2 follows in 2.0s  slow down (rate_limit)",
			"retries at 03:04:07 (attempt 2)"},
		"in an hour": {time.Hour, "↻ w  attempt 2 follows in 1h00m  slow down (rate_limit)",
			"retries at 04:04:05 (attempt 2)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := &board{titles: map[string]string{"w": "w"}}
			b.add(event.Event{Node: "w", Step: 1, At: at, Data: &event.StepStarted{Kind: workflow.KindAgent,
				Iteration: 1}})
			l := b.add(event.Event{Node: "w", Step: 1, At: at, Data: &event.StepRetrying{
				Attempt: 2, Until: at.Add(c.wait), Error: event.Failure{Code: "rate_limit", Message: "slow down"},
			}})
			if got := l.mark + " " + l.fit(anyWidth); got != c.line {
				t.Errorf("line %q, want %q", got, c.line)
			}
			if got := b.running[0].doing; got != c.doing {
				t.Errorf("while it waits %q, want %q", got, c.doing)
			}
		})
	}
}

// TestProgress_TruncatedReply checks that a step whose answer was cut off at the token limit is
// shown as completed, with a notice.
func TestProgress_TruncatedReply(t *testing.T) {
	t.Parallel()
	for stop, want := range map[string]string{"stop": "",
		"length": "! w  the model's answer was cut off at its token limit"} {
		t.Run(stop, func(t *testing.T) {
			t.Parallel()
			b := &board{titles: map[string]string{"w": "w"}}
			b.add(event.Event{Node: "w", Step: 1, At: time.Unix(1, 0),
				Data: &event.StepStarted{Kind: workflow.KindAgent, Iteration: 1}})
			got := ""
			if l := b.add(event.Event{Node: "w", Step: 1, Data: &event.ModelReplied{Call: "1.0.1", Stop: stop}}); l !=
				nil {
				got = l.mark + " " + l.fit(anyWidth)
			}
			if got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

// TestProgress_Handoff checks P36: the line of a step that was handed over names the agent that
// answered; a sub-agent that hands over and a step that starts again are attributed to the step's
// own agent.
func TestProgress_Handoff(t *testing.T) {
	t.Parallel()
	handed := func(frame int, to string) event.Data { return &event.AgentHanded{Frame: frame, From: "a", Agent: to} }
	for name, c := range map[string]struct {
		data []event.Data
		line string
	}{
		"missing":        {nil, "✓ w  0ms"},
		"once":           {[]event.Data{handed(0, "b")}, "✓ w  0ms  answered by Back"},
		"to one unknown": {[]event.Data{handed(0, "b"), handed(0, "c")}, "✓ w  0ms  answered by c"},
		"a sub-agent": {[]event.Data{&event.SubagentStarted{Frame: 1, Agent: "k"}, handed(1, "b")},
			"✓ w  0ms"},
		"and begins again": {[]event.Data{handed(0, "b"), &event.StepRetrying{Attempt: 2}}, "✓ w  0ms"},
		"and calls again": {[]event.Data{handed(0, "b"), &event.StepRetrying{Attempt: 2, Call: "1.0.2"}},
			"✓ w  0ms  answered by Back"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := &board{}
			b.name(&workflow.Workflow{Nodes: []workflow.Node{{ID: "w"}},
				Agents: []workflow.Agent{{ID: "a"}, {ID: "b", Name: "Back"}}})
			add := func(data event.Data) *line {
				return b.add(event.Event{Node: "w", Step: 1, At: time.Unix(1, 0), Data: data})
			}
			add(&event.StepStarted{Kind: workflow.KindAgent, Iteration: 1})
			for _, d := range c.data {
				add(d)
			}
			l := add(&event.StepCompleted{Ports: []string{workflow.PortOut}})
			if got := l.mark + " " + l.fit(anyWidth); got != c.line {
				t.Errorf("got %q, want %q", got, c.line)
			}
		})
	}
}

// TestProgress_CallCounts checks that a repeated call counts once, and as failed if its last
// attempt failed.
func TestProgress_CallCounts(t *testing.T) {
	t.Parallel()
	at := time.Unix(1, 0)
	for name, c := range map[string]struct {
		last bool
		want string
	}{"the last attempt too": {true, "0ms  1 tool call, 1 failed"}, "the last one not": {false, "0ms  1 tool call"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := &board{titles: map[string]string{"w": "w"}}
			b.add(event.Event{Node: "w", Step: 1, At: at, Data: &event.StepStarted{Kind: workflow.KindTool,
				Iteration: 1}})
			for attempt := range 3 {
				b.add(event.Event{Node: "w", Step: 1, At: at,
					Data: &event.ToolCalled{Call: "1.0.1", Attempt: attempt + 1, Tool: "act"}})
				b.add(event.Event{Node: "w", Step: 1, At: at,
					Data: &event.ToolReturned{Call: "1.0.1", Attempt: attempt + 1, IsError: c.last || attempt < 2}})
			}
			if got := b.running[0].facts(at); got != c.want {
				t.Errorf("facts %q, want %q", got, c.want)
			}
		})
	}
}

// TestProgress_RefusedCalls checks that a call that failed without having been made, such as one of
// a tool that does not exist, counts as a call: no more calls fail than there are.
func TestProgress_RefusedCalls(t *testing.T) {
	t.Parallel()
	at := time.Unix(1, 0)
	b := &board{titles: map[string]string{"w": "w"}}
	for _, d := range []event.Data{&event.StepStarted{Kind: workflow.KindAgent, Iteration: 1},
		&event.ToolCalled{Call: "1.0.2", Attempt: 1, Tool: "act"}, &event.ToolReturned{Call: "1.0.2", IsError: true},
		&event.ToolReturned{Call: "1.0.3", IsError: true}, &event.ToolFailed{Call: "1.0.4"}} {
		b.add(event.Event{Node: "w", Step: 1, At: at, Data: d})
	}
	if got, want := b.running[0].facts(at), "0ms  3 tool calls, 3 failed"; got != want {
		t.Errorf("facts %q, want %q", got, want)
	}
}

// TestProgress_MapItems checks that a map shows how many of its items have ended.
func TestProgress_MapItems(t *testing.T) {
	t.Parallel()
	for input, want := range map[string]string{`[1,2,3]`: "done 2/3", "": "done 2"} {
		b := &board{titles: map[string]string{"m": "m"}}
		b.add(event.Event{Node: "m", Step: 1, Data: &event.StepStarted{Kind: workflow.KindMap, Iteration: 1,
			Input: event.Value(input)}})
		for item := range 3 {
			b.add(event.Event{Node: "m", Step: 1, Data: &event.EdgeTaken{Edge: -1, To: "t", Token: item + 2,
				Scope: item + 1, Branch: item + 1}})
		}
		for item := range 2 {
			b.add(event.Event{Node: "m", Step: 1, Data: &event.EdgeTaken{Edge: -1, To: "m", Scope: item + 1,
				Branch: item + 1}})
		}
		if got := b.running[0].doing; got != want {
			t.Errorf("of the list %s: %q, want %q", input, got, want)
		}
	}
}
