package conformance_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hocket-run/hocket"
	"github.com/hocket-run/hocket/graph"
	"github.com/hocket-run/hocket/graph/compat"
	"github.com/hocket-run/hocket/internal/engine"
)

// drains are runs whose losers ignore their contexts: the run ends without them, and the engine's
// Close waits for them (D10).
var drains = []rule{
	{name: "S2-51 a run ends when the winner has, and its losers drain behind it", test: func(t *testing.T) {
		for _, strategy := range []graph.Strategy{graph.StrategyRace, graph.StrategyAny, graph.StrategyQuorum} {
			release := make(chan struct{})
			var began, returned atomic.Bool
			slow := does("slow", func(context.Context, *gContext) (gResult, error) {
				began.Store(true)
				<-release
				returned.Store(true)
				return gResult{Output: "late"}, nil
			})
			p := gParallel{ID: "p", Branches: []string{"slow", "fast"}, Strategy: strategy}
			if strategy == graph.StrategyQuorum {
				p.Quorum = 1
			}
			e := opened(t, hocket.Config{})
			start := time.Now()
			r := playOn(t, e,
				compiled(t, newGraph().Parallel(p).Node(slow).Node(
					does("fast", func(context.Context, *gContext) (gResult, error) {
						time.Sleep(time.Millisecond) // the loser is running
						return gResult{Output: "won"}, nil
					})).Then(idle("z"))), sheet{}, gRun{})
			same(t, "end", r.end(), "completed")
			same(t, "the loser is at work", []bool{began.Load(), returned.Load()}, []bool{true, false})
			if d := time.Since(start); d > time.Millisecond+engine.DrainTime {
				t.Errorf("%s: the run took %s", strategy, d)
			}
			same(t, "output", string(r.Outputs["fast"]), `"won"`)
			if _, there := r.Outputs["slow"]; there {
				t.Error("the loser has an output")
			}
			close(release)
			if err := e.Close(); err != nil {
				t.Error(err)
			}
			same(t, "Close waits for the loser", returned.Load(), true)
		}
	}},
	{name: "S2-51 a block that fails does not wait for the branches that it cancels", test: func(t *testing.T) {
		release := make(chan struct{})
		start := time.Now()
		b := newGraph().Parallel(gParallel{ID: "p", Branches: []string{"slow", "bad"}}).
			Node(does("slow", func(context.Context, *gContext) (gResult, error) { <-release; return gResult{}, nil })).
			Node(does("bad", func(context.Context, *gContext) (gResult, error) {
				time.Sleep(time.Millisecond)
				return gResult{}, errBroken
			}, gOptions{Retry: graph.Retry{MaxAttempts: 1}}))
		e := opened(t, hocket.Config{})
		r := playOn(t, e, compiled(t, b), sheet{}, gRun{})
		same(t, "status", r.Status, hocket.StatusFailed)
		if d := time.Since(start); d > time.Millisecond+engine.DrainTime {
			t.Errorf("the run took %s", d)
		}
		close(release)
	}},
	{name: "D10 a loser that heeds its context has returned before the run ends", test: func(t *testing.T) {
		var returned atomic.Bool
		b := newGraph().Parallel(gParallel{ID: "p", Branches: []string{"slow", "fast"}, Strategy: graph.StrategyRace}).
			Node(does("slow", func(ctx context.Context, _ *gContext) (gResult, error) {
				<-ctx.Done()
				time.Sleep(time.Millisecond) // cleans up
				returned.Store(true)
				return gResult{}, ctx.Err()
			})).
			Node(does("fast", func(context.Context, *gContext) (gResult, error) {
				time.Sleep(time.Millisecond)
				return gResult{}, nil
			}))
		same(t, "end", playOn(t, opened(t, hocket.Config{}), compiled(t, b), sheet{}, gRun{}).end(), "completed")
		same(t, "it has returned", returned.Load(), true)
	}},
	{name: "S2-42 OnError and RetryOn get the error that the function returned", test: func(t *testing.T) {
		var inRetry, inOnError bool
		p := play(t, newGraph().Start(does("a", func(context.Context, *gContext) (gResult, error) {
			return gResult{}, fmt.Errorf("around: %w", errBroken)
		}, gOptions{
			Retry: graph.Retry{MaxAttempts: 2, RetryOn: func(err error) bool {
				inRetry = errors.Is(err, errBroken)
				return false
			}},
			OnError: graph.OnError(func(err error, _ *gContext) gAction {
				inOnError = errors.Is(err, errBroken)
				return gAction{}
			}),
		})), sheet{})
		same(t, "status", p.Status, hocket.StatusFailed)
		same(t, "OnError, RetryOn", []bool{inOnError, inRetry}, []bool{true, true})
	}},
	{name: "S2-38 StreamModes show the output of a node that has no mapper", test: func(t *testing.T) {
		g := compiled(t, newGraph().Start(outputs("plain", map[string]int{"n": 7})).Then(counts("changes")).Then(
			idle("quiet")))
		var got []string
		for ev, err := range compat.StreamModes(t.Context(), opened(t, hocket.Config{}), g, sheet{},
			[]compat.Mode{compat.ModeValues, compat.ModeUpdates, compat.ModeDebug}) {
			if err != nil {
				t.Fatal(err)
			}
			if ev.Trace != nil {
				ev.Trace.ExecutionTime = 0
			}
			got = append(got, asJSON(ev))
		}
		same(t, "events", got, []string{
			`{"mode":"values","nodeId":"plain","state":{"n":0},"output":{"n":7}}`,
			`{"mode":"updates","nodeId":"plain","update":{"outputs":{"plain":{"n":7}}}}`,
			`{"mode":"debug","nodeId":"plain","trace":{"nodeId":"plain","executionTime":0,"retryCount":0,` +
				`"modelUsed":"unknown","stateSnapshot":{"n":0}},"output":{"n":7}}`,
			`{"mode":"values","nodeId":"changes","state":{"n":1}}`,
			`{"mode":"updates","nodeId":"changes","update":{"n":1}}`,
			`{"mode":"debug","nodeId":"changes","trace":{"nodeId":"changes","executionTime":0,"retryCount":0,` +
				`"modelUsed":"unknown","stateSnapshot":{"n":1}}}`,
			`{"mode":"values","nodeId":"quiet","state":{"n":1}}`,
			`{"mode":"debug","nodeId":"quiet","trace":{"nodeId":"quiet","executionTime":0,"retryCount":0,` +
				`"modelUsed":"unknown","stateSnapshot":{"n":1}}}`,
		})
	}},
}

func TestGraphDrains(t *testing.T) { check(t, drains) }
