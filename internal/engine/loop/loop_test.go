package loop_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/loop"
	_ "github.com/hocket-run/hocket/internal/randtest"
	"github.com/hocket-run/hocket/internal/text"
	"github.com/hocket-run/hocket/workflow"
)

// world is a run of four steps: two agents, one of which takes part in the conversation of the run,
// a function and a tool.
type world struct {
	steps   [5]loop.Step
	settled []string
}

var (
	nodes = [5]loop.Node{
		{}, {Kind: workflow.KindAgent, Agent: "a"}, {Kind: workflow.KindAgent, Agent: "b", Shared: true},
		{Kind: workflow.KindFunc}, {Kind: workflow.KindTool},
	}
	agents = map[string]*workflow.Agent{
		"a": {ID: "a", Handoffs: []string{"b"}, Subagents: []workflow.Subagent{{Agent: "b", Tool: "ask_b"}},
			Fallbacks: []string{"m2"}}, "b": {ID: "b"},
	}
)

func (w *world) Step(step int) *loop.Step               { return &w.steps[step] }
func (w *world) Node(step int) loop.Node                { return nodes[step] }
func (w *world) Agent(_ int, id string) *workflow.Agent { return agents[id] }
func (w *world) Text(step int) text.Text                { return text.Of(fmt.Sprint("input ", step)) }
func (w *world) Keep(t text.Text) text.Text             { return t }
func (w *world) Flow(int) int                           { return 0 }

func (w *world) Settle(key string, _ *loop.Call, gone bool) {
	w.settled = append(w.settled, fmt.Sprint(key, gone))
}

// run folds events into a loop, as the engine does.
type run struct {
	loop.Loop
	w      world
	seq    uint64
	asleep []int // steps that wait for their retry timer
}

// feed folds an event that its check accepts, and returns why an event is rejected.
func feed[P event.Data](r *run, step int, d P, check func(*loop.Loop, loop.World, *event.Event, P) string,
	apply func(*loop.Loop, loop.World, *event.Event, P)) string {
	ev := &event.Event{Seq: r.seq + 1, At: time.Unix(int64(r.seq), 0), Step: step, Data: d}
	why := check(&r.Loop, &r.w, ev, d)
	if why == "" {
		apply(&r.Loop, &r.w, ev, d)
		r.seq++
	}
	return why
}

func applyFuncCalled(l *loop.Loop, w loop.World, ev *event.Event, d *event.FuncCalled) {
	loop.ApplyFuncCalled(l, w, ev, d, 0, time.Time{})
}

func newRun() *run {
	r := &run{}
	r.Say(loop.Shared, chat.Message{Role: chat.RoleUser, Text: chat.NewText("go")})
	r.Start(&r.w, 1, "")
	r.Start(&r.w, 2, "")
	return r
}

// callOf maps the numbers of the result events that any draws to the kind of call that they end.
var callOf = map[int]loop.Kind{2: loop.Model, 3: loop.Model, 4: loop.Model, 6: loop.Tool, 7: loop.Tool, 9: loop.Func}

