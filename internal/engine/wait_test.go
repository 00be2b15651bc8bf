package engine_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/enginetest"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/waits"
	"github.com/hocket-run/hocket/workflow"
)

func nodes(list ...any) (out []workflow.Node) {
	for _, x := range list {
		switch x := x.(type) {
		case workflow.Node:
			out = append(out, x)
		case []workflow.Node:
			out = append(out, x...)
		case string:
			out = append(out, enginetest.Agent(x))
		}
	}
	return out
}

func wantTrace(t *testing.T, w *enginetest.World, after int, want string) {
	t.Helper()
	if got := w.Trace(after); got != want {
		t.Errorf("trace\ngot  %s\nwant %s\n%s", got, want, w.Log())
	}
}

func wantStatus(t *testing.T, w *enginetest.World, want event.Status) {
	t.Helper()
	if got := w.Run.Status(); got != want {
		t.Fatalf("status %s, want %s\n%s", got, want, w.Log())
	}
}

// TestWaits_AnswerOrder checks that when three branches wait for a person, for every order of the
// answers each branch gets its own answer exactly once, and the run is paused until the last (P1).
func TestWaits_AnswerOrder(t *testing.T) {
	t.Parallel()
	for _, order := range [][]string{{"a", "b", "c"}, {"a", "c", "b"}, {"b", "a", "c"}, {"b", "c", "a"},
		{"c", "a", "b"}, {"c", "b", "a"}} {
		g := enginetest.Graph(nodes(
			enginetest.Fork("f", workflow.Fork{}, "a", "b", "c"),
			enginetest.In("f", enginetest.Question("a")), enginetest.In("f", enginetest.Question("b")),
			enginetest.In("f", enginetest.Question("c")),
			"z"), `f:a -> a; f:b -> b; f:c -> c; a -> f/join; b -> f/join; c -> f/join; f/join -> z`)
		w := enginetest.New(t, g, nil)
		w.Model = answer
		w.Start("go")
		wantStatus(t, w, event.StatusPaused)
		seq := w.Run.Seq()
		if err := w.Try(engine.Answer{Value: enginetest.Text("x")}); !errors.Is(err, waits.ErrAmbiguous) ||
			w.Run.Seq() != seq {
			t.Errorf("answer without id: %v, want ErrWaitAmbiguous and nothing changed (P1)", err)
		}
		for i, node := range order {
			id := w.Run.Waits()[slices.IndexFunc(w.Run.Waits(), func(x engine.WaitInfo) bool {
				return x.Node == node
			})].ID
			w.Feed(engine.Answer{Wait: id, Value: enginetest.Text("for " + node)})
			if i < 2 {
				wantStatus(t, w, event.StatusPaused)
			}
			seq := w.Run.Seq()
			if err := w.Try(engine.Answer{Wait: id, Value: enginetest.Text("for " + node)}); err != nil ||
				w.Run.Seq() != seq {
				t.Errorf("same answer again: %v, want no effect (P24)", err)
			}
			if err := w.Try(engine.Answer{Wait: id, Value: enginetest.Text("other")}); !errors.Is(err,
				waits.ErrAnswered) {
				t.Errorf("other answer: %v, want ErrWaitAnswered (P24)", err)
			}
		}
		want := `{"a":"for a","b":"for b","c":"for c"}`
		if got := w.Pending[0].(*engine.CallModel).Messages[0].Text.String(); got != want {
			t.Errorf("join got %s", got)
		}
		w.Go(nil)
		wantStatus(t, w, event.StatusCompleted)
	}
}

// TestAnswerKeys checks that an answer with the key of an accepted one is treated as that answer
// again, whatever is waiting now; the key is part of the state, so this holds after a fold (P24).
func TestAnswerKeys(t *testing.T) {
	t.Parallel()
	w := enginetest.New(t, enginetest.Graph(nodes(enginetest.Question("ask"), "a"), `ask => a; a => ask`), nil)
	w.Model = answer
	w.Start("go")
	w.Feed(engine.Answer{Value: enginetest.Text("one"), Key: "k1"})
	w.Go(nil)
	wantStatus(t, w, event.StatusPaused)
	w.Crash()
	seq := w.Run.Seq()
	for _, wait := range []string{"", "w1"} {
		if err := w.Try(engine.Answer{Wait: wait, Value: enginetest.Text("one"), Key: "k1"}); err != nil ||
			w.Run.Seq() != seq {
			t.Errorf("the same request again: %v, want no effect", err)
		}
	}
	open := w.Run.Waits()[0].ID
	for name, a := range map[string]engine.Answer{
		"another answer": {Value: enginetest.Text("two"), Key: "k1"},
		"another wait":   {Wait: open, Value: enginetest.Text("one"), Key: "k1"},
	} {
		if err := w.Try(a); !errors.Is(err, waits.ErrAnswer) || w.Run.Seq() != seq {
			t.Errorf("%s with a key that was used: %v, want ErrAnswer", name, err)
		}
	}
	w.Feed(engine.Answer{Value: enginetest.Text("two"), Key: "k2"})
	if w.Run.Seq() == seq {
		t.Error("an answer with a new key was not taken")
	}
}

