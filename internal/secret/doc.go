// Package secret resolves references to secrets when they are used, and removes the used values
// from whatever is stored or shown (SEC11).
//
// It does not hold its own secrets, does not return a value to an untrusted definition (its callers
// resolve only trusted ones), does not read a file that others may read, and does not print a value
// in an error.
//
// The flow:
//
//  1. Definitions hold references: ${env.NAME}, ${NAME}, $NAME, file:PATH. [Check] distinguishes a
//     reference from a literal secret.
//  2. [Resolver.Value] returns the value when a call needs it, and adds it to its [Keeper].
//  3. Results from models, tools and servers pass through [Keeper.Redact] before anything else sees
//     them; streamed text passes through a [Tail].
//  4. [Keeper.Handler] does the same for logs.
//
// A text is searched as it is, and decoded up to four times: escapes of JSON and of programming
// languages, percent encoding and HTML references (decode.go), base64 and hexadecimal digits
// (encoding.go), in any order (layer.go). All values are searched for in a single pass
// (automaton.go). Digits are decoded only where there are enough for the shortest value, and what
// they encode is searched only where there is enough of the bytes that values consist of when they
// are encoded further. Time is linear in the length of the text; memory does not depend on it.
//
// Invariants: a text without a kept value is returned unchanged, byte for byte; no output holds a
// kept value in one of these spellings; the concatenated output of a Tail equals Redact of its
// concatenated input. Other encodings, encryption, compression, and values that are split up are
// out of scope.
package secret
