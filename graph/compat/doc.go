// Package compat has what the document that describes graphs (S2) names and Go programs do not need: executors, streams in modes, stores of states
// under labels, questions to the nodes and edges of a graph, guards over values of unknown type, a validator of states, checks of context windows, and constants.
//
// It refuses to run anything of its own: all of it is a few lines over packages graph and hocket, and runs do not need it. Nothing here keeps state but the stores that a program makes, and all is safe
// for concurrent use.
package compat
