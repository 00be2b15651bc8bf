// Package think provides agents with a scratchpad: a tool that accepts a thought and returns the
// thoughts so far.
//
// It has no side effects. Its state is the list of thoughts, a function of the earlier calls, so it
// survives a restart through [tool.Restorer]. Each agent has its own list unless the toolset is
// shared.
package think
