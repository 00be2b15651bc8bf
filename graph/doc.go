// Package graph builds workflows from Go functions over one typed state. Package hocket runs them.
//
//	type State struct {
//		Topic, Text string
//		Approved    bool
//	}
//
//	g, err := graph.New[State]("review").
//		Start(graph.Do("draft", func(ctx context.Context, s *State) error {
//			s.Text = "About " + s.Topic
//			return nil
//		})).
//		Loop(graph.LoopConfig[State]{Until: approved, MaxIterations: 5},
//			graph.Do("review", review), graph.Do("fix", fix)).
//		Then(graph.Do("publish", publish)).
//		Compile()
//	if err != nil {
//		return err // every misuse, with the file and line of its call
//	}
//	res, err := hocket.Run(ctx, engine, g, State{Topic: "tides"})
//
// The package is a builder, a checker, and a compiler to package workflow with a table of
// functions. It does not run or store anything, and does not depend on the engine.
//
// # State
//
// S is your own struct, which must survive JSON; Compile checks that. The input of the run is the
// initial state. Each node receives a copy and returns the changed copy ([Result].Update; with [Do]
// it changes the copy in place). The top-level fields that differ are written, each as a whole.
//
// Next to the state, the run keeps the outputs of nodes, by node id: [Result].Output, the results
// of tools, and people's answers. [Context.Output] and [OutputAs] read them. What the graph itself
// keeps (the execution id, which is the run's id, outputs, counters of loops, flags of open
// questions) is in the [Context] and in [BaseState], so S cannot have fields with those names.
//
// # Nodes
//
// [Do] returns a node for a function that changes the state, [Tool] one for a function with
// arguments and a result; [Ask] asks a person, [Inner] runs another graph, [Await] waits for a
// signal. [Loop], [If], [Parallel], [Race], [Any], [Quorum], [Map], [Flow] and [Body] are nodes
// made of nodes, which nest arbitrarily. [NewNode] returns a node for a [Func], which sees the
// whole Context and may return an output, choose the next node ([Result].Goto), raise signals and
// send events. All other nodes are structs, whose ID is required and whose other fields have useful
// zero values: [ToolConfig], [CustomToolConfig], [WaitConfig], [AskUserConfig], [ParallelConfig],
// [SubgraphConfig], [AgentConfig], [SubagentConfig], [ParallelSubagentConfig],
// [ContextMonitorConfig], [ClearContextConfig], [MapConfig], [AwaitConfig], [SleepConfig]. Options
// common to all nodes are in [NodeOptions]. A limit of 0 means the default; use [Zero] for an
// actual zero. Go cannot infer S for structs; an alias helps: type loop = graph.LoopConfig[State].
//
// # The flow
//
// [Builder.Start] and [Builder.Then] add nodes in sequence. [Builder.Node] adds nodes outside the
// flow: branches, targets of gotos, recovery nodes.
//
// Branches: use [Builder.If], Else and EndIf, or a complete [IfConfig] with else-ifs;
// [DecisionNode] chooses among several targets. Both branches of an if meet in one node, and a
// branch without nodes leads there directly.
//
// Loops: [Builder.Loop] runs its body, then evaluates Until, at most 100 times unless MaxIterations
// is set.
//
// Parallel blocks: [Builder.Parallel] runs branches concurrently and waits for all of them, for the
// first that settles, or for the first that succeeds ([Strategy]); the remaining branches are
// cancelled. Branches see the state as it was at their start, with their own changes but not each
// other's. If two branches change the same field, its [Reducer] ([Config].Reducers: [Append],
// [Sum], [MergeMap], [Last], or your own by [Reduce]) merges the changes in declared order; without
// one the run fails with an error that names both nodes and the field. What follows a loop or a
// block runs once.
//
// Lists: [Map] runs a body for each item of a list, with a separate state for each, and returns
// their final states in order.
//
// Waits: [Builder.Wait], or Then with a WaitConfig or an AskUserConfig, asks a person. So does a
// node that raises the signal [SignalHumanInputRequired]: its changes to the state are kept, the
// signal's Message is the question, its Data may hold options, and the answer is the node's output.
// The run pauses, and its process may end. The answer, which may arrive months later, is stored in
// the outputs and, with WaitConfig.Input, in the state.
//
// Inner graphs: [SubgraphConfig] runs a graph with its own state as one node. Its steps belong to
// the run: a question inside pauses it, and finished steps inside do not run again. A graph can be
// passed directly, or named and resolved by [Compiled.Link] before the run starts; no graph can
// contain itself.
//
// # Errors and retries
//
// An error or a panic of a function is a failed attempt. A node that calls a function has three
// attempts, with 1 s and 2 s between them, unless [NodeOptions].Retry is set; the next attempt
// finds the failure in [Context].Feedback. NodeOptions.OnError decides first: retry, skip, abort,
// or continue at a recovery node ([ErrorAction]). Unhandled failures lead to the node of
// [Builder.Catch]; after it the run fails with the first error, unless that node continues with a
// goto.
//
// OnError and RetryOn receive the error that the function returned, wrapped in a
// *[NodeExecutionError]: errors.Is and errors.As find your own errors in it, as well as
// [SchemaValidationError], [TimeoutError] and [StopError]. In the journal, and therefore in the
// result of Run, an error consists of its message and a code.
//
// # Durability
//
// The result of a node is written to the run's journal before anything else depends on it, so a
// finished node never runs again. A node that was running when the process died runs again, with
// the same [Context].Key: pass that key to a service that must not do a thing twice. [Once]
// journals a part of a node's work, which is then not repeated either.
//
// Conditions, Until, prompts, mappers, reducers, OnError and RetryOn are called by the engine
// itself, and their results are recorded, so that a run that continues after a crash does not call
// them again. They must be pure, that is, depend only on their arguments. Functions of nodes may do
// anything.
//
// A run continues only with the version of the graph that started it. The version is a digest of
// nodes, edges and settings; functions have no digest, so a program that changes their behavior
// must change [Config].Version.
//
// # Contexts
//
// A function's context is done when its node lost a race, when its tool or its graph timed out, or
// when its run is cancelled or interrupted. The function should then return soon; results returned
// within 5 s of a cancellation are still recorded.
//
// # Agents and tools
//
// [AgentConfig] sends a message to a coding agent, [SubagentConfig] and [ParallelSubagentConfig]
// assign tasks to agents that the program knows by name, [CustomToolConfig] calls a tool that the
// program knows by name, and [ContextMonitorConfig] keeps a session's context window from filling
// up. They rely on a [Runtime]: that of the [Config], with nil fields provided by the engine, where
// options of hocket.Open set them.
//
// # Inside
//
// Calls of the [Builder] add nodes and edges and collect misuse. [Builder.Compile] reports all
// errors together, each with the file and line of the call, or else freezes nodes and edges, places
// each node in its branch, and builds the workflow and the functions that it names
// ([Compiled.Running]).
//
// Invariants: ids are unique; a compiled graph does not change when its builder is used further;
// generated nodes are named `<prefix>_<n>` from one counter.
//
// # Names
//
// The following table maps the names of the document that describes this kind of graph to their Go
// equivalents: building, nodes, types, and running, in package hocket. Names that Go programs do
// not need are in package compat.
//
//	graph<TState>(), GraphBuilder               New, Builder
//	start, then                                 Builder.Start, Builder.Then
//	if, IfConfig                                Builder.If, IfConfig, ElseIf
//	else, endif                                 Builder.Else, Builder.EndIf
//	parallel, ParallelConfig                    Builder.Parallel, ParallelConfig, Builder.Node
//	loop, LoopConfig                            Builder.Loop, LoopConfig
//	wait                                        Builder.Wait, Builder.Then
//	subagent, SubAgentConfig                    Builder.Subagent, SubagentConfig
//	tool, ToolBuilderConfig                     Builder.Tool, ToolConfig
//	catch, end                                  Builder.Catch, Builder.End
//	errorHandlerId                              Compiled.ErrorHandler
//	compile                                     Builder.Compile
//	getNode                                     compat.Node, Compiled.Definition
//	getEdgesFrom, getEdgesTo                    compat.EdgesFrom, compat.EdgesTo
//	createNode                                  NewNode, Do
//	createDecisionNode, createWaitNode          DecisionNode, compat.WaitNode
//	agentNode, AgentNodeConfig                  AgentConfig
//	buildMessage, sessionConfig                 AgentConfig.MessageFunc, AgentConfig.Session
//	toolNode, ToolNodeConfig                    ToolConfig
//	clearContextNode, ClearContextNodeConfig    ClearContextConfig
//	decisionNode, DecisionNodeConfig, DecisionRoute  DecisionNode, Route
//	waitNode, WaitNodeConfig                    WaitConfig
//	askUserNode, AskUserNodeConfig              AskUserConfig
//	AskUserOptions, AskUserOption               Question, Choice
//	parallelNode, ParallelNodeConfig            ParallelConfig
//	MergeStrategy, ParallelMergeStrategy        Strategy
//	subgraphNode, SubgraphNodeConfig            SubgraphConfig
//	CompiledSubgraph, RuntimeSubgraph           Subgraph
//	contextMonitorNode, ContextMonitorNodeConfig  ContextMonitorConfig
//	getSession, getContextUsage                 ContextMonitorConfig.Session, ContextMonitorConfig.Usage
//	customToolNode, CustomToolNodeConfig        CustomToolConfig
//	WorkflowToolContext, getToolRegistry        ToolContext, Runtime.Tools
//	subagentNode, SubagentNodeConfig, parallelSubagentNode  SubagentConfig, ParallelSubagentConfig, ParallelAgent
//	outputMapper                                ToolConfig.Output, AgentConfig.Output, SubgraphConfig.Output
//	merge, inputMapper                          ParallelConfig.Merge, WaitConfig.Input, SubgraphConfig.Input
//	getDefaultCompactionAction                  DefaultCompactionAction
//	toContextWindowUsage, isContextThresholdExceeded  compat.ToContextWindowUsage, compat.ContextThresholdExceeded
//	checkContextUsage, compactContext           compat.CheckContextUsage, compat.CompactContext
//	CodingAgentClient, createSession            Client, Client.CreateSession
//	Session, SessionConfig                      Session, SessionConfig
//	AgentMessage, ContextUsage                  AgentMessage, SessionUsage
//	SubagentSpawnOptions, SubagentResult        SpawnOptions, SubagentResult
//	spawn, spawnParallel                        SubagentBridge.Spawn, SubagentBridge.SpawnParallel
//	NodeId, ModelSpec                           none: strings
//	inherit                                     ModelInherit
//	NodeType, isNodeType                        NodeType, compat.IsNodeType
//	BaseState, isBaseState                      BaseState, compat.IsBaseState
//	ContextWindowUsage                          ContextWindowUsage
//	Signal, isSignal, SignalData                SignalType, compat.IsSignal, Signal
//	ExecutionError, RetryConfig                 ExecutionError, Retry
//	ErrorAction                                 ErrorAction
//	DebugReport, isDebugReport                  DebugReport, compat.IsDebugReport
//	NodeResult, isNodeResult                    Result, compat.IsNodeResult
//	stateUpdate, goto, signals                  Result.Update, Result.Goto, Result.Signals
//	ExecutionContext                            Context
//	abortSignal                                 none: the context.Context of each call
//	emit, getNodeOutput                         Context.Emit, Context.Output
//	NodeExecuteFn                               Func
//	NodeDefinition                              Node, Definition, NodeOptions
//	execute, type                               Definition.Func, NodeInfo.Type
//	onError, isRecoveryNode                     NodeOptions.OnError, NodeOptions.Recovery
//	inputSchema, outputSchema                   NodeOptions.InputSchema, NodeOptions.OutputSchema
//	GraphConfig                                 Config
//	GraphRuntimeDependencies                    Runtime
//	clientProvider                              Runtime.ClientProvider
//	workflowResolver                            Compiled.Link, Runtime.WorkflowResolver
//	subagentBridge, subagentRegistry            Runtime.Subagents, Runtime.Registry
//	getAll                                      SubagentRegistry.All
//	Edge                                        Edge
//	EdgeCondition, condition                    Compiled.Condition, Route.When, IfConfig.Condition
//	CompiledGraph, ErrorFeedback                Compiled, ErrorFeedback
//	nodes, edges, startNode, endNodes           Compiled.Nodes, Compiled.Edges, Compiled.Start, Compiled.Ends
//	config                                      Compiled.Config, Context.Config
//	StateValidator, fromGraphConfig             compat.StateValidator, compat.FromGraphConfig
//	SchemaValidationError, NodeExecutionError   SchemaValidationError, NodeExecutionError
//	zodError                                    SchemaValidationError.Problems
//	StateOf, StateUpdate                        none: type parameters, and whole copies of the state
//	BACKGROUND_COMPACTION_THRESHOLD             compat.BackgroundCompactionThreshold
//	BUFFER_EXHAUSTION_THRESHOLD                 compat.BufferExhaustionThreshold
//	backoffMs, backoffMultiplier                Retry.Backoff, Retry.Multiplier
//	fallbackState, nodeId                       ErrorAction.Fallback, ErrorAction.Node
//	DEFAULT_RETRY_CONFIG                        compat.DefaultRetry
//	AGENT_NODE_RETRY_CONFIG                     compat.AgentNodeRetry
//	DEFAULT_GRAPH_CONFIG                        compat.DefaultMaxConcurrency, compat.DefaultContextWindowThreshold
//	                                            compat.DefaultAutoCheckpoint
//	GraphExecutor, createExecutor               compat.Executor, compat.NewExecutor
//	execute, executeGraph                       compat.Executor.Run, hocket.Run
//	stream, streamGraph                         compat.Executor.Stream, hocket.Stream
//	ExecutionOptions                            hocket.RunOptions
//	executionId, initialState                   hocket.RunOptions.ID, hocket.RunOptions.Outputs
//	resumeFrom, maxSteps                        hocket.RunOptions.ResumeFrom, hocket.RunOptions.MaxSteps
//	workflowName                                hocket.RunOptions.WorkflowName
//	WorkflowTelemetryConfig, telemetry          hocket.Tracker, hocket.RunOptions.Telemetry
//	StepResult, ExecutionResult                 hocket.Step, hocket.Result
//	StreamRouter, routeStream                   compat.RouteStream
//	StreamEvent                                 compat.StreamEvent
//	ExecutionStatus, isExecutionStatus          hocket.Status, compat.IsExecutionStatus
//	ExecutionSnapshot                           hocket.Snapshot
//	ProgressEvent, onProgress                   hocket.Progress, hocket.RunOptions.OnProgress
//	Checkpointer                                compat.Checkpointer, hocket.RunOptions.Checkpointer
//	autoCheckpoint                              hocket.RunOptions.AutoCheckpoint
//	initializeExecutionState, mergeState        none: the state passed to hocket.Run, and fields with a Reducer
//	getNextNodes, saveCheckpoint                none: the engine does that
//	createSnapshot                              hocket.Result.Snapshot
//	resolveModel, executeWithRetry              none: see Context.Model, Retry
//
// Nodes outside the flow (branches, targets of gotos) are added with [Builder.Node], and branches
// that hold more than a chain with [Builder.Branch]; the document has no calls for that.
package graph
