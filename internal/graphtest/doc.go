// Package graphtest provides the fakes that graph tests share: coding agents ([Agent]), sub-agents
// ([Team]) and tools ([Tools]) that record the requests they receive.
//
// It depends only on package graph and may be imported only by tests.
package graphtest