// TestWait_OtherBranchContinues checks that while one branch waits for a person, the other
// continues to the join (P32).
func TestWait_OtherBranchContinues(t *testing.T) {
	t.Parallel()
	g := enginetest.Graph(nodes(enginetest.Fork("f", workflow.Fork{}, "q", "a"),
		enginetest.In("f", enginetest.Question("q")),
		enginetest.In("f", enginetest.Agent("a")), enginetest.In("f", enginetest.Agent("b"))),
		`f:q -> q; f:a -> a; a -> b; q -> f/join; b -> f/join`)
	w := enginetest.New(t, g, nil)
	w.Model = answer
	w.Start("go")
	wantStatus(t, w, event.StatusRunning)
	w.Go(nil)
	wantStatus(t, w, event.StatusPaused)
	wantTrace(t, w, 0, "+f, +q, ?q, +a, .a, +b, .b, paused q")
}

func hold(g *workflow.Workflow) *workflow.Workflow {
	g.Rules.HoldWhilePaused = true
	g.Rules.OnFailure = workflow.FailDrain
	return g
}

// TestHoldSiblings checks that the order of connections does not matter: siblings of an approval
// start with it, exactly once (S0-42).
func TestHoldSiblings(t *testing.T) {
	t.Parallel()
	for _, edges := range []string{"s -> ok; s -> a; ok:approve -> b", "s -> a; s -> ok; ok:approve -> b"} {
		w := enginetest.New(t, hold(enginetest.Graph(nodes("s", enginetest.Approval("ok"), "a", "b"), edges)), nil)
		w.Start("go")
		w.Finish("s", enginetest.Say("draft"))
		if got := w.PendingNodes(); got != "a" {
			t.Errorf("pending %q, want a", got)
		}
		wantStatus(t, w, event.StatusRunning)
		w.Finish("a", enginetest.Say("done"))
		wantStatus(t, w, event.StatusPaused)
		w.Approve("ok")
		w.Finish("b", enginetest.Say("end"))
		wantStatus(t, w, event.StatusCompleted)
	}
}

// TestHoldQueue checks that what becomes ready while the run waits is queued; after the answer its
// branch runs to its end, then the queue in order, each entry to its end before the next (S0-41,
// S0-43, D18).
func TestHoldQueue(t *testing.T) {
	t.Parallel()
	g := hold(enginetest.Graph(nodes("s", enginetest.Approval("ok"), "a", "a2", "b", "b2", "b3", "y", "y2"),
		"s -> ok; s -> a; s -> b; a -> a2; b -> b2; b2 -> b3; ok:approve -> y; y -> y2"))
	w := enginetest.New(t, g, nil)
	w.Start("go")
	w.Finish("s", enginetest.Say("draft"))
	w.Finish("b", enginetest.Say("b"))
	w.Finish("a", enginetest.Say("a"))
	if got := w.PendingNodes(); got != "" {
		t.Errorf("pending %q, want nothing: the run waits", got)
	}
	wantStatus(t, w, event.StatusPaused)
	after := len(w.Events)
	w.Approve("ok")
	for _, n := range []string{"y", "y2", "b2", "b3", "a2"} {
		if got := w.PendingNodes(); got != n {
			t.Fatalf("pending %q, want %s\n%s", got, n, w.Log())
		}
		w.Finish(n, enginetest.Say("done"))
	}
	wantTrace(t, w, after, "resumed, .ok, +y, .y, +y2, .y2, +b2, .b2, +b3, .b3, +a2, .a2, completed")
}

