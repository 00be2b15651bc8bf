// Package process starts programs that speak with us over their standard streams, MCP servers and coding agents, and ends them with all their children.
//
// It refuses to give a program our environment ([Inherited] says what all get; the rest is named by whoever starts it), to run a shell, and to know what is
// spoken: of a program's output it knows only where messages of JSON begin and end ([Messages]).
//
// The flow: [Start], then write to Stdin and read Stdout, then [Process.Stop]: closed input, SIGTERM, SIGKILL; or [Process.Kill] at once.
//
// Invariants: when [Process.Gone] is closed, every process of its group was killed, and none of our goroutines is left (P11); once it is gone, nobody is signalled, since its
// number may be another's; what a program last said is kept for error messages, at most 1 KiB, and only a [Redactor] lets it out (SEC11).
package process
