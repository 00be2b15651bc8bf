// Package supervise is the supervisor of a program: a small process between Hocket and the program that ends all descendants of the program, also when Hocket itself was
// killed with SIGKILL. It works on Linux. Package process starts supervisors and speaks with them.
//
// It refuses to copy what a program reads and writes (the program has the descriptors themselves), to give the program anything of its own environment, and to import packages
// that are slow to initialize: a supervisor begins in an init function, before nearly all other packages of the executable (ADR 42).
//
// The flow of one program:
//
//  1. Package process executes the running executable again, with [Name] as its first argument, an empty environment, a session of its own and one end of a socket pair.
//  2. The supervisor turns PR_SET_DUMPABLE off, becomes a subreaper (PR_SET_CHILD_SUBREAPER), reads the [Program] from the socket and starts it in a process group of its own.
//  3. It answers with the program's process id. Descendants that leave the group or the session become its children when their parents end.
//  4. When the program ends, when Hocket asks for it, and when the socket is closed because Hocket ended, it kills its children until it has none,
//     and only then reports the exit status and ends.
//
// Limits: a program has the same user as its supervisor and can kill it with SIGKILL. Its descendants then become children of Hocket, which kills them. A program that kills both
// escapes, and so does one that runs as another user (setuid) until it ends by itself.
package supervise
