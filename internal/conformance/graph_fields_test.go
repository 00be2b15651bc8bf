package conformance_test

import (
	"context"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/hocket-run/hocket"
	"github.com/hocket-run/hocket/graph"
	"github.com/hocket-run/hocket/graph/compat"
)

// inJSON lists the document's types that occur in JSON, each with its fields: the names are those
// of the document.
var inJSON = []struct {
	document string
	in       any
	fields   string
}{
	{"BaseState", graph.BaseState{}, "executionId lastUpdated outputs"},
	{"ContextWindowUsage", graph.ContextWindowUsage{}, "inputTokens outputTokens maxTokens usagePercentage"},
	{"SignalData", graph.Signal{}, "type message? data?"},
	{"ExecutionError", graph.ExecutionError{}, "nodeId error timestamp attempt"},
	{"DebugReport", graph.DebugReport{},
		"errorSummary stackTrace? relevantFiles suggestedFixes generatedAt nodeId? executionId?"},
	{"ErrorFeedback", graph.ErrorFeedback{}, "failedNodeId errorMessage errorType attempt maxAttempts previousOutput?"},
	{"NodeResult", hocket.StepResult{}, "stateUpdate? goto? signals?"},
	{"ExecutionSnapshot", hocket.Snapshot[sheet]{}, "executionId state status currentNodeId? visitedNodes errors " +
		"signals startedAt updatedAt completedAt? nodeExecutionCount"},
	{"AskUserOption", graph.Choice{}, "label description?"},
	{"emitted event", hocket.EmittedEvent{}, "type data? timestamp"},
}

