// Package graph builds workflows of Go functions over one typed state. Package hocket runs them.
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
// It is a builder, a checker, and a compiler to package workflow with a table of functions. It refuses to run anything, to keep anything, and to know
// the engine.
//
// # State
//
// S is a struct of yours that survives JSON; Compile checks that. The run's input is the first state. Each node gets a copy and gives the changed copy
// back ([Result].Update; with [Do] it changes the copy in place). What is written are the top-level fields that differ, each as a whole.
//
// Beside the state stand the outputs of nodes, by node id: what [Result].Output and tools give, and people's answers. [Context.Output] and [OutputAs]
// read them. What the graph keeps itself (the execution id, which is the run's id, outputs, counters of loops, flags of open questions) is in the
// [Context] and in [BaseState], so S cannot have fields of those names (S2-75).
//
// # Nodes
//
// [Do] makes a node of a function that changes the state, [Tool] one of a function with arguments and a result, [Ask] asks a person, [Inner] runs another graph. [Await] waits for a signal.
// [Loop], [If], [Parallel], [Race], [Any], [Quorum], [Map], [Flow] and [Body] are nodes made of nodes, which nest at will. [NewNode] makes one of a [Func], which sees the whole Context and may give an output, choose
// what follows ([Result].Goto), raise signals and send events. All others are structs, whose ID is required and whose other fields are useful when empty:
// [ToolConfig], [CustomToolConfig], [WaitConfig], [AskUserConfig], [ParallelConfig], [SubgraphConfig], [AgentConfig], [SubagentConfig],
// [ParallelSubagentConfig], [ContextMonitorConfig], [ClearContextConfig], [MapConfig], [AwaitConfig], [SleepConfig]. What every node may have is in [NodeOptions]. A limit of 0
// is the default; [Zero] is none at all. Go cannot infer S for structs; an alias helps: type loop = graph.LoopConfig[State].
//
// # The flow
//
// [Builder.Start] and [Builder.Then] add nodes one behind the other. [Builder.Node] adds nodes beside the flow: branches, targets of gotos, recovery nodes.
//
// Branches: [Builder.If], Else and EndIf, or an [IfConfig] with else-ifs at once; [DecisionNode] chooses among several targets. Both ways of an if meet
// in one node, and a way without nodes leads there at once.
//
// Loops: [Builder.Loop] runs its body, then asks Until, 100 times at most unless MaxIterations says otherwise.
//
// Parallel blocks: [Builder.Parallel] runs branches together and waits for all of them, for the first that settles, or for the first that succeeds
// ([Strategy]); what is not waited for is cancelled. Branches see the state as it was at their start, with their own changes, and not each other. Where two
// change the same field, its [Reducer] ([Config].Reducers: [Append], [Sum], [MergeMap], [Last], or your own by [Reduce]) merges the changes in declared order;
// without one the run fails with an error that names both nodes and the field (P7). What follows a loop or a block runs once (S2-9, S2-22).
//
// Lists: [Map] runs a body for each item of a list, with a state of its own for each, and gives their last states in order.
//
// Waits: [Builder.Wait], or Then with a WaitConfig or an AskUserConfig, asks a person. The run pauses, its process may end, and the answer, which may come
// months later, is in the outputs and, by WaitConfig.Input, in the state.
//
// Inner graphs: [SubgraphConfig] runs a graph with a state of its own as one node. Its steps belong to the run: a question inside pauses it, and what
// finished inside does not run again (P3). A graph can be given, or named and found by [Compiled.Link] before the run begins; none can contain itself.
//
// # Errors and retries
//
// An error or a panic of a function is a failed attempt. A node that calls a function has three attempts, with 1 s and 2 s between them, unless
// [NodeOptions].Retry says otherwise; the next attempt finds the failure in [Context].Feedback. NodeOptions.OnError decides first: retry, skip, abort, or
// go on at a recovery node ([ErrorAction]). What nothing handled gets to the node of [Builder.Catch]; after it the run fails with the first error, unless
// that node goes on with a goto.
//
// OnError and RetryOn get the error that the function returned, within a *[NodeExecutionError]: errors.Is and errors.As find your own errors in it, and
// [SchemaValidationError], [TimeoutError] and [StopError]. In the journal, and so in what Run gives, an error is its text and a code.
//
// # Durability
//
// What a node gave is in the run's journal before anything follows from it, so a node that ended never runs again. One that was at work when the process
// died does, with the same [Context].Key: give that key to a service that must not do a thing twice. [Once] journals a part of a node's work, which then is not
// repeated either.
//
// Conditions, Until, prompts, mappers, reducers, OnError and RetryOn are called by the engine itself, and what they gave is recorded, so that a run that
// goes on after a crash does not ask again (D4). They must be pure: depend on what they are given alone. Functions of nodes may do anything.
//
// A run goes on only with the version of the graph that began it (P9). The version is a digest of nodes, edges and settings; functions have none, so a program that
// changes what they do raises [Config].Version (D29).
//
// # Contexts
//
// A function's context is done when its node lost a race, its tool's or its graph's time is over, or its run is cancelled or interrupted. It should
// return soon; what it gives within 5 s of a cancellation is still recorded.
//
// # Agents and tools
//
// [AgentConfig] sends a message to a coding agent, [SubagentConfig] and [ParallelSubagentConfig] give tasks to agents that the program knows by name,
// [CustomToolConfig] calls a tool that it knows by name, [ContextMonitorConfig] keeps a session's context window from filling up. What they need is a
// [Runtime]: that of the [Config], and for what is nil there that of the engine, where options of hocket.Open put it.
//
// # Inside
//
// The flow: calls of the [Builder] add nodes and edges and collect misuse; [Builder.Compile] tells all misuse at once, each with the file and line of
// the call, else freezes nodes and edges, places each node in its branch, and makes the workflow and the functions that it names ([Running]).
//
// Invariants: ids are unique; a compiled graph does not change when its builder is used further (S2-77); generated nodes are named
// `<prefix>_<n>` from one counter (S2-2).
//
// # Names
//
// Names of the document that describes this kind of graph, and theirs in Go (S2-76): building, nodes, types, and running, in package hocket. What Go programs do not need is in package compat.
//
//	graph<TState>(), GraphBuilder               New, Builder
//	start, then                                 Builder.Start, Builder.Then
//	if, IfConfig                                Builder.If, IfConfig, ElseIf
//	else, endif                                 Builder.Else, Builder.EndIf
//	parallel, ParallelConfig                    Builder.Parallel, ParallelConfig, Builder.Node
//	loop, LoopConfig                            Builder.Loop, LoopConfig
//	wait                                        Builder.Wait, AskUserConfig
//	subagent, SubAgentConfig                    Builder.Subagent, SubagentConfig
//	tool, ToolBuilderConfig                     Builder.Tool, ToolConfig
//	catch, end                                  Builder.Catch, Builder.End
//	compile                                     Builder.Compile
//	getNode                                     compat.Node
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
//	outputMapper, merge, inputMapper            the fields Output or Merge and Input
//	getDefaultCompactionAction                  DefaultCompactionAction
//	toContextWindowUsage, isContextThresholdExceeded  compat.ToContextWindowUsage, compat.ContextThresholdExceeded
//	checkContextUsage, compactContext           compat.CheckContextUsage, compat.CompactContext
//	CodingAgentClient, createSession            Client, Client.CreateSession
//	Session, SessionConfig                      Session, SessionConfig
//	AgentMessage, ContextUsage                  AgentMessage, SessionUsage
//	SubagentSpawnOptions, SubagentResult        SpawnOptions, SubagentResult
//	spawn, spawnParallel                        SubagentBridge.Spawn, SubagentBridge.SpawnParallel
//	NodeId, ModelSpec, "inherit"                string, string, ModelInherit
//	NodeType, isNodeType                        NodeType, compat.IsNodeType
//	BaseState, isBaseState                      BaseState, compat.IsBaseState
//	ContextWindowUsage                          ContextWindowUsage
//	Signal, isSignal, SignalData                SignalType, compat.IsSignal, Signal
//	ExecutionError, RetryConfig                 ExecutionError, Retry
//	ErrorAction                                 ErrorAction
//	DebugReport, isDebugReport                  DebugReport, compat.IsDebugReport
//	NodeResult, isNodeResult                    Result, compat.IsNodeResult
//	stateUpdate, goto, signals                  Result.Update, Result.Goto, Result.Signals
//	ExecutionContext, abortSignal               Context, context.Context
//	emit, getNodeOutput                         Context.Emit, Context.Output
//	NodeExecuteFn                               Func
//	NodeDefinition                              Node, NodeOptions
//	onError, isRecoveryNode                     NodeOptions.OnError, NodeOptions.Recovery
//	inputSchema, outputSchema                   NodeOptions.InputSchema, NodeOptions.OutputSchema
//	GraphConfig                                 Config
//	GraphRuntimeDependencies                    Runtime
//	clientProvider                              Runtime.ClientProvider
//	workflowResolver                            Compiled.Link, Runtime.WorkflowResolver
//	subagentBridge, subagentRegistry            Runtime.Subagents, Runtime.Registry
//	EdgeCondition, Edge                         func(View) bool, Edge
//	CompiledGraph, ErrorFeedback                Compiled, ErrorFeedback
//	StateValidator, fromGraphConfig             compat.StateValidator, compat.FromGraphConfig
//	SchemaValidationError, zodError, NodeExecutionError  SchemaValidationError, NodeExecutionError
//	StateOf, StateUpdate                        none: type parameters, and whole copies of the state
//	BACKGROUND_COMPACTION_THRESHOLD, BUFFER_EXHAUSTION_THRESHOLD  compat.BackgroundCompactionThreshold, compat.BufferExhaustionThreshold
//	DEFAULT_RETRY_CONFIG                        compat.DefaultRetry
//	AGENT_NODE_RETRY_CONFIG                     compat.AgentNodeRetry
//	DEFAULT_GRAPH_CONFIG                        compat.DefaultMaxConcurrency, compat.DefaultContextWindowThreshold, compat.DefaultAutoCheckpoint
//	GraphExecutor, createExecutor               compat.Executor, compat.NewExecutor
//	execute, executeGraph                       compat.Executor.Run, hocket.Run
//	stream, streamGraph                         compat.Executor.Stream, hocket.Stream
//	ExecutionOptions                            hocket.RunOptions
//	resumeFrom, maxSteps, workflowName          hocket.RunOptions.ResumeFrom, hocket.RunOptions.MaxSteps, hocket.RunOptions.WorkflowName
//	WorkflowTelemetryConfig                     hocket.Tracker
//	StepResult, ExecutionResult                 hocket.Step, hocket.Result
//	StreamRouter, routeStream                   compat.RouteStream
//	StreamEvent                                 compat.StreamEvent
//	ExecutionStatus, isExecutionStatus          hocket.Status, compat.IsExecutionStatus
//	ExecutionSnapshot                           hocket.Snapshot
//	ProgressEvent, onProgress                   hocket.Progress, hocket.RunOptions.OnProgress
//	Checkpointer, autoCheckpoint                compat.Checkpointer, hocket.RunOptions.Checkpointer, hocket.RunOptions.AutoCheckpoint
//	initializeExecutionState, mergeState        the state given to hocket.Run, Reducer
//	getNextNodes, saveCheckpoint                none: the engine does that
//	createSnapshot                              hocket.Result.Snapshot
//	resolveModel, executeWithRetry              none: see Context.Model, Retry
//
// Nodes beside the flow (branches, targets of gotos) are added with [Builder.Node], branches that hold more than a chain with [Builder.Branch];
// the document has no calls for that (S2-8).
package graph