// TestHoldTwoApprovals checks that two approvals are answered one after another: the run pauses
// again at the second once the branch and the queue are done, and an answer without an id is for
// the oldest (S0-44, D17, D18).
func TestHoldTwoApprovals(t *testing.T) {
	t.Parallel()
	g := hold(enginetest.Graph(nodes("s", enginetest.Approval("p"), enginetest.Approval("q"), "a", "a2", "b", "c"),
		"s -> p; s -> q; s -> a; a -> a2; p:approve -> b; q:reject -> c"))
	w := enginetest.New(t, g, nil)
	w.Start("go")
	w.Finish("s", enginetest.Say("draft"))
	w.Finish("a", enginetest.Say("a"))
	wantTrace(t, w, 0, "+s, .s, +p, ?p, +q, ?q, +a, .a, paused p")
	after := len(w.Events)
	w.Feed(engine.Answer{Value: enginetest.Text("yes")})
	w.Finish("b", enginetest.Say("b"))
	w.Finish("a2", enginetest.Say("a2"))
	wantTrace(t, w, after, "resumed, .p, +b, .b, +a2, .a2, paused q")
	w.Feed(engine.Answer{Value: enginetest.Text("no")})
	w.Finish("c", enginetest.Say("c"))
	wantStatus(t, w, event.StatusCompleted)
}

// TestHold_ApprovalDuringDrain checks that an approval reached while the queue drains opens and
// holds the rest again, and that an answer during the drain appends its branch (D18).
func TestHold_ApprovalDuringDrain(t *testing.T) {
	t.Parallel()
	g := hold(enginetest.Graph(nodes("s", enginetest.Approval("p"), "a", "a2", enginetest.Approval("q"), "b", "c"),
		"s -> p; s -> a; a -> a2; p:approve -> q; q:approve -> b; b -> c"))
	w := enginetest.New(t, g, nil)
	w.Start("go")
	w.Finish("s", enginetest.Say("draft"))
	w.Finish("a", enginetest.Say("a"))
	after := len(w.Events)
	w.Approve("p")
	wantTrace(t, w, after, "resumed, .p, +q, ?q, paused q")
	after = len(w.Events)
	w.Approve("q")
	w.Finish("b", enginetest.Say("b"))
	w.Finish("c", enginetest.Say("c"))
	w.Finish("a2", enginetest.Say("a2"))
	wantTrace(t, w, after, "resumed, .q, +b, .b, +c, .c, +a2, .a2, completed")
}

// TestRejectCycle checks that a rejection leads back to the writer, and that the same approval
// waits again, each time with the new output (S0-35).
func TestRejectCycle(t *testing.T) {
	t.Parallel()
	w := enginetest.New(t, hold(enginetest.Graph(nodes("a", enginetest.Approval("ok"), "z"),
		"a -> ok; ok:reject -> a; ok:approve -> z")), nil)
	w.Start("go")
	for _, text := range []string{"one", "two", "three"} {
		w.Finish("a", enginetest.Say("%s", text))
		wantStatus(t, w, event.StatusPaused)
		if text != "three" {
			w.Reject("ok")
		}
	}
	w.Approve("ok")
	if got := w.Pending[0].(*engine.CallModel).Messages[0].Text.String(); got != "three" {
		t.Errorf("after the approval the prompt is %q, want the output before it (S0-33)", got)
	}
}

// TestHoldFailure checks that a branch that fails while the run waits fails the run; the sibling's
// started call finishes, and nothing starts after it (S0-45, S0-46).
func TestHoldFailure(t *testing.T) {
	t.Parallel()
	g := hold(enginetest.Graph(nodes("s", enginetest.Approval("ok"), "a", "b", "b2"),
		"s -> ok; s -> a; s -> b; b -> b2"))
	w := enginetest.New(t, g, nil)
	w.Start("go")
	w.Finish("s", enginetest.Say("draft"))
	w.Finish("a", enginetest.Fails("server", "boom"))
	wantStatus(t, w, event.StatusRunning)
	if len(w.Cancelled) > 0 {
		t.Error("the started call of b was cancelled (S0-46)")
	}
	w.Finish("b", enginetest.Say("b"))
	wantStatus(t, w, event.StatusFailed)
	wantTrace(t, w, 0, "+s, .s, +ok, ?ok, +a, +b, !a server, .b, xok, failed server")
	if err := w.Try(engine.Answer{Value: enginetest.Text("yes")}); !errors.Is(err, waits.ErrNotFound) &&
		!errors.Is(err, waits.ErrClosed) {
		t.Errorf("answer after the end: %v", err)
	}
}

