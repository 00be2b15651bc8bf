// Package memory provides agents with a memory that outlasts runs: toolsets of type `memory`.
//
// It does not know where entries are stored: [Store] is the port, [Kept] keeps entries in memory,
// package memorydb keeps them in the tables of a store. Names are not paths: the option `path`
// names a memory and opens no file (SEC16).
//
// A toolset determines the space of each call (from the workflow, and the agent unless agents share
// it) and passes the call to the Store.
//
// Invariants: no call reaches a space other than its own; repeating a call with the same key adds
// nothing (P12); the size and number of entries and the size of results are limited (SEC17).
package memory
