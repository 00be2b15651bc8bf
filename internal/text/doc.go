// Package text has the one type of texts that are made of other texts: immutable ropes that share their beginnings.
//
// The prompt of a step repeats the outputs of the steps before it. As a string each prompt is a copy of all of them; as a [Text] it is the prompt before it
// and what was added. Its length is known without its bytes ([Text.Len]), and the bytes are written where they are needed ([Text.WriteTo]).
//
// A part of a text may be [Stored]: its bytes are held by something else and loaded where an operation needs them (ADR 75).
//
// The package imports nothing of Hocket, does no I/O of its own and keeps no state between calls beside the states of hashes inside texts, and the bytes of stored texts.
//
// Invariants: a Text never changes; no operation recurses, however deep a rope is; equal texts have equal bytes, lengths and sums, however they were put together.
package text
