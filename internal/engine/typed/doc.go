// Package typed holds the typed states of Go graphs: fields by name, each with a JSON value,
// immutable and shared.
//
// A value that gained a tail shares its bytes with the value before it: a list to which n elements
// were added one by one takes only the memory of the final list and linear time. A change is an
// [Edit], which journals store instead of the whole value.
//
// The package knows no Go types, checks no schemas and does no I/O. It has no locks: any goroutine
// may read a state, but only one goroutine at a time may derive states from one another.
//
// Besides its fields, a state may have a native form, created by the program that works on it,
// which adds no information ([State.WithNative]). Nothing here depends on it.
//
// The flow: [Between] compares two values and returns the edit between them if that is much shorter
// than the value. [Value.Edited] applies it to the same base and returns the same bytes.
// [State.With] returns a state with changed fields.
//
// Invariants: the bytes of a returned value never change; an edit identifies the value that it
// applies to by its writer and its size, and is rejected for other values.
package typed
