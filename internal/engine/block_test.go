package engine_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/enginetest"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/waits"
	"github.com/hocket-run/hocket/workflow"
)

// block is a fork of a, b and c, followed by z.
func block(t *testing.T, f workflow.Fork, retry *workflow.Retry) *enginetest.World {
	t.Helper()
	fork := enginetest.Fork("f", f, "a", "b", "c")
	fork[0].Retry = retry
	w := enginetest.New(t, enginetest.Graph(nodes(fork, enginetest.In("f", enginetest.Agent("a")),
		enginetest.In("f", enginetest.Agent("b")),
		enginetest.In("f", enginetest.Agent("c")), "z"),
		`f:a -> a; f:b -> b; f:c -> c; a -> f/join; b -> f/join; c -> f/join; f/join -> z`), nil)
	w.Start("go")
	return w
}

// TestBlocks checks what settles a block, and what happens to the remaining branches (D10, D12,
// S2-51, S4-12, P13).
func TestBlocks(t *testing.T) {
	t.Parallel()
	say, fail := enginetest.Say("x"), enginetest.Fails("server", "boom")
	type event struct {
		node   string
		result *engine.ModelResult
	}
	for name, tc := range map[string]struct {
		fork   workflow.Fork
		events []event
		want   string
		input  string // input of z
	}{
		"all": {workflow.Fork{}, []event{{"c", say}, {"a", say}, {"b", say}},
			"+f, +a, +b, +c, .c, .a, .b, .f, +z", `{"a":"x","b":"x","c":"x"}`},
		"fail fast cancels": {workflow.Fork{}, []event{{"a", say}, {"b", fail}},
			"+f, +a, +b, +c, .a, !b server, xc, !f server", ""},
		"collect waits, then fail": {workflow.Fork{OnFailure: workflow.FailCollect}, []event{{"b", fail}, {"a", say},
			{"c", fail}}, "+f, +a, +b, +c, !b server, .a, !c server, !f server, failed server", ""},
		"continue goes on": {workflow.Fork{OnFailure: workflow.FailContinue}, []event{{"b", fail}, {"a", say},
			{"c", say}}, "+f, +a, +b, +c, !b server, .a, .c, .f, +z", `{"a":"x","c":"x"}`},
		"continue, all fail": {workflow.Fork{OnFailure: workflow.FailContinue}, []event{{"b", fail}, {"a", fail},
			{"c", fail}}, "+f, +a, +b, +c, !b server, !a server, !c server, !f server, failed server", ""},
		"any takes first success": {workflow.Fork{Until: workflow.UntilAny}, []event{{"a", fail}, {"c", say}},
			"+f, +a, +b, +c, !a server, .c, xb, .f, +z", `{"c":"x"}`},
		"any fails if all fail": {workflow.Fork{Until: workflow.UntilAny}, []event{{"a", fail}, {"c", fail},
			{"b", fail}}, "+f, +a, +b, +c, !a server, !c server, !b server, !f server, failed server", ""},
		"race takes first settled": {workflow.Fork{Until: workflow.UntilRace}, []event{{"b", say}},
			"+f, +a, +b, +c, .b, xa, xc, .f, +z", `{"b":"x"}`},
		"race: a failure wins too": {workflow.Fork{Until: workflow.UntilRace}, []event{{"b", fail}},
			"+f, +a, +b, +c, !b server, xa, xc, !f server", ""},
		"quorum of two": {workflow.Fork{Until: workflow.UntilQuorum, Quorum: 2},
			[]event{{"c", say}, {"a", say}}, "+f, +a, +b, +c, .c, .a, xb, .f, +z", `{"a":"x","c":"x"}`},
		"quorum out of reach": {workflow.Fork{Until: workflow.UntilQuorum, Quorum: 2},
			[]event{{"c", fail}, {"a", fail}}, "+f, +a, +b, +c, !c server, !a server, xb, !f server", ""},
		"one at a time (P31)": {workflow.Fork{MaxConcurrency: 1}, []event{{"a", say}, {"b", say}, {"c", say}},
			"+f, +a, .a, +b, .b, +c, .c, .f, +z", `{"a":"x","b":"x","c":"x"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := block(t, tc.fork, nil)
			for _, e := range tc.events {
				r := *e.result
				w.Finish(e.node, &r)
			}
			wantTrace(t, w, 0, tc.want)
			if tc.input != "" {
				last := w.Pending[len(w.Pending)-1].(*engine.CallModel)
				if got := last.Messages[0].Text.String(); got != tc.input {
					t.Errorf("z got %s, want %s", got, tc.input)
				}
			}
			w.Model = func(*engine.CallModel) *engine.ModelResult { return enginetest.Reply("end") }
			w.Go(nil)
			if !w.Run.Status().Ended() {
				t.Errorf("the run does not end\n%s", w.Log())
			}
		})
	}
}

// TestBlock_CancelledCallsSettle checks that the run waits for cancelled calls, at most five
// seconds; their usage still counts, but their answers change nothing (D10).
func TestBlock_CancelledCallsSettle(t *testing.T) {
	t.Parallel()
	w := block(t, workflow.Fork{Until: workflow.UntilRace}, nil)
	w.Finish("b", enginetest.Say("won"))
	w.Finish("z", enginetest.Say("end"))
	wantStatus(t, w, event.StatusRunning)
	w.Finish("a", enginetest.Say("late"))
	wantStatus(t, w, event.StatusRunning)
	if at := w.Timers[0].At.Sub(w.Now); at <= 0 || at > 5*time.Second {
		t.Errorf("settle timer in %s, want within 5 s", at)
	}
	w.Fire("settle")
	wantStatus(t, w, event.StatusCompleted)
	if got := string(w.Run.Output()); got != `"end"` {
		t.Errorf("output %s", got)
	}
}

// TestRetry checks that retries are timers, that attempts are counted, and that a block is retried
// as a whole (S4-20 to S4-23, P14).
func TestRetry(t *testing.T) {
	t.Parallel()
	n := enginetest.Agent("a")
	n.Retry = &workflow.Retry{MaxRetries: 2, Delay: workflow.Duration(time.Second), Multiplier: 2,
		On: []string{"rate limit", "TIMEOUT"}}
	w := enginetest.New(t, enginetest.Graph(nodes(n), ""), nil)
	w.Start("go")
	for i, delay := range []time.Duration{time.Second, 2 * time.Second} {
		at := w.Now
		w.Finish("a", enginetest.Fails("rate_limit", "slow down"))
		if got := w.Timers[0].At.Sub(at); got != delay+time.Millisecond {
			t.Errorf("delay %d is %s, want %s", i+1, got, delay)
		}
		if i == 0 {
			w.Crash()
		}
		w.Fire(w.Timers[0].ID)
		if got := w.Pending[0].(*engine.CallModel); got.Attempt != i+2 || got.Key != "run1/1.0.1" {
			t.Errorf("attempt %d with key %s", got.Attempt, got.Key)
		}
	}
	w.Finish("a", enginetest.Fails("timeout", "late"))
	wantTrace(t, w, 0, "+a, ra, resumed, ra, !a timeout, failed timeout")

	w = enginetest.New(t, enginetest.Graph(nodes(n), ""), nil)
	w.Start("go")
	w.Finish("a", enginetest.Fails("auth", "bad key"))
	wantTrace(t, w, 0, "+a, !a auth, failed auth")

	w = block(t, workflow.Fork{}, &workflow.Retry{MaxRetries: 1})
	w.Finish("a", enginetest.Say("one"))
	w.Finish("b", enginetest.Fails("server", "boom"))
	w.Pending = w.Pending[:0] // c was cancelled: it answers late or never
	w.Fire("retry:1")
	w.Finish("a", enginetest.Say("two"))
	w.Finish("b", enginetest.Say("two"))
	w.Finish("c", enginetest.Say("two"))
	if got := w.Pending[0].(*engine.CallModel).Messages[0].Text.String(); got != `{"a":"two","b":"two","c":"two"}` {
		t.Errorf("z got %s: all children run again (S4-23, D31)", got)
	}
}

// TestSkippedBranches checks that a branch that ends before the join does not block it; if none
// arrives, the block is skipped and says why (P2).
func TestSkippedBranches(t *testing.T) {
	t.Parallel()
	decide := workflow.Node{ID: "d", Kind: workflow.KindDecide, Decide: &workflow.Decide{
		Cases: []workflow.Case{{Port: "yes", When: workflow.Condition{Language: workflow.LangMatch, Op: "contains",
			Text: "yes"}}}, Else: "no"}}
	g := enginetest.Graph(nodes(enginetest.Fork("f", workflow.Fork{}, "d", "a"), enginetest.In("f", decide),
		enginetest.In("f", enginetest.Agent("a")), "z"),
		`f:d -> d; f:a -> a; d:yes -> f/join; a -> f/join; f/join -> z`)
	w := enginetest.New(t, g, nil)
	w.Model = answer
	w.Start("no")
	w.Go(nil)
	wantTrace(t, w, 0, "+f, +d, .d, +a, .a, .f, +z, .z, completed")
	g = enginetest.Graph(nodes(enginetest.Fork("f", workflow.Fork{}, "d"), enginetest.In("f", decide), "z"),
		`f:d -> d; d:yes -> f/join; f/join -> z`)
	w = enginetest.New(t, g, nil)
	w.Start("no")
	wantTrace(t, w, 0, "+f, +d, .d, ~f, completed")
}

// TestJoinLengths checks that a free join runs once with all inputs, whatever the lengths of the
// branches (P5).
func TestJoinLengths(t *testing.T) {
	t.Parallel()
	for la := 1; la <= 4; la++ {
		for lb := 1; lb <= 4; lb++ {
			list := nodes("s")
			edges := ""
			for _, b := range []struct {
				name string
				n    int
			}{{"a", la}, {"b", lb}} {
				prev := "s"
				for i := range b.n {
					id := fmt.Sprintf("%s%d", b.name, i)
					list = append(list, enginetest.Agent(id))
					edges += prev + "->" + id + ";"
					prev = id
				}
				edges += prev + "->j;"
			}
			list = append(list, workflow.Node{ID: "j", Kind: workflow.KindJoin, Join: &workflow.Join{}},
				enginetest.Agent("z"))
			w := enginetest.New(t, enginetest.Graph(list, edges+"j->z"), nil)
			w.Model = func(c *engine.CallModel) *engine.ModelResult { return enginetest.Reply("from " + c.Node) }
			w.Start("go")
			w.Go(nil)
			var got string
			for _, e := range w.Events {
				if d, ok := e.Data.(*event.StepStarted); ok && e.Node == "z" {
					got += fmt.Sprint(d.Iteration)
				}
				if d, ok := e.Data.(*event.StepCompleted); ok && e.Node == "j" {
					got += string(d.Output)
				}
			}
			if want := fmt.Sprintf(`{"a%d":"from a%d","b%d":"from b%d"}1`, la-1, la-1, lb-1, lb-1); got != want {
				t.Errorf("%d/%d: %s, want %s", la, lb, got, want)
			}
		}
	}
}

// TestLoopWithForkAndApproval runs three rounds of a loop body with a fan-out, a join and an
// approval: identity is (node, iteration), and no answer is used twice (P15).
func TestLoopWithForkAndApproval(t *testing.T) {
	t.Parallel()
	g := enginetest.Graph(nodes("h", enginetest.Fork("f", workflow.Fork{}, "a", "b"),
		enginetest.In("f", enginetest.Agent("a")), enginetest.In("f", enginetest.Agent("b")),
		enginetest.Approval("ok"), "z"),
		`h -> f; f:a -> a; f:b -> b; a -> f/join; b -> f/join; f/join -> ok; ok:reject => h; ok:approve -> z`)
	w := enginetest.New(t, g, nil)
	w.Model = answer
	w.Start("go")
	for round := 1; round <= 3; round++ {
		w.Go(nil)
		wantStatus(t, w, event.StatusPaused)
		w.Crash()
		if round < 3 {
			w.Reject("ok")
		}
	}
	w.Approve("ok")
	w.Go(nil)
	wantStatus(t, w, event.StatusCompleted)
	iterations := map[string]string{}
	for _, e := range w.Events {
		if d, ok := e.Data.(*event.StepStarted); ok {
			iterations[e.Node] += fmt.Sprint(d.Iteration)
		}
	}
	for _, n := range []string{"h", "f", "a", "b", "ok"} {
		if iterations[n] != "123" {
			t.Errorf("%s ran as %s, want 123", n, iterations[n])
		}
	}
}

// TestLoopLimit checks that as many executions of the header as the limit says are allowed, and
// that the next one fails and names the step (S4-9, S4-35, D31). An inner loop starts again in each
// outer pass.
func TestLoopLimit(t *testing.T) {
	t.Parallel()
	again := func(id, port string) workflow.Node {
		return workflow.Node{ID: id, Kind: workflow.KindDecide, Decide: &workflow.Decide{
			Cases: []workflow.Case{{Port: port, When: workflow.Condition{Language: workflow.LangMatch, Op: "contains",
				Text: port}}}, Else: "done"}}
	}
	g := enginetest.Graph(nodes("trans", again("d", "again")), "trans -> d; d:again => trans")
	g.Limits.MaxLoopIterations = 3
	w := enginetest.New(t, g, nil)
	w.Model = func(*engine.CallModel) *engine.ModelResult { return enginetest.Reply("again") }
	w.Start("go")
	w.Go(nil)
	wantStatus(t, w, event.StatusFailed)
	if got := len(w.Calls); got != 3 {
		t.Errorf("%d calls, want 3", got)
	}
	failed := w.Events[len(w.Events)-1].Data.(*event.RunFailed)
	if want := "workflow: max loop iterations exceeded (step: trans, limit: 3)"; failed.Error.Message != want {
		t.Errorf("got  %s\nwant %s", failed.Error.Message, want)
	}
	g = enginetest.Graph(nodes("o", "i", again("di", "inner"), again("do", "outer")),
		"o -> i; i -> di; di:inner => i; di:done -> do; do:outer => o")
	g.Limits.MaxLoopIterations = 3
	w = enginetest.New(t, g, nil)
	replies := strings.Fields("x inner inner outer x inner inner outer x inner inner end")
	w.Model = func(*engine.CallModel) *engine.ModelResult {
		r := replies[0]
		replies = replies[1:]
		return enginetest.Reply(r)
	}
	w.Start("go")
	w.Go(nil)
	wantStatus(t, w, event.StatusCompleted)
	if len(replies) != 0 {
		t.Errorf("replies left: %v", replies)
	}
}

// TestMaxSteps checks that maxSteps ends the run with a named error, keeps the completed work, and
// can be raised (S0-47, S2-32, P21, D20).
func TestMaxSteps(t *testing.T) {
	t.Parallel()
	five := 5
	g := enginetest.Graph(nodes("a"), "a -> a")
	g.Limits.MaxSteps = &five
	w := enginetest.New(t, g, nil)
	w.Model = answer
	w.Start("go")
	w.Go(nil)
	if got := w.Events[len(w.Events)-1].Data.(*event.RunFailed).Error; got.Code != "max_steps" ||
		got.Message != "Exceeded maximum steps (5)" {
		t.Errorf("got %+v", got)
	}
	if err := w.Try(engine.Cancel{}); !errors.Is(err, engine.ErrEnded) {
		t.Errorf("cancel after the end: %v", err)
	}
	seven := 7
	w.Feed(engine.Reopen{Limits: workflow.Limits{MaxSteps: &seven}})
	w.Go(nil)
	wantStatus(t, w, event.StatusFailed)
	if got := len(w.Calls); got != 7 {
		t.Errorf("%d calls, want 7", got)
	}
	one := 1
	g = enginetest.Graph(nodes("a"), "")
	g.Limits.MaxSteps = &one
	w = enginetest.New(t, g, nil)
	w.Model = answer
	w.Start("go")
	w.Go(nil)
	wantStatus(t, w, event.StatusCompleted) // S2-32: ending on the last allowed step counts as completed
}

// TestTimeout checks that a run that timed out keeps its calls, which are issued again when it is
// reopened, and that pauses do not count (D20, D21).
func TestTimeout(t *testing.T) {
	t.Parallel()
	g := enginetest.Graph(nodes(enginetest.Question("q"), "a"), "q -> a")
	g.Limits.Timeout = workflow.Duration(time.Minute)
	w := enginetest.New(t, g, nil)
	w.Start("go")
	w.Now = w.Now.Add(time.Hour)
	w.Feed(engine.Answer{Value: enginetest.Text("x")})
	wantStatus(t, w, event.StatusRunning)
	w.Fire("timeout")
	wantTrace(t, w, 0, "+q, ?q, paused q, resumed, .q, +a, failed timeout")
	if !w.Cancelled["2.0.1#1"] {
		t.Error("the call in flight was not cancelled")
	}
	w.Pending, w.Cancelled = nil, map[string]bool{}
	w.Feed(engine.Reopen{Limits: workflow.Limits{Timeout: workflow.Duration(time.Hour)}})
	w.Finish("a", enginetest.Say("end"))
	wantStatus(t, w, event.StatusCompleted)
}

// TestCancel checks that cancelling closes waits, cancels calls, and ends the run once they have
// settled (P11).
func TestCancel(t *testing.T) {
	t.Parallel()
	w := block(t, workflow.Fork{}, nil)
	w.Feed(engine.Cancel{Reason: "enough"})
	wantStatus(t, w, event.StatusRunning)
	w.Go(nil)
	wantStatus(t, w, event.StatusCancelled)
	wantTrace(t, w, 0, "+f, +a, +b, +c, xa, xb, xc, xf, cancelled")
	w = enginetest.New(t, enginetest.Graph(nodes(enginetest.Approval("ok")), ""), nil)
	w.Start("go")
	w.Feed(engine.Cancel{})
	wantStatus(t, w, event.StatusCancelled)
	if err := w.Try(engine.Answer{Wait: "w1", Value: enginetest.Text("yes")}); !errors.Is(err, waits.ErrClosed) {
		t.Errorf("answer after cancel: %v, want ErrWaitClosed (P24)", err)
	}
	w.Feed(engine.Cancel{}) // repeated: no effect
}

// TestErrorEdge checks that an error edge carries the failure as data, and that the failed node has
// no output of its own (P30, P21).
func TestErrorEdge(t *testing.T) {
	t.Parallel()
	w := enginetest.New(t, enginetest.Graph(nodes("a", "z"), "a:error -> z"), nil)
	w.Start("go")
	w.Finish("a", enginetest.Fails("server", "boom"))
	want := `{"error":{"code":"server","message":"boom","node":"a"}}`
	if got := w.Pending[0].(*engine.CallModel).Messages[0].Text.String(); got != want {
		t.Errorf("z got %s", got)
	}
	w.Finish("z", enginetest.Say("mended"))
	wantStatus(t, w, event.StatusCompleted)
}

// TestMaxConcurrency checks that no more than MaxConcurrency steps are in flight, and that a
// sleeping retry holds no slot (P31, P14).
func TestMaxConcurrency(t *testing.T) {
	t.Parallel()
	a := enginetest.Agent("a")
	a.Retry = &workflow.Retry{MaxRetries: 1, Delay: workflow.Duration(time.Hour)}
	g := enginetest.Graph(nodes(workflow.Node{ID: "s", Kind: workflow.KindStart}, a, "b", "c"),
		"s -> a; s -> b; s -> c")
	g.Limits.MaxConcurrency = 1
	w := enginetest.New(t, g, nil)
	w.Start("go")
	if got := w.PendingNodes(); got != "a" {
		t.Fatalf("pending %q, want a", got)
	}
	w.Finish("a", enginetest.Fails("server", "boom"))
	if got := w.PendingNodes(); got != "b" {
		t.Errorf("pending %q, want b: the sleeping retry holds no slot", got)
	}
}
