// Package think gives agents a scratchpad: a tool that takes a thought and answers with the thoughts so far.
//
// It refuses to have any effect. Its state is the list of thoughts, a function of the former calls, so it survives a restart by
// [tool.Restorer]. Each agent has its own list unless the toolset is shared.
package think
