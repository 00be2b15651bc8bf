// Package supervise is the supervisor of a program: a small process between Hocket and the program
// that ends all descendants of the program, even if Hocket itself was killed with SIGKILL. It works
// only on Linux. Package process starts supervisors and communicates with them.
//
// It does not copy what a program reads and writes (the program has the descriptors themselves),
// does not pass any of its own environment to the program, and does not import packages that are
// slow to initialize: a supervisor starts in an init function, before nearly all other packages of
// the executable (ADR 42).
//
// The flow of one program:
//
//  1. Package process executes the running executable again, with [Name] as its first argument, an
//     empty environment, its own session and one end of a socket pair.
//  2. The supervisor disables PR_SET_DUMPABLE, becomes a subreaper (PR_SET_CHILD_SUBREAPER), reads
//     the [Program] from the socket and starts it in its own process group.
//  3. It replies with the program's process id. Descendants that leave the group or the session
//     become its children when their parents end.
//  4. When the program ends, when Hocket requests it, and when the socket is closed because Hocket
//     ended, it kills its children until it has none, and only then reports the exit status and
//     ends.
//
// Limitations: a program has the same user as its supervisor and can kill it with SIGKILL. Its
// descendants then become children of Hocket, which kills them. A program that kills both escapes,
// and so does one that runs as another user (setuid) until it ends by itself.
package supervise
