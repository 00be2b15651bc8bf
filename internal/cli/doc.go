// Package cli is the command line: verbs, flags, what people see, and exit statuses, as in the outer contract.
//
// It refuses to know the engine's rules: everything goes through package service. It writes only to the streams that it is given, reads the
// environment only through Streams.Env, and never ends the process; [Main] gives the exit status.
package cli
