package telemetry_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/engine/enginetest"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/telemetry"
	"github.com/hocket-run/hocket/workflow"
)

// attempts returns the events of a run whose agent calls a model that fails twice, the first time
// with usage, is then retried, and replies; if fallback is set, that fallback takes over in
// between.
func attempts(fallback string) []event.Event {
	at := enginetest.Epoch
	made := func(d event.Data) event.Event {
		at = at.Add(time.Second)
		return event.Event{At: at, Node: "a", Step: 1, Data: d}
	}
	used := func(n int64) *chat.Usage {
		return &chat.Usage{InputTokens: n, OutputTokens: 1, CachedTokens: 2, CacheWriteTokens: 3, ReasoningTokens: 1}
	}
	second := "openai/m"
	if fallback != "" {
		second = fallback
	}
	details := &chat.CallDetails{ID: "resp-1", Model: "m-2026", Server: "api.example.com", Port: 443, FirstChunk: 0.5,
		Stream: true, Temperature: new(0.25), Stop: []string{"end"}}
	events := []event.Event{
		made(&event.RunCreated{Name: "flow"}),
		made(&event.StepStarted{Kind: workflow.KindAgent, Agent: "writer", Iteration: 1}),
		made(&event.ModelCalled{Call: "1.0.1", Attempt: 1, Agent: "writer", Model: "openai/m"}),
		made(&event.ModelFailed{Call: "1.0.1", Attempt: 1, Model: "openai/m",
			Error: event.Failure{Code: "rate_limit"}, Usage: used(10), CostUSD: new(0.5)}),
	}
	if fallback == "" {
		events = append(events,
			made(&event.StepRetrying{Attempt: 2, Call: "1.0.1", Error: event.Failure{Code: "rate_limit"}}))
	}
	events = append(events,
		made(&event.ModelCalled{Call: "1.0.1", Attempt: 2, Agent: "writer", Model: second}),
		made(&event.ModelReplied{Call: "1.0.1", Attempt: 2, Model: second, Stop: "stop", Usage: used(5),
			CostUSD: new(0.25), Details: details}),
		made(&event.StepCompleted{Reply: true}),
		made(&event.RunCompleted{OutputStep: 1}),
	)
	for i := range events {
		events[i].Seq = uint64(i) + 1
		if i == 0 || i == len(events)-1 {
			events[i].Node, events[i].Step = "", 0
		}
	}
	return events
}

// TestSpans_CallAttempts checks that a call is one span over its attempts, with their total usage,
// that a fallback is a separate call, and that failed attempts are events.
func TestSpans_CallAttempts(t *testing.T) {
	t.Parallel()
	chats := func(events []event.Event) (out []telemetry.Span) {
		for _, s := range spansOf(events) {
			if s.What == telemetry.WhatModel {
				out = append(out, s)
			}
		}
		return out
	}
	one := chats(attempts(""))
	if len(one) != 1 || one[0].Failed || len(one[0].Events) != 1 || one[0].Events[0].Name != "attempt failed" ||
		one[0].End.Sub(one[0].Start) != 4*time.Second {
		t.Fatalf("the spans are %+v", one)
	}
	want := map[string]any{
		telemetry.Attempt: int64(2), telemetry.InputTokens: int64(15), telemetry.OutputTokens: int64(2),
		telemetry.CachedTokens: int64(4), telemetry.CacheWriteTokens: int64(6),
		telemetry.ReasoningTokens: int64(2), telemetry.CostUSD: 0.75, telemetry.RequestModel: "m",
		telemetry.ResponseModel: "m-2026", telemetry.ResponseID: "resp-1",
		telemetry.Temperature: 0.25, telemetry.StopSequences: []string{"end"}, telemetry.Stream: true,
		telemetry.FirstChunk:    0.5,
		telemetry.ServerAddress: "api.example.com", telemetry.ServerPort: int64(443),
		telemetry.FinishReasons: []string{"stop"},
	}
	for key, value := range want {
		if diff := cmp.Diff(value, one[0].Attr(key)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", key, diff)
		}
	}
	two := chats(attempts("anthropic/n"))
	if len(two) != 2 || !two[0].Failed || two[1].Failed || two[0].Name != "chat m" || two[1].Name != "chat n" ||
		two[0].ID == two[1].ID {
		t.Errorf("with a fallback the spans are %+v", two)
	}
}

// TestMetricNames checks durations of workflows, agents and tools, and model calls under the
// conventions' names; the latest names replace the earlier ones if they are requested.
func TestMetricNames(t *testing.T) {
	t.Parallel()
	common := []string{
		telemetry.MetricWorkflow, telemetry.MetricAgent, telemetry.MetricCost, telemetry.MetricStep,
		telemetry.MetricStarted, telemetry.MetricRuns, telemetry.MetricActive,
		telemetry.MetricWaiting,
	}
	for name, test := range map[string]struct {
		latest bool
		want   []string
	}{
		"as ever": {false, []string{telemetry.MetricModel, telemetry.MetricFirst, telemetry.MetricTokens}},
		"latest": {true, []string{
			telemetry.LatestModel, telemetry.LatestFirst, telemetry.LatestInput, telemetry.LatestOutput,
			telemetry.LatestUsedInput, telemetry.LatestUsedOutput,
			telemetry.LatestCacheRead, telemetry.LatestCacheWrite, telemetry.LatestReasoning,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := &memory{}
			o := telemetry.New(telemetry.Config{Exporter: m, Interval: -1, Latest: test.latest}, m)
			o.Saw("run1", attempts(""))
			o.Close()
			if diff := cmp.Diff(slices.Sorted(slices.Values(slices.Concat(common, test.want))),
				slices.Sorted(maps.Keys(m.metrics))); diff != "" {
				t.Errorf("metrics (-want +got):\n%s", diff)
			}
			if test.latest {
				if p := m.metrics[telemetry.LatestCacheRead].Points; len(p) != 1 || p[0].Value != 4 {
					t.Errorf("tokens from the cache are %+v", p)
				}
				if p := m.metrics[telemetry.LatestInput].Points; len(p) != 1 || p[0].Sum != 15 {
					t.Errorf("tokens are %+v", p)
				}
			}
			if p := m.metrics[telemetry.MetricWorkflow].Points; len(p) != 1 ||
				p[0].Attrs[0] != (telemetry.Attr{Key: telemetry.WorkflowLabel, Value: "flow"}) || p[0].Sum != 8 {
				t.Errorf("workflows are %+v", p)
			}
			if p := m.metrics[telemetry.MetricAgent].Points; len(p) != 1 ||
				p[0].Attrs[0] != (telemetry.Attr{Key: telemetry.AgentName, Value: "writer"}) {
				t.Errorf("agents are %+v", p)
			}
		})
	}
}
