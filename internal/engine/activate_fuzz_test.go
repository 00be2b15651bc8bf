package engine_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/enginetest"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/loop"
	"github.com/hocket-run/hocket/internal/engine/waits"
	"github.com/hocket-run/hocket/workflow"
)

// FuzzActivate checks that a run accepts an input or stays unchanged and returns an error that says
// why, whatever the input (P24). Nothing panics.
func FuzzActivate(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		rapid.MakeFuzz(func(rt *rapid.T) { activateOdd(t, rt) })(t, data)
	})
}

// TestActivate_FuzzSeeds is FuzzActivate with generated cases.
func TestActivate_FuzzSeeds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) { activateOdd(t, rt) })
}

// refusals lists the only errors that Activate may return: a *DivergenceError would be a bug.
var refusals = []error{
	engine.ErrUnknownCommand, engine.ErrEnded, engine.ErrNotStarted, engine.ErrStarted, engine.ErrNotReopenable,
	waits.ErrNotFound, waits.ErrAmbiguous,
	waits.ErrAnswered, waits.ErrClosed, engine.ErrInput, waits.ErrAnswer, loop.ErrNote,
	engine.ErrNoteLate, waits.ErrSignalWait, waits.ErrSignalName, waits.ErrSignal, waits.ErrSignalsFull,
}

func activateOdd(t *testing.T, rt *rapid.T) {
	t.Helper()
	w := randomRun(t, rt)
	o := inputGen{w, rt}
	for range rapid.IntRange(1, 8).Draw(rt, "inputs") {
		list := []engine.InputData{o.input()}
		if rapid.IntRange(0, 5).Draw(rt, "several") == 0 {
			list = append(list, o.input())
		}
		before := enginetest.State(w.Run)
		err := w.Try(list...)
		if err == nil {
			before = enginetest.State(w.Fold(len(w.Events)))
		}
		if after := enginetest.State(w.Run); string(after) != string(before) {
			w.T.Fatalf("%T %+v (error %v) left\n%s\nwant\n%s\n%s", list[0], list, err, after, before, w.Log())
		}
		known := err == nil || len(list) > 1 && strings.Contains(err.Error(), "only input")
		for _, want := range refusals {
			known = known || errors.Is(err, want)
		}
		if !known {
			w.T.Fatalf("%T %+v: %v\n%s", list[0], list, err, w.Log())
		}
	}
}

// inputGen generates inputs that a run may or may not expect.
type inputGen struct {
	w  *enginetest.World
	rt *rapid.T
}

func (o inputGen) int(name string, n int) int { return rapid.IntRange(0, max(0, n-1)).Draw(o.rt, name) }

// value returns unusual JSON, or no JSON at all.
func (o inputGen) value() event.Value {
	return event.Value(rapid.SampledFrom([]string{
		``, `null`, `{}`, `[]`, `""`, `"yes"`, `"reject this"`, `"retry"`, `{"decision":"approve","note":7}`,
		`{"decision":42}`, `1e999`, `-0`, `"\ud800"`, `{"a":{"a":1,"a":2}}`, `{"no`, `tru`,
		`"` + strings.Repeat("x", 300) + `"`, strings.Repeat("[", 50) + strings.Repeat("]", 50),
	}).Draw(o.rt, "value"))
}

