// Package graphtest has the fakes that tests of graphs share: coding agents ([Agent]), sub-agents ([Team]) and tools ([Tools]) that record what they are asked.
//
// It knows package graph alone and refuses to be imported outside of tests.
package graphtest
