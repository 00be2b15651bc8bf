package conformance_test

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/hocket-run/hocket"
	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/graph"
	"github.com/hocket-run/hocket/graph/compat"
	"github.com/hocket-run/hocket/internal/graphtest"
	"github.com/hocket-run/hocket/oteltrack"
)

// tracked records the calls of telemetry.
type tracked struct {
	mu    sync.Mutex
	lines []string
}

func (k *tracked) add(words ...string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.lines = append(k.lines, strings.Join(words, " "))
}

func (k *tracked) WorkflowStart(_ context.Context, s hocket.TrackedStart) {
	k.add("start", s.WorkflowName, asJSON(s.MaxSteps), asJSON(s.Resuming))
}
func (k *tracked) NodeEnter(_ context.Context, n hocket.TrackedNode) {
	k.add("enter", n.NodeID, string(n.Type))
}
func (k *tracked) NodeExit(_ context.Context, n hocket.TrackedExit) {
	k.add("exit", n.NodeID, string(n.Type), n.Duration.String())
}
func (k *tracked) Error(_ context.Context, e hocket.TrackedError) {
	k.add("error", e.NodeID, e.Err.Error())
}
func (k *tracked) WorkflowComplete(_ context.Context, e hocket.TrackedEnd) {
	k.add("complete", e.WorkflowName, string(e.Status))
}

// fullDisk is a Checkpointer whose Save fails.
type fullDisk struct{ hocket.Checkpointer }

func (fullDisk) Save(context.Context, string, json.RawMessage, string) error {
	return errors.New("disk is full")
}

// carried returns the snapshot as another process receives it.
func (p *played) carried() *hocket.Snapshot[sheet] {
	p.t.Helper()
	raw, err := json.Marshal(p.Snapshot)
	if err != nil {
		p.t.Fatal(err)
	}
	var out hocket.Snapshot[sheet]
	if err := json.Unmarshal(raw, &out); err != nil {
		p.t.Fatal(err)
	}
	return &out
}

