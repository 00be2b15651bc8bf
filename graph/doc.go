// Package graph builds workflows of Go functions over one typed state.
//
//	g, err := graph.New[State]("review").
//		Start(graph.Do("draft", draft)).
//		Loop(graph.LoopConfig[State]{Until: approved}, graph.Do("review", review), graph.Do("fix", fix)).
//		Then(graph.Do("publish", publish)).
//		Compile()
//
// It is a builder, a checker, and a compiler to package workflow with a table of functions. It refuses to run anything, to keep anything, and to know
// the engine: running a [Compiled] graph is the business of whoever takes its [Compiled.Workflow] and its [Running].
//
// The flow: calls of the [Builder] add nodes and edges and collect misuse; [Builder.Compile] tells all misuse at once, each with the file and line of
// the call, else freezes nodes and edges, places each node in its branch, and makes the workflow and the functions that it names.
//
// State. S is a struct of yours that survives JSON; Compile checks that. The run's input is the first state. Each node gets a copy and gives the
// changed copy back ([Result.Update]; with [Do] it changes the copy in place): what is written are the top-level fields that differ. Branches of a
// parallel block see the state as it was at their start, with their own changes. Where two branches change the same field, its [Reducer] merges the
// changes in declared order; without one that is an error that names both nodes and the field (P7). What the graph keeps itself (the execution id, outputs,
// counters of loops, flags of open questions) stands beside S, in the [Context] and in [BaseState], so S cannot have fields of those names (S2-75).
//
// Inner graphs ([SubgraphConfig]) have a state of their own. Their steps belong to the run: a question inside pauses it, and what finished inside does not
// run again (P3). A graph can be given, or named and found by [Compiled.Link] before the run begins; none can contain itself.
//
// Purity. Conditions, Until, prompts, mappers, reducers, OnError and RetryOn are called by the engine itself, and what they gave is recorded, so that
// a run that goes on after a crash does not ask again (D4). They must depend on what they are given alone. Functions of nodes may do anything; they are
// called again after a failure or a crash, with the same [Context.Key]; what they do in a [Once] is not done again.
//
// Agents and tools. [AgentConfig] sends a message to a coding agent, [SubagentConfig] and [ParallelSubagentConfig] give tasks to agents that the program
// knows by name, [CustomToolConfig] calls a tool that it knows by name, [ContextMonitorConfig] keeps a session's context window from filling up. What they
// need is a [Runtime]: that of the [Config], and for what is nil there that of the engine that runs the graph.
//
// Invariants: ids are unique; a compiled graph does not change when its builder is used further (S2-77); generated nodes are named
// `<prefix>_<n>` from one counter (S2-2); what follows a loop or a parallel block runs once (S2-9, S2-22).
//
// # Names
//
// Names of the document that describes this kind of graph, and theirs in Go (S2-76).
//
// Building:
//
//	graph<TState>()                            New
//	GraphBuilder                               Builder
//	start                                      Builder.Start
//	then                                       Builder.Then
//	if, IfConfig                               Builder.If, Builder.IfConfig, IfConfig, ElseIf
//	else                                       Builder.Else
//	endif                                      Builder.EndIf
//	parallel, ParallelConfig                   Builder.Parallel, ParallelConfig, Builder.Node
//	loop, LoopConfig                           Builder.Loop, LoopConfig
//	wait                                       Builder.Wait, Builder.AskUser
//	subagent, SubAgentConfig                   Builder.Subagent, SubagentConfig
//	tool, ToolBuilderConfig                    Builder.Tool, ToolConfig
//	catch                                      Builder.Catch
//	end                                        Builder.End
//	compile                                    Builder.Compile
//	getNode                                    Builder.Find, Compiled.Node
//	getEdgesFrom                               Builder.EdgesFrom, Compiled.EdgesFrom
//	getEdgesTo                                 Builder.EdgesTo, Compiled.EdgesTo
//	createNode                                 NewNode, Do
//	createDecisionNode                         DecisionNode
//	createWaitNode                             WaitNode
//
// Nodes:
//
//	agentNode, AgentNodeConfig                 AgentConfig
//	buildMessage, sessionConfig                AgentConfig.MessageFunc, AgentConfig.Session
//	toolNode, ToolNodeConfig                   ToolConfig
//	clearContextNode, ClearContextNodeConfig   ClearContextConfig
//	decisionNode, DecisionNodeConfig           DecisionNode
//	DecisionRoute                              Route
//	waitNode, WaitNodeConfig                   WaitConfig
//	askUserNode, AskUserNodeConfig             AskUserConfig
//	AskUserOptions, AskUserOption              Question, Choice
//	parallelNode, ParallelNodeConfig           ParallelConfig
//	MergeStrategy, ParallelMergeStrategy       Strategy
//	subgraphNode, SubgraphNodeConfig           SubgraphConfig
//	CompiledSubgraph, RuntimeSubgraph          Subgraph
//	contextMonitorNode                         ContextMonitorConfig
//	ContextMonitorNodeConfig                   ContextMonitorConfig
//	getSession, getContextUsage                ContextMonitorConfig.Session, ContextMonitorConfig.Usage
//	customToolNode, CustomToolNodeConfig       CustomToolConfig
//	WorkflowToolContext, getToolRegistry       ToolContext, Runtime.Tools
//	subagentNode, SubagentNodeConfig           SubagentConfig
//	parallelSubagentNode                       ParallelSubagentConfig, ParallelAgent
//	outputMapper, merge, inputMapper           the fields Output or Merge and Input
//	getDefaultCompactionAction                 DefaultCompactionAction
//	toContextWindowUsage                       ToContextWindowUsage
//	isContextThresholdExceeded                 ContextThresholdExceeded
//	checkContextUsage                          CheckContextUsage
//	compactContext                             CompactContext
//	CodingAgentClient, createSession           Client, Client.CreateSession
//	Session, SessionConfig                     Session, SessionConfig
//	AgentMessage, ContextUsage                 AgentMessage, SessionUsage
//	SubagentSpawnOptions, SubagentResult       SpawnOptions, SubagentResult
//	spawn, spawnParallel                       SubagentBridge.Spawn, SubagentBridge.SpawnParallel
//
// Types:
//
//	NodeId                                     string
//	ModelSpec, "inherit"                       string, ModelInherit
//	NodeType, isNodeType                       NodeType, IsNodeType
//	BaseState, isBaseState                     BaseState, IsBaseState
//	ContextWindowUsage                         ContextWindowUsage
//	Signal, isSignal                           SignalType, IsSignal
//	SignalData                                 Signal
//	ExecutionError                             ExecutionError
//	RetryConfig                                Retry
//	ErrorAction                                ErrorAction
//	DebugReport, isDebugReport                 DebugReport, IsDebugReport
//	NodeResult, isNodeResult                   Result, IsNodeResult
//	stateUpdate, goto, signals                 Result.Update, Result.Goto, Result.Signals
//	ExecutionContext                           Context
//	abortSignal                                context.Context
//	emit, getNodeOutput                        Context.Emit, Context.Output
//	NodeExecuteFn                              Func
//	NodeDefinition                             Node, NodeOptions
//	onError, isRecoveryNode                    NodeOptions.OnError, NodeOptions.Recovery
//	inputSchema, outputSchema                  NodeOptions.InputSchema, NodeOptions.OutputSchema
//	GraphConfig                                Config
//	GraphRuntimeDependencies                   Runtime
//	clientProvider                             Runtime.ClientProvider
//	workflowResolver                           Compiled.Link, Runtime.WorkflowResolver
//	subagentBridge, subagentRegistry           Runtime.Subagents, Runtime.Registry
//	EdgeCondition                              func(S) bool
//	Edge                                       Edge
//	CompiledGraph                              Compiled
//	ErrorFeedback                              ErrorFeedback
//	StateValidator, fromGraphConfig            StateValidator, FromGraphConfig
//	SchemaValidationError, zodError            SchemaValidationError
//	NodeExecutionError                         NodeExecutionError
//	StateOf, StateUpdate                       none: type parameters, and whole copies of the state
//	BACKGROUND_COMPACTION_THRESHOLD            BackgroundCompactionThreshold
//	BUFFER_EXHAUSTION_THRESHOLD                BufferExhaustionThreshold
//	DEFAULT_RETRY_CONFIG                       DefaultRetry, DefaultMaxAttempts, DefaultBackoff
//	AGENT_NODE_RETRY_CONFIG                    AgentNodeRetry
//	DEFAULT_GRAPH_CONFIG                       DefaultMaxConcurrency, DefaultContextWindowThreshold, DefaultAutoCheckpoint
//
// Running, in package hocket:
//
//	GraphExecutor, createExecutor              hocket.Executor, hocket.NewExecutor
//	execute, executeGraph                      hocket.Executor.Run, hocket.Run
//	stream, streamGraph                        hocket.Executor.Stream, hocket.Stream
//	ExecutionOptions                           hocket.RunOptions
//	resumeFrom, maxSteps, workflowName         hocket.RunOptions.ResumeFrom, hocket.RunOptions.MaxSteps, hocket.RunOptions.WorkflowName
//	WorkflowTelemetryConfig                    hocket.Tracker
//	StepResult, ExecutionResult                hocket.Step, hocket.Result
//	StreamRouter, routeStream                  hocket.RouteStream
//	StreamEvent                                hocket.StreamEvent
//	ExecutionStatus, isExecutionStatus         hocket.Status, hocket.IsExecutionStatus
//	ExecutionSnapshot                          hocket.Snapshot
//	ProgressEvent, onProgress                  hocket.Progress, hocket.RunOptions.OnProgress
//	Checkpointer, autoCheckpoint               hocket.Checkpointer, hocket.RunOptions.AutoCheckpoint
//	initializeExecutionState, mergeState       the state given to hocket.Run, Reducer
//	getNextNodes, saveCheckpoint               none: the engine does that
//	createSnapshot                             hocket.Result.Snapshot
//	resolveModel, executeWithRetry             none: see Context.Model, Retry
//
// Nodes that stand beside the flow (branches, targets of gotos) are added with [Builder.Node], branches that hold more than a chain with [Builder.Branch];
// the document has no calls for that (S2-8).
package graph
