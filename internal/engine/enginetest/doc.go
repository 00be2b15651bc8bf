// Package enginetest drives the engine without a driver: a [World] executes commands from a script,
// in any order, and checks after every activation that the engine's laws hold. It also contains
// random workflows and the slow twin with which they are compared.
//
// It must not be used outside of tests.
package enginetest
