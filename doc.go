// Package hocket runs agent workflows inside Go programs: graphs of Go functions with a typed state, which package graph builds, and documents in YAML
// and JSON. Whatever happens is in a journal before it is acted upon, so a run survives its process.
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
// It refuses to be a server, and to bring along what a program does not ask for: no command line, no HTTP API, no SDK of a model provider, and neither
// formats of documents nor CEL nor MCP.
//
// # Engine
//
// An [Engine] is a store with whatever drives runs on it; [Open] makes one, in memory or on a SQLite file that several processes may share. Options add
// what the program has of its own: [WithTool], [WithModel], [WithAgent], [WithSessions], [WithLLMSessions]. What a program links only
// where it imports its package comes by an option of that package: documents.All, provider.All, toolsets.All, postgres.Open, temporal.Carry.
//
// Functions that take a graph are functions of this package, since methods have no type parameters. What
// needs no state type is a method: [Engine.Answer], [Engine.Cancel], [Engine.Events], [Engine.Fork], [Engine.Get], [Engine.List], [Engine.Wait],
// [Engine.Watch].
//
// # Running a graph
//
// [Run] runs a graph until it has ended or waits for a person. [Stream] gives each [Step] when its node has settled, and StreamModes of package graph/compat the same as values,
// updates, events or debug traces. [RunOptions] name the run and say who observes it: OnProgress, Telemetry (package oteltrack), a [Checkpointer]. With
// RunOptions.Attach a call takes the run of its id where there is one.
//
// [Resume] and [ResumeStream] go on with a run: with an [Answer] where it waits, without one where it was interrupted. They, and Run with
// RunOptions.ResumeFrom, go on where the run stopped: nodes that ended do not run again. A run goes on only with the version of the graph that began
// it, else the error is a *[VersionError]: a program keeps the old graph beside the new one, and goes on with old runs by that.
//
// [Engine.Resume] and [Engine.Answer] do not wait for what follows, and need the run's graph among those of [Register]; [Engine.Wait] follows a run. A
// program that restarts registers its graphs and then calls [Engine.Recover], which takes up what a former process left at work.
//
// Register also takes a [Schedule] or several: [Engine.Work] starts their runs, [Engine.Schedules] and [Engine.ControlSchedule] show, pause, resume, skip and run them.
//
// A run's id is called execution id in the document that graphs come from: ExecutionID here and in package graph is the id of the run.
//
// # Snapshots, checkpoints, forks
//
// A [Snapshot] is everything about a run, as a value that survives JSON: [Result] has it, [SnapshotOf] makes it. With it a run goes on on another store.
// A Checkpointer keeps states under labels, after each node, to be looked at (LoadState of package graph/compat) or to begin another run with. [Engine.Fork] makes a new run of
// the past of another, up to the Seq of a step.
//
// # Documents
//
// [Engine.Load] reads a document of any format, where the engine was opened with documents.All(); [Engine.Run] runs it, [Engine.Start] runs it and does not wait. Its agents use tools and models of the
// program by name. [Replies] answers model calls in tests.
//
// # Tools, models, agents
//
// WithTool makes a Go function a tool, with the schema derived from its arguments. Agents of documents call it, and so do nodes of graphs
// (graph.CustomToolConfig). WithModel makes a Go value a model provider, which agents name as name/model. WithAgent gives an agent that documents may
// name and that graph.SubagentConfig runs, as a durable run of its own under the run that asked.
//
// Agent nodes of graphs talk to sessions ([graph.AgentConfig]). Where the engine has models, the agent type [AgentLLM] is there without more: a model
// with the tools that the node names. [WithLLMSessions] makes types of other models and prompts; [WithSessions] takes a client of package acp, which drives
// coding agents such as Claude Code as subprocesses, or one of the program's own. No program is started that no option names (SEC5).
//
// # Contexts
//
// A context that is done, and a loop over a stream that is left, interrupt the run: the functions that run see their contexts done, what they give all
// the same is recorded, and the run can be resumed. In memory, where nothing could resume it, it is cancelled. [Engine.Cancel] cancels (D22).
// [Engine.Start], [Engine.Resume] and [Engine.Answer] only begin something: what they began does not end with their context.
//
// # Errors
//
// An error of a function of this package says what could not be done: sentinels for errors.Is ([ErrNotFound], [ErrExists], [ErrEnded], [ErrPaused],
// [ErrAnswer], [ErrBusy], [ErrVersion], [ErrInterrupted], [ErrConflict], [ErrNotRegistered], [ErrClosed]), types for errors.As where there is more to read.
// How a run ended is no such error: Result.Err and RunInfo.Err hold a *[RunError], which is made of the journal, in this process as in any other. It has the
// text of a function's error, and not the error itself.
//
//	res, err := hocket.Run(ctx, eng, g, state)
//	switch {
//	case errors.Is(err, hocket.ErrInterrupted): // ctx was done; Resume goes on
//	case err != nil: // it could not be run
//	case res.Status == hocket.StatusPaused: // res.Snapshot.Waiting tells what is asked
//	case res.Err != nil: // it failed or was cancelled; res.Snapshot.Errors has every failed attempt
//	}
package hocket
