// Package typed holds the typed states of Go graphs: fields by name, each with a JSON value, immutable and shared.
//
// A value that gained a tail shares its bytes with the value before it: a list to which n elements were added one by one takes the memory of the last list, and
// as much time. What changed is an [Edit], which is what journals store in the place of the whole value.
//
// It refuses to know Go types, to check schemas and to do I/O. It has no locks: a state may be read by any goroutine, but states are made of one another by
// one goroutine at a time.
//
// A state may have a native form beside its fields, which the program that works on it made and which says nothing more ([State.WithNative]). Nothing here depends on it.
//
// The flow: [Between] compares two values and gives the edit between them where that is much shorter than the value. [Value.Edited] applies it to the same
// base, and gives the same bytes. [State.With] gives a state with changed fields.
//
// Invariants: no byte of a value that was given out changes; an edit names the value that it applies to by its writer and its size, and is refused by others.
package typed
