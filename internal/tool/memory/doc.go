// Package memory gives agents a memory that lasts over runs: toolsets of type `memory`.
//
// It refuses to know where entries are kept: [Store] is the port, [Kept] keeps them in memory, package sqlite below in the store's file. Names are not
// paths: the option `path` names a memory and opens no file (SEC16).
//
// The flow: a toolset works out the space of each call (of the workflow, and of the agent unless agents share it) and hands the call to the Store.
//
// Invariants: no call reaches another space than its own; a call that is made again for the same key adds nothing (P12); entries, their number and answers
// are bounded (SEC17).
package memory
