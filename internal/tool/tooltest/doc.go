// Package tooltest holds what tests of tools and of their callers share: tools made of a function, a toolset whose list can be changed while it
// is in use, and [Conform], the rules that every toolset must keep.
//
// It refuses to be imported outside of tests.
package tooltest
