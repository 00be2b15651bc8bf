// Package process starts programs, those that speak with us over their standard streams (MCP servers and coding agents) among them, and ends them with all their descendants.
//
// It refuses to give a program our environment ([Inherited] says what all get; the rest is named by the caller), to run a shell, and to know what is
// spoken: of a program's output it knows only where messages of JSON begin and end ([Messages]).
//
// The flow: [Run] for a program that is run to its end; for one that is spoken with, [Start], then write to Stdin and read Stdout, then [Process.Stop]: closed input, SIGTERM, SIGKILL; or [Process.Kill] at once.
//
// On Linux each program has a supervisor (package supervise). It is this executable, started again; programs that embed Hocket need to do nothing for it. Where the executable cannot be started again, as in a
// shared library, and on other systems, programs have process groups, and what leaves its group may outlive them. [Protect] is for programs whose children are all started here.
//
// Invariants: when [Process.Gone] is closed or [Run] returns, all descendants have ended, and none of our goroutines is left (P11); no program is started while the supervisors of a Hocket process
// that has ended still kill its programs, so that a call that is repeated never runs beside its first try; once a process is gone, its number is not used, since it may be another's; what a program last said is kept for error messages, at most 1 KiB, and only a [Redactor] lets it out (SEC11).
package process