var graphState = []rule{
	{name: "S2-59 a failing run makes a report, raises the signal with it, and goes as it would without",
		test: func(t *testing.T) {
			p := play(t, newGraph().Start(changes("a", func(*sheet) { panic("oops") }, single())).Then(idle("z")),
				sheet{})
			p.went("panic", "a", `node "a" panicked: oops`)
			same(t, "signals", p.signal, []string{`debug_report_generated node "a" panicked: oops`})
			last := p.Signals[len(p.Signals)-1]
			same(t, "signal", last.Type, graph.SignalDebugReport)
			same(t, "its data is a report", compat.IsDebugReport(any(last.Data)), true)
			r := p.DebugReport
			same(t, "summary", r.ErrorSummary, `node "a" panicked: oops`)
			same(t, "ids", []string{r.NodeID, r.ExecutionID}, []string{"a", "r"})
			same(t, "stack of the panic", strings.Contains(r.StackTrace, "graph_state_test.go"), true)
			same(t, "lists", r.RelevantFiles != nil && len(r.SuggestedFixes) > 0, true)
			same(t, "time", r.GeneratedAt.IsZero(), false)
			raw, err := json.Marshal(r)
			same(t, "error", err, nil)
			same(t, "in the signal", any(last.Data), decoded(t, raw))
			p = play(t, newGraph().Start(breaks("a", -1, single())), sheet{}, graph.Config{Timeout: time.Hour})
			same(t, "no stack of an error", p.DebugReport.StackTrace, "")
			p = play(t, newGraph().Start(raises("a", graph.Signal{Type: graph.SignalDebugReport, Message: "mine"})).
				Then(
					idle("z")), sheet{})
			p.went("of a node", "a, z", "completed")
			same(t, "signals", p.signal, []string{"debug_report_generated mine"})
			same(t, "report of a completed run", p.DebugReport == nil, true)
		}},
	{name: "S2-60 guards, constants and defaults", test: func(t *testing.T) {
		for want, words := range map[bool][]string{true: {"agent", "tool", "decision", "wait", "ask_user", "subgraph",
			"parallel"}, false: {"", "Agent", "loop", "checkpoint"}} {
			for _, w := range words {
				same(t, "node type "+w, compat.IsNodeType(w), want)
			}
		}
		for want, words := range map[bool][]string{true: {"context_window_warning", "checkpoint",
			"human_input_required", "debug_report_generated"}, false: {"", "tool"}} {
			for _, w := range words {
				same(t, "signal "+w, compat.IsSignal(w), want)
			}
		}
		for want, words := range map[bool][]string{true: {"pending", "running", "paused", "completed", "failed",
			"cancelled"}, false: {"", "done"}} {
			for _, w := range words {
				same(t, "status "+w, compat.IsExecutionStatus(w), want)
			}
		}
		for _, c := range []struct {
			guard func(any) bool
			text  string
			want  bool
		}{
			{compat.IsBaseState, `{"executionId":"x","lastUpdated":"y","outputs":{}}`, true},
			{compat.IsBaseState, `{"executionId":"x","outputs":{}}`, false},
			{compat.IsNodeResult, `{"stateUpdate":{},"goto":["a"],"signals":[{"type":"checkpoint"}]}`, true},
			{compat.IsNodeResult, `{"goto":7}`, false},
			{compat.IsDebugReport, `{"errorSummary":"e","relevantFiles":[],"suggestedFixes":[],"generatedAt":"t"}`,
				true}, {compat.IsDebugReport, `{"errorSummary":"e"}`, false},
		} {
			same(t, c.text, c.guard(decoded(t, json.RawMessage(c.text))), c.want)
		}
		adr := strings.Join(strings.Fields(file(t, "../../docs/adr/0011-go-graphs.md")), " ")
		same(t, "an ADR tells of StateOf and StateUpdate",
			strings.Contains(adr, "`StateOf` and `StateUpdate` have no Go counterpart"), true)
		same(t, "thresholds", []float64{compat.BackgroundCompactionThreshold, compat.BufferExhaustionThreshold},
			[]float64{0.45, 0.6})
		same(t, "retry of agents", compat.AgentNodeRetry(), graph.Retry{MaxAttempts: 3, Backoff: time.Second,
			Multiplier: 2})
		same(t, "retry", compat.DefaultRetry(), compat.AgentNodeRetry())
		same(t, "config", []any{compat.DefaultMaxConcurrency, compat.DefaultContextWindowThreshold,
			compat.DefaultAutoCheckpoint}, []any{1, 45, true})
	}},
	{name: "S2-63 a snapshot is complete, and resuming runs what is pending and nothing that ended",
		test: func(t *testing.T) {
			begin := time.Now()
			b := newGraph().Start(leads("s", "w", "a")).Node(compat.WaitNode[sheet]("w", "Sure?"), recordsID("w2")).
				Node(
					breaks("a", 1), raises("a2", graph.Signal{Type: graph.SignalCheckpoint, Message: "here"}))
			p := play(t, b, sheet{})
			same(t, "end", p.end(), "paused")
			same(t, "visited", p.VisitedNodes, []string{"s"})
			same(t, "pending behind the question", p.Pending, []string{"a"})
			same(t, "ended", p.CompletedAt == nil, true)
			same(t, "current", p.CurrentNodeID, "w")
			<-time.After(time.Hour)
			there := opened(t, hocket.Config{})
			q := playOn(t, there, p.g, sheet{}, gRun{ResumeFrom: p.carried(), Answer: &hocket.Answer{Value: "yes"}})
			q.follow("r", func(func(hocket.Step[sheet], error) bool) {})
			same(t, "status", q.Status, hocket.StatusCompleted)
			same(t, "visited in all", q.VisitedNodes, []string{"s", "w", "a", "w2", "a2"})
			same(t, "count over resumes", q.NodeExecutionCount, 5)
			same(t, "current at the end", q.CurrentNodeID, "a2")
			same(t, "last change", q.UpdatedAt.Equal(*q.CompletedAt), true)
			same(t, "began elsewhere", strings.Contains(q.began(), "s,"), false)
			same(t, "errors", q.attempts(), []string{"a#1 it is broken"})
			same(t, "signals", q.signal, []string{"human_input_required Sure?", "checkpoint here"})
			same(t, "start", q.StartedAt.Equal(p.StartedAt) && q.StartedAt.Sub(begin.UTC()).Abs() < time.Second, true)
			same(t, "time of the end", q.CompletedAt.Sub(q.StartedAt) >= time.Hour, true)
			same(t, "pending at the end", q.Pending, []string{})
			same(t, "id", q.ExecutionID, "r")
		}},
	{name: "S2-63 an interrupted run goes on in another process", outside: true, test: func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		db := filepath.Join(t.TempDir(), "hocket.db")
		g := compiled(t, newGraph().Start(recordsID("a")).Then(changes("b", func(s *sheet) {
			s.Log = append(s.Log, "b")
			cancel()
		})).Then(recordsID("c")))
		if _, err := hocket.Run(ctx, opened(t, hocket.Config{DB: db}), g, sheet{}, gRun{ID: "r"}); !errors.Is(err,
			hocket.ErrInterrupted) {
			t.Fatalf("error %v", err)
		}
		r, err := hocket.Resume(t.Context(), opened(t, hocket.Config{DB: db}), g, "r")
		if err != nil {
			t.Fatal(err)
		}
		same(t, "state", r.State.Log, []string{"a", "b", "c"})
		same(t, "visited", r.Snapshot.VisitedNodes, []string{"a", "b", "c"})
	}},
	{name: "S2-64 progress: started, error, completed, saved", test: func(t *testing.T) {
		g := compiled(t, newGraph().Start(does("a", func(_ context.Context, c *gContext) (gResult, error) {
			if c.Attempt == 1 {
				return gResult{}, errBroken
			}
			c.State.N = 7
			return gResult{Update: &c.State}, nil
		})))
		p := playOn(t, opened(t, hocket.Config{}), g, sheet{}, gRun{Checkpointer: compat.MemoryCheckpoints()})
		var got []any
		for _, e := range p.told {
			got = append(got, string(e.Type), e.NodeID, e.State.N, e.Error != nil)
		}
		same(t, "told", got, []any{"node_started", "a", 0, false, "node_error", "a", 0, true, "node_completed", "a", 7,
			false, "checkpoint_saved", "a", 7, false})
		same(t, "error", p.told[1].Error.Error(), "it is broken")
		same(t, "times of the attempts", p.told[2].Timestamp.Sub(p.told[1].Timestamp), time.Second)
		raw, err := json.Marshal(p.told[1])
		same(t, "error of JSON", err, nil)
		shape := decoded(t, raw).(map[string]any)
		same(t, "shape", []any{shape["type"], shape["nodeId"], shape["error"]},
			[]any{"node_error", "a", "it is broken"})
	}},
	{name: "S2-65 checkpoints: labels, what is saved, and what load, list and delete give", test: func(t *testing.T) {
		mark := func(id string, data map[string]any) gNode {
			return raises(id, graph.Signal{Type: graph.SignalCheckpoint, Data: data})
		}
		b := newGraph().Start(idle("a")).Then(mark("b", nil)).Wait("?").Then(
			mark("c", map[string]any{"label": "approved"}))
		for auto, want := range map[bool][]string{true: {"step_1", "checkpoint_2", "step_2", "step_3", "approved",
			"step_4"}, false: {"checkpoint_2", "approved"}} {
			c := compat.MemoryCheckpoints()
			e, o := opened(t, hocket.Config{}), gRun{Checkpointer: c, AutoCheckpoint: &auto}
			p := playOn(t, e, compiled(t, b), sheet{}, o)
			o.ResumeFrom, o.Answer = p.Snapshot, &hocket.Answer{Value: "on"}
			p.follow("r", hocket.Stream(t.Context(), e, p.g, sheet{}, o))
			same(t, "end", p.end(), "completed")
			labels, err := c.List(t.Context(), "r")
			same(t, "error", err, nil)
			same(t, "labels", labels, want)
			_, err = c.Load(t.Context(), "r", "")
			same(t, "latest", err, nil)
			_, err = c.Load(t.Context(), "missing", "")
			same(t, "nothing", errors.Is(err, compat.ErrNoCheckpoint), true)
			same(t, "delete one", c.Delete(t.Context(), "r", "approved"), nil)
			labels, _ = c.List(t.Context(), "r")
			same(t, "labels left", len(labels), len(want)-1)
			same(t, "delete all", c.Delete(t.Context(), "r", ""), nil)
			labels, _ = c.List(t.Context(), "r")
			same(t, "none left", len(labels), 0)
		}
		playOn(t, opened(t, hocket.Config{}), compiled(t, b), sheet{}, gRun{Checkpointer: fullDisk{}}).went(
			"a save fails", "a, b, wait_1", "paused")
	}},
	{name: "S2-72 telemetry: start, enter and exit with type and duration, errors, completion",
		test: func(t *testing.T) {
			k := &tracked{}
			b := newGraph().Start(breaks("a", 1)).Wait("?")
			e := opened(t, hocket.Config{})
			p := playOn(t, e, compiled(t, b), sheet{}, gRun{Telemetry: k})
			same(t, "told", k.lines, []string{
				"start unnamed 1000 false", "enter a tool", "error a it is broken", "exit a tool 1s",
				"enter wait_1 wait",
				"exit wait_1 wait 0s", "complete unnamed paused",
			})
			k.lines = nil
			p.follow("r", hocket.Stream(t.Context(), e, p.g, sheet{},
				gRun{ResumeFrom: p.Snapshot, Answer: &hocket.Answer{Value: "on"}, Telemetry: k,
					WorkflowName: "letters"}))
			same(t, "notified of the resume", k.lines, []string{"start letters 1000 true", "enter wait_1 wait",
				"exit wait_1 wait 0s", "complete letters completed"})
			spans := tracetest.NewInMemoryExporter()
			provider := trace.NewTracerProvider(trace.WithSyncer(spans))
			playOn(t, e, p.g, sheet{},
				gRun{ID: "spans", WorkflowName: "letters",
					Telemetry: oteltrack.New(oteltrack.Config{Provider: provider})})
			var names []string
			for _, s := range spans.GetSpans() {
				names = append(names, s.Name)
			}
			same(t, "spans", names, []string{"node a", "node wait_1", "workflow letters"})
			same(t, "error", provider.Shutdown(t.Context()), nil)
		}},
	{name: "S2-75 what is apart from the state", test: func(t *testing.T) {
		saved := compat.MemoryCheckpoints()
		agent := &coder{graphtest.Agent{Usage: filled(30)}}
		var seen gContext
		g := compiled(t, newGraph().Start(graph.AgentConfig[sheet]{ID: "a", AgentType: "claude",
			Output: func(s *sheet, _ []graph.AgentMessage) error { s.N = 7; return nil }}).
			Then(outputs("g", "done")).Then(capturesContext("n", &seen)), graph.Config{Runtime: agent.runtime()})
		p := playOn(t, opened(t, hocket.Config{}), g, sheet{},
			gRun{Checkpointer: saved, Outputs: map[string]any{"before": 1, "g": "old"}})
		raw, err := saved.Load(t.Context(), "r", "")
		same(t, "error", err, nil)
		state := decoded(t, raw).(map[string]any)
		same(t, "is a base state", compat.IsBaseState(any(state)), true)
		_, err = time.Parse(time.RFC3339, state["lastUpdated"].(string))
		same(t, "time", err, nil)
		delete(state, "lastUpdated")
		usage := map[string]any{"inputTokens": 30.0, "outputTokens": 0.0, "maxTokens": 100.0, "usagePercentage": 30.0}
		outputs := map[string]any{"before": 1.0, "g": "done"}
		same(t, "JSON", state, map[string]any{"n": 7.0, "executionId": "r", "outputs": outputs,
			"contextWindowUsage": usage})
		same(t, "context", []any{seen.ExecutionID, seen.LastUpdated.IsZero(), seen.ContextWindowUsage.UsagePercentage},
			[]any{"r", false, 30.0})
		first, ok := seen.Output("before")
		same(t, "first outputs", []any{string(first), ok}, []any{"1", true})
		type all struct {
			A string         `json:"executionId"`
			B string         `json:"lastUpdated"`
			C map[string]int `json:"outputs"`
			D int            `json:"contextWindowUsage"`
			E bool           `json:"__waitingForInput"`
			F string         `json:"__waitNodeId"`
			G string         `json:"__askUserRequestId"`
		}
		_, err = graph.New[all]("t").Start(graph.Do("a", func(context.Context, *all) error { return nil })).Compile()
		list, _ := errors.AsType[diag.List](err)
		same(t, "names that a state cannot use", len(list), 7)
		var inside gContext
		inner := compiled(t, graph.New[sheet]("inner").Start(capturesContext("i", &inside)))
		e := opened(t, hocket.Config{})
		playOn(t, e, compiled(t, newGraph().Start(graph.SubgraphConfig[sheet, sheet]{ID: "sub", Graph: inner})),
			sheet{}, gRun{Outputs: map[string]any{"before": 1}})
		same(t, "outputs seen by an inner graph", len(inside.Outputs()), 0)
		_, err = hocket.Run(t.Context(), e, g, sheet{}, gRun{Outputs: map[string]any{"a": func() {}}})
		same(t, "outputs that are no JSON", err.Error(), "encode state: json: unsupported type: func()")
		raw, err = json.Marshal(p.Snapshot)
		same(t, "error", err, nil)
		snapshot := decoded(t, raw).(map[string]any)
		same(t, "snapshot", []any{snapshot["executionId"], snapshot["outputs"], snapshot["contextWindowUsage"]},
			[]any{"r", any(outputs), any(usage)})
	}},
}

func TestGraphState(t *testing.T) { check(t, graphState) }

func TestGraphStateCovered(t *testing.T) {
	covered(t, graphState, "S2-59", "S2-60", "S2-63", "S2-64", "S2-65", "S2-72", "S2-75")
}
