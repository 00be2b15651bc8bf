// Package text provides the single type for texts that are composed of other texts: immutable ropes
// that share their prefixes.
//
// The prompt of a step repeats the outputs of the steps before it. As a string, each prompt is a
// copy of all of them; as a [Text], it is the previous prompt and what was added. Its length is
// known without its bytes ([Text.Len]), and the bytes are written when they are needed
// ([Text.WriteTo]).
//
// A part of a text may be [Stored]: its bytes are held by something else and loaded when an
// operation needs them (ADR 75).
//
// The package imports nothing from Hocket, does no I/O of its own and keeps no state between calls
// except the hash states inside texts, and the bytes of stored texts.
//
// Invariants: a Text never changes; no operation recurses, however deep a rope is; equal texts have
// equal bytes, lengths and sums, however they were composed.
package text
