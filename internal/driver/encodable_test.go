package driver_test

import (
	"context"
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/expr/celexpr"
	"github.com/hocket-run/hocket/internal/journal"
	_ "github.com/hocket-run/hocket/internal/randtest"
	"github.com/hocket-run/hocket/workflow"
)

// hostile is a program that returns arbitrary results.
type hostile struct {
	engine.Host
	rt *rapid.T
}

func (h hostile) value() event.Value {
	return rapid.SampledFrom([]event.Value{nil, event.Value(`1`), event.Value(`2`), event.Value(`""`),
		event.Value(`[]`), event.Value(`{"b":[]}`), event.Value("\"\xff\""), event.Value(`{`),
		event.Value(`{"a":1}`), {}}).Draw(h.rt, "value")
}

func (h hostile) name() string {
	return rapid.SampledFrom([]string{"a", "", "$usage", "b", "c", "\xff"}).Draw(h.rt, "name")
}

func (h hostile) fields() map[string]event.Value {
	out := map[string]event.Value{}
	for range rapid.IntRange(0, 2).Draw(h.rt, "fields") {
		out[h.name()] = h.value()
	}
	return out
}

func (h hostile) Merge(string, map[string]event.Value, engine.View) (map[string]event.Value, error) {
	return h.fields(), nil
}

func (h hostile) OnError(string, event.Failure, error, engine.View) (engine.ErrorAction, error) {
	return engine.ErrorAction{Kind: "skip", Update: h.fields()}, nil
}

func (h hostile) Call(context.Context, string, *engine.CallFunc, driver.Caller) engine.FuncResult {
	if rapid.IntRange(0, 4).Draw(h.rt, "fails") == 0 {
		return engine.FuncResult{Failure: &event.Failure{Code: h.name(), Message: h.name(), Stack: h.name()},
			Output: h.value()}
	}
	return engine.FuncResult{
		Update: h.fields(), Output: h.value(), Goto: rapid.SampledFrom([][]string{nil, nil, nil, nil, {"\xff"}}).Draw(
			h.rt, "goto"),
		Signals: rapid.SampledFrom([][]event.SignalRaised{nil, {{Signal: h.name(), Data: h.fields(), Event: true}}}).
			Draw(h.rt, "signals"),
	}
}

// TestEvents_Encodable checks that events that a store may keep as values can be encoded
// later, whatever a program returns and however a run is started.
func TestEvents_Encodable(t *testing.T) {
	t.Parallel()
	fork := workflow.Node{ID: "f", Kind: workflow.KindFork, Fork: &workflow.Fork{Join: "j", Shape: workflow.ShapeMap,
		Merge: "merge", Branches: []workflow.Branch{{ID: "a"}, {ID: "b"}}}}
	w := &workflow.Workflow{
		Entry: "f", Rules: workflow.TypedRules(),
		Nodes: []workflow.Node{
			fork, {ID: "j", Kind: workflow.KindJoin, Hidden: true, Join: &workflow.Join{Fork: "f"}},
			{ID: "a", Parent: "f", Kind: workflow.KindFunc, Func: &workflow.FuncNode{Func: "x"}, OnError: "handler"},
			{ID: "b", Parent: "f", Kind: workflow.KindFunc, Func: &workflow.FuncNode{Func: "x"}},
			{ID: "c", Kind: workflow.KindFunc, Func: &workflow.FuncNode{Func: "x"}, OnError: "handler"},
		},
		Edges: []workflow.Edge{
			{From: "f", Port: "a", To: "a"}, {From: "f", Port: "b", To: "b"}, {From: "a", To: "j"},
			{From: "b", To: "j"}, {From: "f", To: "c"},
		},
	}
	kept := 0
	rapid.Check(t, func(rt *rapid.T) {
		h := hostile{rt: rt}
		plan, err := engine.Compile(w, h, celexpr.Compiler{})
		if err != nil {
			rt.Fatal(err)
		}
		run, kit, info := engine.New(plan, "r"), &driver.RunResources{Program: h}, &driver.Info{Run: "r"}
		created := event.RunCreated{Input: event.Value(`{"a":1}`)}
		if rapid.IntRange(0, 4).Draw(rt, "odd start") == 0 {
			cost := rapid.SampledFrom([]float64{0, 1, math.NaN(), math.Inf(1)}).Draw(rt, "cost")
			created = event.RunCreated{Input: h.value(), Meta: map[string]string{h.name(): "\xff"},
				Facts: map[string]string{h.name(): ""}, Limits: workflow.Limits{MaxCostUSD: cost}}
		}
		in := []engine.Input{{At: time.Unix(1, 0), Data: engine.Start{Created: created}}}
		var queue []engine.Command
		for {
			dec, err := run.Activate(in)
			if err != nil {
				return // it was rejected on entry
			}
			if len(dec.Events) > 0 && journal.IsEncodable(dec.Events) {
				kept++
				if _, _, err := journal.Encode(dec.Events); err != nil {
					rt.Fatal(err)
				}
			}
			queue = append(queue, dec.Commands...)
			for len(queue) > 0 {
				if _, ok := queue[0].(*engine.CallFunc); ok {
					break
				}
				queue = queue[1:]
			}
			if len(queue) == 0 {
				return
			}
			c := queue[0].(*engine.CallFunc)
			queue = queue[1:]
			in = []engine.Input{{At: time.Unix(2, 0), Data: kit.CallFunc(t.Context(), info, c, nil)}}
		}
	})
	if kept == 0 {
		t.Error("no events were kept as values")
	}
}
