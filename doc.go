// Package hocket runs agent workflows inside Go programs: graphs of Go functions with a typed
// state, which package graph builds, and documents in YAML and JSON. Every event is written to a
// journal before it is acted upon, so a run survives its process.
//
//	g, err := graph.New[State]("article").
//		Start(graph.Do("draft", func(ctx context.Context, s *State) error {
//			s.Text = "About " + s.Topic
//			return nil
//		})).
//		Wait("Publish it?").
//		Then(graph.Do("publish", publish)).
//		Compile()
//	...
//	eng, err := hocket.Open(ctx, hocket.Config{DB: "app.db"})
//	...
//	defer eng.Close()
//	res, err := hocket.Run(ctx, eng, g, State{Topic: "tides"}, hocket.RunOptions{ID: "article-1"})
//	// res.Status is StatusPaused. Later, in this process or another one:
//	res, err = hocket.Resume(ctx, eng, g, "article-1", hocket.Answer{Value: "yes"})
//
// The package is not a server, and links nothing that a program does not ask for: no command line,
// HTTP API or SDK of a model provider, and no document formats, CEL or MCP.
//
// # Engine
//
// An [Engine] is a store together with a driver that executes runs on it. [Open] returns one, in
// memory or on a SQLite file that several processes may share. Options add the program's own parts:
// [WithTool], [WithModel], [WithAgent], [WithSessions], [WithLLMSessions]. Optional dependencies
// are linked only if the program imports their package, which provides the option: documents.All,
// provider.All, toolsets.All, postgres.Open, temporal.Carry.
//
// Operations that take a graph are functions of this package, since methods have no type
// parameters. Operations that need no state type are methods: [Engine.Answer], [Engine.Cancel],
// [Engine.Events], [Engine.Fork], [Engine.Get], [Engine.List], [Engine.Wait], [Engine.Watch].
//
// # Running a graph
//
// [Run] runs a graph until it has ended or waits for a person. [Stream] yields each [Step] when its
// node has settled; StreamModes of package graph/compat presents the same as values, updates,
// events or debug traces. [RunOptions] sets the run's id and its observers: OnProgress, Telemetry
// (package oteltrack), a [Checkpointer]. With RunOptions.Attach a call attaches to the existing run
// with that id, if there is one.
//
// [Resume] and [ResumeStream] continue a run: with an [Answer] if it waits, without one if it was
// interrupted. They, and Run with RunOptions.ResumeFrom, continue where the run stopped: finished
// nodes do not run again. A run continues only with the version of the graph that started it;
// otherwise the error is a *[VersionError]. A program therefore keeps the old graph next to the new
// one, and continues old runs with it.
//
// [Engine.Resume] and [Engine.Answer] do not wait for the rest of the run, and require its graph to
// be registered with [Register]; [Engine.Wait] follows a run. After a restart, a program registers
// its graphs and then calls [Engine.Recover], which resumes the runs that a previous process left
// unfinished.
//
// Register also accepts one or more [Schedule] values: [Engine.Work] starts their runs,
// [Engine.Schedules] and [Engine.ControlSchedule] show, pause, resume, skip and run them.
//
// In the document on which graphs are modeled, a run's id is called execution id: ExecutionID here
// and in package graph is the id of the run.
//
// # Snapshots, checkpoints, forks
//
// A [Snapshot] is the complete record of a run, as a value that survives JSON: [Result] contains
// it, and [SnapshotOf] returns it. With a snapshot a run can continue on another store. A
// Checkpointer saves states under labels, after each node, for inspection (LoadState of package
// graph/compat) or as the initial state of another run. [Engine.Fork] creates a new run from the
// history of another, up to the Seq of a step.
//
// # Documents
//
// [Engine.Load] reads a document of any format, if the engine was opened with documents.All();
// [Engine.Run] runs it, and [Engine.Start] runs it without waiting. Its agents refer to tools and
// models of the program by name. [Replies] answers model calls in tests.
//
// [Engine.StepContext] returns what the steps of a run read from each other.
//
// The document that describes steps has these names in Go:
//
//	Config, Config.Workflow                     Workflow, Engine.Load
//	Step                                        none: steps exist only in documents
//	StepContext, Snapshot                       StepContext, StepContext.Snapshot
//	NewLocalExecutor                            Open
//	Executor, Executor.Run                      Engine, Engine.Run, Engine.StepContext
//	RunStream, events                           Engine.Watch
//	SetCurrentAgent, runnerMu                   none: agents share nothing that would need a lock
//	buildPriorContext                           none: the engine adds the block to each prompt
//	Session, sess                               StartOptions.Input
//	SQLiteSessionStore                          Config.DB
//	AddMessage, UpdateMessage                   none: every message is an event of the journal
//
// # Tools, models, agents
//
// WithTool turns a Go function into a tool, with a schema derived from its arguments. Agents of
// documents can call it, and so can nodes of graphs (graph.CustomToolConfig). WithModel turns a Go
// value into a model provider, which agents refer to as name/model. WithAgent defines an agent that
// documents may name and that graph.SubagentConfig runs, as a durable child run.
//
// Agent nodes of graphs talk to sessions ([graph.AgentConfig]). If the engine has models, the agent
// type [AgentLLM] is built in: a model with the tools that the node names. [WithLLMSessions]
// defines agent types with other models and prompts; [WithSessions] accepts a client of package
// acp, which drives coding agents such as Claude Code as subprocesses, or a client of your own. No
// program is started unless an option names it.
//
// # Contexts
//
// If a context is done, or the loop over a stream exits early, the run is interrupted: the contexts
// of running functions are cancelled, results that they still return are recorded, and the run can
// be resumed. A run in memory cannot be resumed, so it is cancelled instead. [Engine.Cancel]
// cancels. [Engine.Start], [Engine.Resume] and [Engine.Answer] only start work; it does not end
// with their context.
//
// # Errors
//
// An error returned by a function of this package says what could not be done: there are sentinels
// for errors.Is ([ErrNotFound], [ErrExists], [ErrEnded], [ErrPaused], [ErrAnswer], [ErrBusy],
// [ErrVersion], [ErrInterrupted], [ErrConflict], [ErrNotRegistered], [ErrClosed]), and types for
// errors.As for errors with details. The outcome of a run is not such an error: Result.Err and
// RunInfo.Err hold a *[RunError], which is derived from the journal, in this process as in any
// other. It has the message of a function's error, but not the error value itself.
//
//	res, err := hocket.Run(ctx, eng, g, state)
//	switch {
//	case errors.Is(err, hocket.ErrInterrupted): // ctx was done; Resume continues the run
//	case err != nil: // it could not be run
//	case res.Status == hocket.StatusPaused: // res.Snapshot.Waiting has the questions
//	case res.Err != nil: // it failed or was cancelled; res.Snapshot.Errors has every failed attempt
//	}
package hocket
