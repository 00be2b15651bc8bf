// Package tooltest provides helpers shared by the tests of tools and of their callers: tools made
// from a function, a toolset whose list can be changed while it is in use, and [Conform], which
// checks the rules that every toolset must follow.
//
// It must not be imported outside of tests.
package tooltest