// inGo lists everything else with fields or methods: `document=Go`, or one name if only its first
// letter differs.
var inGo = []struct {
	document string
	in       any
	names    string
}{
	{"GraphBuilder", newGraph(), "start then if else endif=EndIf parallel loop wait subagent tool catch end compile " +
		"getNode=Nodes getEdgesFrom=Edges getEdgesTo=Edges"},
	{"CompiledGraph", new(graph.Compiled[sheet]), "nodes edges startNode=Start endNodes=Ends config " +
		"errorHandlerId=ErrorHandler condition"},
	{"GraphExecutor", new(compat.Executor[sheet]), "execute=Run stream"},
	{"LoopConfig", gLoop{}, "until maxIterations"},
	{"IfConfig", graph.IfConfig[sheet]{}, "condition then else_if=ElseIf else"},
	{"IfConfig.else_if", graph.ElseIf[sheet]{}, "condition then"},
	{"ParallelConfig", gParallel{}, "branches strategy merge"},
	{"ParallelNodeConfig", gParallel{}, "id=ID branches strategy outputMapper=Merge name=Options description=Options"},
	{"SubAgentConfig", graph.SubagentConfig[sheet]{},
		"id=ID agent task task=TaskFunc systemPrompt systemPrompt=SystemPromptFunc model tools outputMapper=Output " +
			"retry=Options"},
	{"ToolBuilderConfig", graph.ToolConfig[sheet, int, int]{},
		"id=ID toolName execute args args=ArgsFunc outputMapper=Output timeout retry=Options"},
	{"AgentNodeConfig", graph.AgentConfig[sheet]{},
		"id=ID agentType systemPrompt tools outputMapper=Output sessionConfig=Session retry=Options " +
			"buildMessage=MessageFunc"},
	{"ClearContextNodeConfig", graph.ClearContextConfig[sheet]{}, "id=ID message message=MessageFunc name=Options"},
	{"DecisionRoute", graph.Route[sheet]{}, "condition=When target label"},
	{"WaitNodeConfig", graph.WaitConfig[sheet]{},
		"id=ID prompt prompt=PromptFunc autoApprove inputMapper=Input name=Options"},
	{"AskUserNodeConfig", graph.AskUserConfig[sheet]{}, "id=ID options=Question options=QuestionFunc name=Options"},
	{"AskUserOptions", graph.Question{}, "question=Text header options=Choices"},
	{"SubgraphNodeConfig", graph.SubgraphConfig[sheet, sheet]{},
		"id=ID subgraph=Graph subgraph=Name inputMapper=Input outputMapper=Output name=Options"},
	{"ContextMonitorNodeConfig", graph.ContextMonitorConfig[sheet]{},
		"id=ID agentType threshold action getSession=Session getContextUsage=Usage onCompaction name=Options"},
	{"CustomToolNodeConfig", graph.CustomToolConfig[sheet, int, int]{},
		"id=ID toolName inputSchema args args=ArgsFunc outputMapper=Output timeout retry=Options"},
	{"ParallelSubagentNodeConfig", graph.ParallelSubagentConfig[sheet]{},
		"id=ID agents outputMapper=Output retry=Options"},
	{"ParallelSubagentNodeConfig.agents", graph.ParallelAgent[sheet]{},
		"agentName=Agent task systemPrompt model tools"},
	{"NodeDefinition", graph.Definition[sheet]{}, "id=ID type execute=Func name description"},
	{"NodeDefinition.Options", gOptions{},
		"inputSchema outputSchema retry onError isRecoveryNode=Recovery name description model"},
	{"RetryConfig", graph.Retry{}, "maxAttempts backoffMs=Backoff backoffMultiplier=Multiplier retryOn"},
	{"ErrorAction", gAction{}, "action delay fallbackState=Fallback error=Err nodeId=Node"},
	{"NodeResult", gResult{}, "stateUpdate=Update goto signals"},
	{"ExecutionContext", new(gContext),
		"state config errors contextWindowUsage contextWindowThreshold emit getNodeOutput=Output model"},
	{"GraphConfig", graph.Config{},
		"maxConcurrency timeout contextWindowThreshold metadata defaultModel outputSchema runtime"},
	{"GraphConfig, of a run", gRun{}, "checkpointer onProgress autoCheckpoint"},
	{"ExecutionOptions", gRun{}, "executionId=ID resumeFrom maxSteps workflowName telemetry"},
	{"ExecutionOptions.initialState.outputs", gRun{}, "outputs"},
	{"GraphRuntimeDependencies", graph.Runtime{},
		"clientProvider workflowResolver subagentBridge=Subagents subagentRegistry=Registry"},
	{"subagentBridge", (*graph.SubagentBridge)(nil), "spawn spawnParallel"},
	{"subagentRegistry", (*graph.SubagentRegistry)(nil), "get getAll=All"},
	{"SubagentSpawnOptions", graph.SpawnOptions{}, "agentId=AgentID agentName task systemPrompt model tools"},
	{"SubagentResult", graph.SubagentResult{}, "success output"},
	{"CodingAgentClient", (*graph.Client)(nil), "createSession"},
	{"Session", (*graph.Session)(nil), "stream getContextUsage=ContextUsage summarize destroy"},
	{"WorkflowToolContext", graph.ToolContext{},
		"sessionID messageID agent directory workflowState=State nodeId=NodeID executionId=ExecutionID"},
	{"ProgressEvent", hocket.Progress[sheet]{}, "type nodeId=NodeID state error timestamp"},
	{"Edge", graph.Edge{}, "from to condition=Conditional label"},
	{"StepResult", hocket.Step[sheet]{},
		"nodeId=NodeID state result status error executionTime retryCount modelUsed emittedEvents"},
	{"ExecutionResult", hocket.Result[sheet]{}, "state status snapshot"},
	{"StreamEvent", compat.StreamEvent[sheet]{}, "mode nodeId=NodeID state update event trace"},
	{"Checkpointer", (*compat.Checkpointer)(nil), "save load list delete"},
	{"StateValidator", compat.StateValidator{}, "validate validateNodeInput validateNodeOutput"},
	{"SchemaValidationError", graph.SchemaValidationError{}, "message zodError=Problems"},
	{"NodeExecutionError", graph.NodeExecutionError{}, "nodeId=NodeID cause"},
}

// has reports whether a type has a field or a method with that name.
func has(typ reflect.Type, name string) bool {
	if _, ok := typ.MethodByName(name); ok {
		return true
	}
	if typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	if _, ok := typ.MethodByName(name); ok { // a method of an interface type
		return true
	}
	if typ.Kind() != reflect.Struct {
		return false
	}
	_, ok := typ.FieldByName(name)
	return ok
}

// kind is a kind of node, created with default options, with the document's type and default name.
type kind struct {
	node    func(o gOptions) gNode
	typ     graph.NodeType
	title   string
	retried int // calls of a node that always fails; 0 means it calls nothing
}

