// Package compat implements those parts of the document describing graphs that Go programs do not
// need: executors, streams in modes, checkpoint stores, queries for the nodes and edges of a graph,
// type guards for values of unknown type, a state validator, checks of context windows, and
// constants.
//
// The package runs nothing by itself: it calls packages graph and hocket, and runs do not need it.
// Checkpoint stores are those of the engine, so a program that imports this package links them and
// SQLite. Only the stores that a program creates keep state, and everything is safe for concurrent
// use.
package compat
