// Package graph builds workflows of Go functions over one typed state.
//
//	g, err := graph.New[State]("review").
//		Start(graph.Do("draft", draft)).
//		Loop(graph.LoopConfig[State]{Until: approved}, graph.Do("review", review), graph.Do("fix", fix)).
//		Then(graph.Do("publish", publish)).
//		Compile()
//
// It is a builder, a checker, and a compiler to package workflow with a table of functions. It refuses to run anything, to keep anything, and to know
// the engine: running a [Compiled] graph is the business of whoever takes its Workflow and its Program.
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
// Purity. Conditions, Until, prompts, mappers, reducers, OnError and RetryOn are called by the engine itself, and what they gave is recorded, so that
// a run that goes on after a crash does not ask again (D4). They must depend on what they are given alone. Functions of nodes may do anything; they are
// called again after a failure or a crash, with the same [Context.Key]; what they do in a [Once] is not done again.
//
// Invariants: ids are unique; a compiled graph does not change when its builder is used further (S2-77); generated nodes are named
// `<prefix>_<n>` from one counter (S2-2); what follows a loop or a parallel block runs once (S2-9, S2-22).
//
// Names of the seed document and theirs in Go (S2-76):
//
//	graph<TState>()           New
//	createNode                NewNode, Do
//	createDecisionNode        DecisionNode        decisionNode     DecisionNode
//	createWaitNode            WaitNode            waitNode         WaitConfig
//	toolNode                  ToolConfig          askUserNode      AskUserConfig
//	parallelNode              ParallelConfig      clearContextNode ClearContextConfig
//	subgraphNode              SubgraphConfig      workflowResolver Compiled.Link, Runtime.WorkflowResolver
//	start, then, if, else     Start, Then, If, Else
//	if(config), endif, loop   IfConfig, EndIf, Loop
//	parallel, wait, tool      Parallel, Wait, Tool
//	catch, end, compile       Catch, End, Compile
//	getNode                   Builder.Find, Compiled.Node
//	getEdgesFrom, getEdgesTo  EdgesFrom, EdgesTo
//	NodeResult                Result              ExecutionContext Context
//	stateUpdate, goto         Result.Update, Goto RetryConfig      Retry
//	ErrorAction, onError      ErrorAction, NodeOptions.OnError
//	isRecoveryNode            NodeOptions.Recovery
//	GraphConfig               Config              CompiledGraph    Compiled
//	isNodeType, isSignal      IsNodeType, IsSignal
//	isBaseState, isNodeResult IsBaseState, IsNodeResult
//	isDebugReport             IsDebugReport       StateValidator   StateValidator, FromGraphConfig
//	BaseState                 BaseState           emit             Context.Emit
//	ErrorFeedback             ErrorFeedback       ExecutionError   ExecutionError
//
// Nodes that stand beside the flow (branches, targets of gotos) are added with [Builder.Node], for which the document has no call (S2-8).
package graph
