// Package process starts programs, including those that communicate with us over their standard
// streams (MCP servers and coding agents), and ends them with all their descendants.
//
// It does not pass our environment to a program ([Inherited] lists what all programs get; the
// caller specifies the rest), does not run a shell, and does not know the protocol: of a program's
// output it knows only where JSON messages start and end ([Messages]).
//
// The flow: [Run] for a program that is run to its end; for a program to communicate with, [Start],
// then write to Stdin and read Stdout, then [Process.Stop]: closed input, SIGTERM, SIGKILL; or
// [Process.Kill] immediately.
//
// On Linux each program has a supervisor (package supervise). The supervisor is this executable,
// started again; programs that embed Hocket need to do nothing for it. If the executable cannot be
// started again, as in a shared library, and on other systems, programs have process groups, and a
// descendant that leaves its group may outlive them. [Protect] is for programs whose children are
// all started by this package.
//
// Invariants: when [Process.Gone] is closed or [Run] returns, all descendants have ended, and none
// of our goroutines is left (P11); no program is started while the supervisors of an ended Hocket
// process are still killing its programs, so that a repeated call never runs concurrently with its
// first attempt; once a process is gone, its process id is not used, since it may belong to another
// process; at most the last 1 KiB of a process's output is kept for error messages, and is exposed
// only through a [Redactor] (SEC11).
package process