// TestDeadline checks that a deadline takes the timeout edge, that without one the step fails, and
// that the deadline survives a crash (P33).
func TestDeadline(t *testing.T) {
	t.Parallel()
	q := enginetest.Question("q")
	q.Wait.Deadline = workflow.Duration(1e9)
	w := enginetest.New(t, enginetest.Graph(nodes(q, "late"), "q:timeout -> late"), nil)
	w.Start("go")
	w.Crash()
	wantStatus(t, w, event.StatusPaused)
	w.Fire(w.Timers[0].ID)
	wantTrace(t, w, 0, "+q, ?q, paused q, resumed, .q, +late")
	if err := w.Try(engine.Answer{Wait: "w1", Value: enginetest.Text("x")}); !errors.Is(err, waits.ErrClosed) {
		t.Errorf("late answer: %v, want ErrWaitClosed (P24)", err)
	}
	w = enginetest.New(t, enginetest.Graph(nodes(q), ""), nil)
	w.Start("go")
	w.Fire(w.Timers[0].ID)
	wantTrace(t, w, 0, "+q, ?q, paused q, resumed, !q deadline, failed deadline")
}

// TestReminder checks that a reminder comes once, before the deadline or not at all, survives a
// crash, and leaves the wait open and the run paused; an answered wait has none (P33).
func TestReminder(t *testing.T) {
	t.Parallel()
	second := workflow.Duration(time.Second)
	tests := []struct {
		name             string
		deadline, remind workflow.Duration // the node's
		run              workflow.Duration // the run's
		timers           string
	}{
		{"of the node", 0, second, 0, "remind:w1"},
		{"of the run", 0, 0, second, "remind:w1"},
		{"the node's own wins", 0, second, 5 * second, "remind:w1"},
		{"with a deadline", 3 * second, second, 0, "deadline:w1 remind:w1"},
		{"too late for the deadline", second, second, 0, "deadline:w1"},
		{"none", 0, 0, 0, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			q := enginetest.Approval("q")
			q.Wait.Deadline, q.Wait.Remind = tt.deadline, tt.remind
			w := enginetest.New(t, enginetest.Graph(nodes(q, "yes", "late"), "q:approve -> yes; q:timeout -> late"),
				nil)
			w.StartWith(event.RunCreated{Input: enginetest.Text("go"), Remind: tt.run})
			var timers []string
			for _, timer := range w.Timers {
				timers = append(timers, timer.ID)
			}
			slices.Sort(timers)
			if got := strings.Join(timers, " "); got != tt.timers {
				t.Fatalf("timers %q, want %q", got, tt.timers)
			}
			w.Crash()
			wantStatus(t, w, event.StatusPaused)
			if strings.Contains(tt.timers, "remind") {
				began := w.Now
				w.Fire("remind:w1")
				if late := w.Now.Sub(began); late >= 2*time.Second {
					t.Errorf("the reminder came after %s", late)
				}
				last := w.Events[len(w.Events)-1].Data
				if d, ok := last.(*event.WaitReminded); !ok || d.Wait != "w1" {
					t.Errorf("the last event is %s, want wait.reminded", last.Type())
				}
				wantStatus(t, w, event.StatusPaused)
				seq := w.Run.Seq()
				if err := w.Try(engine.TimerDue{ID: "remind:w1"}); err != nil || w.Run.Seq() != seq {
					t.Errorf("reminded again: %v", err)
				}
			}
			w.Crash()
			if tt.deadline > 0 {
				w.Fire("deadline:w1")
				w.Finish("late", enginetest.Say("late"))
			} else {
				w.Feed(engine.Answer{Value: enginetest.Text("approve")})
				w.Finish("yes", enginetest.Say("yes"))
			}
			wantStatus(t, w, event.StatusCompleted)
		})
	}
	q := enginetest.Question("q")
	q.Wait.Remind = second
	w := enginetest.New(t, enginetest.Graph(nodes(q, enginetest.Question("r")), "q -> r"), nil)
	w.Start("go")
	w.Feed(engine.Answer{Value: enginetest.Text("yes")})
	seq := w.Run.Seq()
	if err := w.Try(engine.TimerDue{ID: "remind:w1"}); err != nil || w.Run.Seq() != seq {
		t.Errorf("a reminder of what was answered: %v", err)
	}
}
