// Package compat has what the document that describes graphs (S2) names and Go programs do not need: executors, streams in modes, stores of states
// under labels, questions to the nodes and edges of a graph, guards over values of unknown type, a validator of states, checks of context windows, and constants.
//
// It refuses to run anything of its own: it calls packages graph and hocket, and runs do not need it. Stores of states are those of the engine, so that a program that imports this package links them
// and SQLite. Nothing here keeps state but the stores that a program makes, and all is safe for concurrent use.
package compat
