// Package cli is the command line: verbs, flags, output for people, and exit statuses, as in the
// outer contract.
//
// It contains none of the engine's rules: everything goes through package service. It writes only
// to the streams passed to it, reads the environment only through Streams.Env, and never ends the
// process; [Main] returns the exit status.
package cli