// id returns the id of an issued command, or one close to it.
func (o inputGen) id() string {
	var ids []string
	for id := range o.w.Calls {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	ids = append(ids, "", "#", "x#1", "1.0.1#1", "1.0.1#0", "1.0.1#99", "-1.0.1#1", "1.0.1#-1", "999.0.1#1", "1.0.1",
		"1.0#1", "1.0.1#1#1", "9223372036854775808.0.1#1")
	id := ids[o.int("id", len(ids))]
	switch call, _, _ := strings.Cut(id, "#"); o.int("attempt", 8) {
	case 0:
		return call + "#2"
	case 1:
		return call + "#0"
	}
	return id
}

func (o inputGen) failure() *event.Failure {
	if o.int("failure", 3) > 0 {
		return nil
	}
	return &event.Failure{Code: rapid.SampledFrom([]string{"", "rate_limit", "max_steps", "cancelled", "\xff"}).Draw(
		o.rt, "code"), Message: "\xff", RetryAfterMS: int64(o.int("after", 3)-1) * (1 << 61)}
}

func (o inputGen) input() engine.InputData {
	switch o.int("input", 14) {
	case 0:
		return engine.Start{Created: event.RunCreated{Input: o.value()}, Queued: o.int("queued", 2) == 0}
	case 13:
		return engine.Admitted{}
	case 1, 2:
		m := chat.Message{Role: "odd", Text: chat.NewText("\xff"), Extra: o.value()}
		for range o.int("calls", 3) {
			m.ToolCalls = append(m.ToolCalls, chat.ToolCall{ID: rapid.SampledFrom([]string{"", "1", "\xff"}).Draw(o.rt,
				"call"), Name: "search", Arguments: o.value()})
		}
		return engine.ModelResult{ID: o.id(), Message: m, Usage: &chat.Usage{InputTokens: 5}, Failure: o.failure(),
			Concurrent: rapid.SliceOfN(rapid.IntRange(-1, 3), 0, 3).Draw(o.rt, "concurrent"),
			Asks:       rapid.SliceOfN(rapid.IntRange(-1, 3), 0, 3).Draw(o.rt, "asks")}
	case 3:
		return engine.ToolResult{ID: o.id(), Text: "\xff", Structured: o.value(), IsError: o.int("error", 2) == 0,
			Failure: o.failure(), Permitted: o.int("permitted", 4) == 0}
	case 4:
		r := engine.FuncResult{ID: o.id(), Output: o.value(), Failure: o.failure()}
		if !json.Valid(r.Output) {
			r.Output = nil // the driver's kit rejects those
		}
		if o.int("goto", 3) == 0 {
			r.Goto = []string{rapid.SampledFrom([]string{"", "n1", "n2", "n3", "nowhere"}).Draw(o.rt, "to")}
		}
		return r
	case 5:
		ids := []string{"", "timeout", "settle", "retry:1", "retry:", "deadline:w1", "retry:1.0.1"}
		for _, t := range o.w.Timers {
			ids = append(ids, t.ID)
		}
		if o.int("later", 2) == 0 {
			o.w.Now = o.w.Now.Add(time.Hour)
		}
		return engine.TimerDue{ID: ids[o.int("timer", len(ids))]}
	case 6:
		ids := []string{"", "w", "w1", "w2", "w-1"}
		for _, x := range o.w.Run.Waits() {
			ids = append(ids, x.ID)
		}
		return engine.Answer{Wait: ids[o.int("wait", len(ids))], Value: o.value(), Note: "\xff"}
	case 7:
		return engine.Cancel{Reason: "\xff"}
	case 8:
		var lost []engine.Lost
		for range o.int("lost", 4) {
			lost = append(lost, engine.Lost{ID: o.id(),
				Policy: rapid.SampledFrom([]string{"", "retry", "ask", "skip", "fail", "odd"}).Draw(o.rt, "policy")})
		}
		return engine.Recovered{Lost: lost}
	case 9:
		return engine.FuncNote{ID: o.id(),
			Key:   rapid.SampledFrom([]string{"", "k", "l", "\xff", strings.Repeat("k", 999)}).Draw(o.rt, "key"),
			Value: o.value()}
	case 11:
		return engine.Answer{
			Signal: rapid.SampledFrom([]string{"", "s0", "s1", "s2", "\xff"}).Draw(o.rt, "signal"), Value: o.value(),
			Key: rapid.SampledFrom([]string{"", "k", "\xff"}).Draw(o.rt, "key"), Note: "\xff",
		}
	case 10:
		return engine.Reopen{Limits: workflow.Limits{MaxSteps: new(o.int("steps", 40) - 2),
			MaxTokens: int64(o.int("tokens", 9)), Timeout: workflow.Duration(o.int("timeout", 3)) *
				workflow.Duration(time.Hour)}}
	}
	return nil
}