// kinds returns every kind of node in the document by its function there. Nodes that call something
// call called and fail.
func kinds(t *testing.T, called func()) map[string]kind {
	t.Helper()
	inner := compiled(t, graph.New[sheet]("in").Start(idle("i")))
	agents := []graph.ParallelAgent[sheet]{{Agent: "coder", Task: "t"}}
	broken := func(*sheet, []graph.AgentResult) error { called(); return errBroken }
	return map[string]kind{
		"agentNode": {func(o gOptions) gNode {
			return graph.AgentConfig[sheet]{ID: "n", AgentType: "claude", Options: o,
				Output: func(*sheet, []graph.AgentMessage) error { called(); return errBroken }}
		}, graph.TypeAgent, "claude agent", 3},
		"toolNode": {func(o gOptions) gNode {
			return graph.ToolConfig[sheet, int, int]{ID: "n", ToolName: "hammer", Options: o,
				Execute: func(context.Context, int) (int, error) { called(); return 0, errBroken }}
		}, graph.TypeTool, "hammer", 3},
		"clearContextNode": {func(o gOptions) gNode { return graph.ClearContextConfig[sheet]{ID: "n", Options: o} },
			graph.TypeTool, "clear-context", 0},
		"decisionNode": {func(o gOptions) gNode { return graph.DecisionNode[sheet]("n", nil, "z", o) },
			graph.TypeDecision, "", 0},
		"waitNode": {func(o gOptions) gNode { return graph.WaitConfig[sheet]{ID: "n", Options: o} },
			graph.TypeWait, "", 0},
		"askUserNode": {func(o gOptions) gNode {
			return graph.AskUserConfig[sheet]{ID: "n", Question: question, Options: o}
		}, graph.TypeAskUser, "", 0},
		"parallelNode": {func(o gOptions) gNode { return gParallel{ID: "n", Branches: []string{"br"}, Options: o} },
			graph.TypeParallel, "", 0},
		"subgraphNode": {func(o gOptions) gNode {
			return graph.SubgraphConfig[sheet, sheet]{ID: "n", Graph: inner, Options: o}
		}, graph.TypeSubgraph, "", 0},
		"contextMonitorNode": {func(o gOptions) gNode {
			return graph.ContextMonitorConfig[sheet]{ID: "n", AgentType: "claude", Options: o,
				Usage: func(context.Context, graph.View[sheet]) (*graph.ContextWindowUsage, error) {
					called()
					return nil, errBroken
				}}
		}, graph.TypeTool, "context-monitor", 3},
		"customToolNode": {func(o gOptions) gNode {
			return graph.CustomToolConfig[sheet, int, int]{ID: "n", ToolName: "saw", Options: o,
				Output: func(*sheet, int) error { called(); return errBroken }}
		}, graph.TypeTool, "saw", 3},
		"subagentNode": {func(o gOptions) gNode {
			return graph.SubagentConfig[sheet]{ID: "n", Agent: "coder", Task: "t", Options: o,
				Output: func(*sheet, graph.SubagentResult) error { called(); return errBroken }}
		}, graph.TypeAgent, "coder", 3},
		"parallelSubagentNode": {func(o gOptions) gNode {
			return graph.ParallelSubagentConfig[sheet]{ID: "n", Agents: agents, Output: broken, Options: o}
		}, graph.TypeParallel, "", 3},
		"createNode": {func(o gOptions) gNode {
			return graph.NewNode("n", graph.TypeAgent, func(context.Context, *gContext) (gResult, error) {
				called()
				return gResult{}, errBroken
			}, o)
		}, graph.TypeAgent, "", 3},
	}
}

