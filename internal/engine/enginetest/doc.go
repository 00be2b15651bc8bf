// Package enginetest drives the engine without a driver: a [World] carries out commands by a script, in any order, and checks after every activation
// that the engine's laws hold. It also holds random workflows and the slow twin against which they are compared.
//
// It refuses to be used outside of tests.
package enginetest
