// Package cli is the command line: verbs, flags, output for people, and exit statuses.
//
// It contains none of the engine's rules: runs go through package service, or through a client of a
// server. It writes only to the streams passed to it, reads the environment only through
// Streams.Env, except for what protects the process before it has streams, and never ends the
// process; [Main] returns the exit status.
package cli
