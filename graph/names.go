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