var graphFields = []rule{
	{name: "S2-0 fields of types that are in JSON", test: func(t *testing.T) {
		for _, c := range inJSON {
			tags := map[string]string{}
			for f := range reflect.TypeOf(c.in).Fields() {
				name, rest, _ := strings.Cut(f.Tag.Get("json"), ",")
				tags[name] = rest
			}
			for field := range strings.FieldsSeq(c.fields) {
				name, optional := strings.CutSuffix(field, "?")
				rest, ok := tags[name]
				same(t, c.document+"."+name, ok, true)
				same(t, c.document+"."+name+" may be left out", strings.Contains(rest, "omit"), optional)
			}
		}
	}},
	{name: "S2-0 fields and methods of all other types", test: func(t *testing.T) {
		for _, c := range inGo {
			for pair := range strings.FieldsSeq(c.names) {
				document, name, ok := strings.Cut(pair, "=")
				if !ok {
					name = strings.ToUpper(document[:1]) + document[1:]
				}
				same(t, c.document+"."+document+" as "+name, has(reflect.TypeOf(c.in), name), true)
			}
		}
	}},
	{name: "S2-0 kinds of nodes: type, default name and description", test: func(t *testing.T) {
		for name, k := range kinds(t, func() {}) {
			for _, given := range []bool{false, true} {
				want, o := graph.NodeInfo{ID: "n", Type: k.typ, Name: k.title}, gOptions{}
				if given {
					o = gOptions{Name: "N", Description: "D", Recovery: true}
					want = graph.NodeInfo{ID: "n", Type: k.typ, Name: "N", Description: "D", Recovery: true}
				}
				b := newGraph().Start(k.node(o)).Then(idle("z"))
				if name == "parallelNode" {
					b.Node(idle("br"))
				}
				got, ok := compat.Node(compiled(t, b), "n")
				same(t, name+" is there", ok, true)
				same(t, name, got, want)
			}
		}
	}},
	{name: "S2-0 kinds of nodes: how often one that fails is called, and when", test: func(t *testing.T) {
		var note func()
		team := &crew{Names: []string{"coder"}}
		services := team.Runtime()
		services.ClientProvider = (&coder{}).runtime().ClientProvider
		services.Tools = toolbox{
			"saw": func(context.Context, json.RawMessage, graph.ToolContext) (json.RawMessage, error) {
				return json.RawMessage("1"), nil
			}}
		for name, k := range kinds(t, func() { note() }) {
			if k.retried == 0 {
				continue
			}
			for want, o := range map[string]gOptions{"0s 1s 3s": {}, "0s": single(),
				"0s 5s": {Retry: graph.Retry{MaxAttempts: 2, Backoff: 5 * time.Second}}} {
				var noted func() string
				note, noted = clock()
				p := play(t, newGraph().Start(k.node(o)), sheet{}, graph.Config{Runtime: services})
				same(t, name+": calls", noted(), want)
				same(t, name+": status", p.Status, hocket.StatusFailed)
			}
		}
	}},
	{name: "S2-0 kinds of nodes: fields that say nothing", test: func(t *testing.T) {
		p := play(t, newGraph().Start(graph.ToolConfig[sheet, int, int]{ID: "t", Args: 4,
			Execute: func(_ context.Context, n int) (int, error) { return n + 1, nil }}).
			Then(graph.ToolConfig[sheet, int, int]{ID: "f", Args: 4, ArgsFunc: func(v graph.View[sheet]) int {
				return v.State.N
			}, Execute: func(_ context.Context, n int) (int, error) {
				return n, nil
			}, Output: func(s *sheet, n int) error {
				s.N = 2 * n
				return nil
			}}), sheet{N: 9})
		same(t, "result in the outputs", p.output("t"), "5")
		same(t, "arguments of the state, and a mapper", []any{p.State.N, p.output("f")}, []any{18, ""})
		p = play(t, newGraph().Start(graph.WaitConfig[sheet]{ID: "w", Prompt: "?"}), sheet{})
		same(t, "autoApprove", p.Status, hocket.StatusPaused)
		n, _ := compat.Node(
			compiled(t, newGraph().Start(graph.ToolConfig[sheet, int, int]{ID: "t",
				Execute: func(context.Context, int) (int, error) { return 0, nil }})), "t")
		same(t, "name of a tool without one is its id", n.Name, "")
	}},
	{name: "S2-0 defaults of graphs and runs", test: func(t *testing.T) {
		saved := compat.MemoryCheckpoints()
		e := opened(t, hocket.Config{})
		r, err := hocket.Run(t.Context(), e, compiled(t, newGraph().Start(idle("a")).Then(idle("b"))), sheet{},
			gRun{Checkpointer: saved})
		same(t, "error", err, nil)
		same(t, "an id is made", r.Snapshot.ExecutionID != "", true)
		labels, err := saved.List(t.Context(), r.Snapshot.ExecutionID)
		same(t, "error", err, nil)
		same(t, "autoCheckpoint", labels, []string{"step_1", "step_2"})
		same(t, "timeout", play(t, newGraph().Start(endsLater("a", nil)), sheet{}).end(), "completed")
		same(t, "constants", []any{compat.DefaultMaxConcurrency, compat.DefaultContextWindowThreshold,
			compat.DefaultAutoCheckpoint, compat.DefaultMaxIterations},
			[]any{1, 45, true, 100})
		var seen gContext
		play(t, newGraph().Start(capturesContext("a", &seen)), sheet{}, graph.Config{Metadata: map[string]any{"k": 1}})
		same(t, "metadata", seen.Config.Metadata, map[string]any{"k": 1})
		same(t, "attempt, model, feedback", []any{seen.Attempt, seen.Model, seen.Feedback == nil}, []any{1, "", true})
	}},
}

func TestGraphFields(t *testing.T) { check(t, graphFields) }

func TestGraphFieldsCovered(t *testing.T) { covered(t, graphFields, "S2-0") }