// any draws an event with arbitrary content close to what could follow, and folds it if its check
// accepts it.
func (r *run) any(t *rapid.T) {
	num := func(name string, n int) int { return rapid.IntRange(0, n).Draw(t, name) }
	kind := num("type", 13)
	step := num("step", 3) + 1
	if kind < 2 || kind > 9 {
		step = num("agent", 1) + 1
	}
	frame, attempt, late := num("frame", 2), 1, num("late", 9) == 0
	key := fmt.Sprintf("%d.%d.%d", step, frame, r.w.steps[step].Numbered+1)
	if old := r.Keys(func(c *loop.Call) bool { return c.Kind == callOf[kind] }); len(old) > 0 &&
		num("of a call", 9) > 0 {
		key = rapid.SampledFrom(old).Draw(t, "call")
		c := r.Call(key)
		step, frame, attempt, late = c.Step, c.Frame, c.Attempt+num("attempts", 4)/4,
			(c.State == loop.Cancelled) != late
	}
	id := rapid.SampledFrom([]string{"", "1", "2"}).Draw(t, "tool call")
	failure := event.Failure{Code: "c", Message: "boom"}
	switch kind {
	case 0, 1:
		conv, agent := "", "a"
		if a := r.w.steps[step].Agent; a != nil && frame < len(a.Frames) {
			conv, agent = a.Frames[frame].Conv, a.Frames[frame].Agent
		}
		feed(r, step, &event.ModelCalled{Call: key, Attempt: attempt, Frame: frame, Agent: agent, Model: "m2",
			Conversation: conv, Length: len(r.Conv(conv))}, loop.CheckModelCalled, loop.ApplyModelCalled)
	case 2, 3:
		m := chat.Message{Role: chat.RoleAssistant, Text: chat.NewText("said")}
		for i := range num("calls", 2) {
			name := rapid.SampledFrom([]string{"search", "ask_b", workflow.HandoffTool}).Draw(t, "tool")
			m.ToolCalls = append(m.ToolCalls, chat.ToolCall{ID: fmt.Sprint(i + 1), Name: name,
				Arguments: []byte(`{"agent":"b"}`)})
		}
		feed(r, step, &event.ModelReplied{Call: key, Attempt: attempt, Message: m, Late: late}, loop.CheckModelReplied,
			loop.ApplyModelReplied)
	case 4:
		feed(r, step, &event.ModelFailed{Call: key, Attempt: attempt, Error: failure, Late: late},
			loop.CheckModelFailed, loop.ApplyModelFailed)
	case 5:
		feed(r, step, &event.ToolCalled{Call: key, Attempt: attempt, Frame: frame, Tool: "search", ToolCallID: id},
			loop.CheckToolCalled, loop.ApplyToolCalled)
	case 6:
		if num("own", 3) == 0 {
			key = ""
		}
		feed(r, step, &event.ToolReturned{Call: key, Attempt: attempt, Frame: frame, ToolCallID: id, Text: "found",
			Late: late}, loop.CheckToolReturned, loop.ApplyToolReturned)
	case 7:
		feed(r, step, &event.ToolFailed{Call: key, Attempt: attempt, Error: failure, Late: late,
			Unknown: num("unknown", 1) == 0}, loop.CheckToolFailed, loop.ApplyToolFailed)
	case 8:
		feed(r, step, &event.FuncCalled{Call: key, Attempt: attempt}, loop.CheckFuncCalled, applyFuncCalled)
	case 9:
		d := &event.FuncReturned{Call: key, Attempt: attempt, Late: late}
		if num("fails", 1) == 0 {
			d.Error = &failure
		}
		feed(r, step, d, loop.CheckFuncReturned, loop.ApplyFuncReturned)
	case 10:
		if a := r.w.steps[step].Agent; a != nil {
			frame = len(a.Frames)
		}
		feed(r, step, &event.SubagentStarted{Frame: frame, Parent: num("parent", 1), ToolCallID: id, Agent: "b",
			Input: "do"}, loop.CheckSubagentStarted, loop.ApplySubagentStarted)
	case 11:
		feed(r, step, &event.SubagentCompleted{Frame: frame, Reply: true}, loop.CheckSubagentCompleted,
			loop.ApplySubagentCompleted)
	case 12:
		feed(r, step, &event.SubagentFailed{Frame: frame, Error: failure}, loop.CheckSubagentFailed,
			loop.ApplySubagentFailed)
	default:
		feed(r, step, &event.AgentHanded{Frame: frame, ToolCallID: id, From: "a", Agent: "b"}, loop.CheckAgentHanded,
			loop.ApplyAgentHanded)
	}
}

// other draws what follows from events of steps: a retry of a call or a step, its timer, the end of
// a step.
func (r *run) other(t *rapid.T) {
	step := rapid.IntRange(1, 4).Draw(t, "step")
	ev := &event.Event{Seq: r.seq + 1, At: time.Unix(int64(r.seq), 0), Step: step}
	sleeping := r.Keys(func(c *loop.Call) bool { return c.State == loop.Sleeping })
	switch failed := r.Keys(func(c *loop.Call) bool { return c.Step == step && c.State == loop.Failed }); {
	case len(failed) > 0:
		r.Sleep(&r.w, ev, &event.StepRetrying{Call: failed[0], Until: ev.At})
	case len(sleeping) > 0:
		r.Wake(&r.w, sleeping[0])
	case len(r.asleep) > 0:
		r.WakeStep(&r.w, r.asleep[0])
		r.asleep = r.asleep[1:]
	case rapid.IntRange(0, 19).Draw(t, "retries") == 0:
		r.Sleep(&r.w, ev, &event.StepRetrying{Until: ev.At})
		r.asleep = append(r.asleep, step)
	case rapid.IntRange(0, 9).Draw(t, "ends") == 9:
		r.End(&r.w, step, ev.At)
		r.asleep = slices.DeleteFunc(r.asleep, func(s int) bool { return s == step })
	}
}

// check compares the loop's counters with its calls, and checks its turns.
func (r *run) check(t *rapid.T) {
	var out, late, due int
	byStep, outOf := map[int]int32{}, map[int]int32{}
	for _, c := range r.All() {
		byStep[c.Step]++
		switch c.State {
		case loop.Open:
			out++
			outOf[c.Step]++
		case loop.Cancelled:
			late++
		case loop.Due:
			due++
		}
	}
	for step := range r.w.steps {
		st := &r.w.steps[step]
		if st.Due {
			due++
		}
		if st.Calls != byStep[step] || st.Out != outOf[step] {
			t.Fatalf("step %d counts %d calls, %d out; it has %d, %d out", step, st.Calls, st.Out, byStep[step],
				outOf[step])
		}
		if st.Agent == nil {
			continue
		}
		for i, f := range st.Agent.Frames {
			if len(f.Turn) > 0 && !slices.ContainsFunc(f.Turn, func(c loop.TurnCall) bool { return !c.Done }) {
				t.Fatalf("frame %d of step %d has a turn of results alone", i, step)
			}
		}
	}
	if r.Out() != out || r.Late() != late || r.Due() != due || r.Busy() != len(outOf) {
		t.Fatalf("counted out %d, late %d, due %d, busy %d; want %d, %d, %d, %d", r.Out(), r.Late(), r.Due(), r.Busy(),
			out, late, due, len(outOf))
	}
}

// TestCheck_AcceptedEventsApply checks that any event a check accepts can be applied, and that the
// counters always match the calls.
func TestCheck_AcceptedEventsApply(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := newRun()
		for range 120 {
			if rapid.IntRange(0, 9).Draw(t, "other") == 9 {
				r.other(t)
			} else {
				r.any(t)
			}
			r.check(t)
		}
	})
}

// TestTurn_ResultOrder checks that results join the conversation together, in the order in which
// the model requested them (P42).
func TestTurn_ResultOrder(t *testing.T) {
	t.Parallel()
	r := newRun()
	call := func(d *event.ModelCalled) {
		t.Helper()
		if why := feed(r, 1, d, loop.CheckModelCalled, loop.ApplyModelCalled); why != "" {
			t.Fatal(why)
		}
	}
	call(&event.ModelCalled{Call: "1.0.1", Attempt: 1, Agent: "a", Conversation: "1.0", Length: 1})
	m := chat.Message{Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{{ID: "x", Name: "search"},
		{ID: "y", Name: "search"}}}
	if why := feed(r, 1, &event.ModelReplied{Call: "1.0.1", Attempt: 1, Message: m}, loop.CheckModelReplied,
		loop.ApplyModelReplied); why != "" {
		t.Fatal(why)
	}
	for i, id := range []string{"y", "x"} {
		if n := len(r.Conv("1.0")); n != 2 {
			t.Fatalf("%d messages before result %d, want 2", n, i)
		}
		if why := feed(r, 1, &event.ToolReturned{ToolCallID: id, Text: id}, loop.CheckToolReturned,
			loop.ApplyToolReturned); why != "" {
			t.Fatal(why)
		}
	}
	msgs := r.Conv("1.0")
	if len(msgs) != 4 || msgs[2].ToolCallID != "x" || msgs[3].ToolCallID != "y" {
		t.Errorf("got %v", msgs)
	}
	call(&event.ModelCalled{Call: "1.0.2", Attempt: 1, Agent: "a", Conversation: "1.0", Length: 4})
}

// TestEndCancelsCalls checks that a call in flight stays until it settles, and that a call that
// waits for nothing outside is removed with its step.
func TestEndCancelsCalls(t *testing.T) {
	t.Parallel()
	r := newRun()
	for step, d := range map[int]string{3: "3.0.1", 4: "4.0.1"} {
		var why string
		if step == 3 {
			why = feed(r, step, &event.FuncCalled{Call: d, Attempt: 1}, loop.CheckFuncCalled, applyFuncCalled)
		} else {
			why = feed(r, step, &event.ToolCalled{Call: d, Attempt: 1, Tool: "t"}, loop.CheckToolCalled,
				loop.ApplyToolCalled)
		}
		if why != "" {
			t.Fatal(why)
		}
	}
	feed(r, 4, &event.ToolFailed{Call: "4.0.1", Attempt: 1}, loop.CheckToolFailed, loop.ApplyToolFailed)
	r.Sleep(&r.w, &event.Event{Step: 4}, &event.StepRetrying{Call: "4.0.1"})
	at := time.Unix(9, 0)
	r.End(&r.w, 3, at)
	r.End(&r.w, 4, at)
	if r.Late() != 1 || r.Out() != 0 || r.Call("4.0.1") != nil || !r.CancelledAt().Equal(at) {
		t.Errorf("late %d, out %d, cancelled at %v", r.Late(), r.Out(), r.CancelledAt())
	}
	if why := feed(r, 3, &event.FuncReturned{Call: "3.0.1", Attempt: 1}, loop.CheckFuncReturned,
		loop.ApplyFuncReturned); why != "call 3.0.1 is in another state" {
		t.Errorf("a result in time of a cancelled call: %q", why)
	}
	if why := feed(r, 3, &event.FuncReturned{Call: "3.0.1", Attempt: 1, Late: true}, loop.CheckFuncReturned,
		loop.ApplyFuncReturned); why != "" || r.Late() != 0 {
		t.Errorf("a late result: %q", why)
	}
	if want := []string{"4.0.1false", "4.0.1true", "3.0.1true"}; !slices.Equal(r.w.settled, want) {
		t.Errorf("settled %v, want %v", r.w.settled, want)
	}
}
