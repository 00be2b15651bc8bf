// Package secret resolves references to secrets when they are used, and takes the values that were used out of whatever is stored or shown (SEC11).
//
// It refuses to hold secrets of its own, to give a value to an untrusted definition (its callers resolve only trusted ones), to read a file
// that others may read, and to print a value in an error.
//
// The flow:
//
//  1. Definitions hold references: ${env.NAME}, ${NAME}, $NAME, file:PATH. [Check] tells one from a literal secret.
//  2. [Resolver.Value] gives the value when a call needs it, and tells its [Keeper].
//  3. What comes back from models, tools and servers passes [Keeper.Redact] before anything else sees it; text that comes in pieces passes a [Tail].
//  4. [Keeper.Handler] does the same for logs.
//
// A text is decoded, then compared: escapes of JSON and of programming languages, percent signs and references of HTML, up to four of them inside one another, and at
// each of these levels base64 and hexadecimal digits (alphabet.go, decode.go). All values are looked for at once (automaton.go), in a time that is linear in the length of
// the text.
//
// Invariants: a text without a kept value comes out as it went in, byte for byte; no output holds a kept value in one of these spellings; the sum of what a Tail gives is
// what Redact gives of the sum of what it got. Encryption, compression, and a value that is taken apart are beyond this.
package secret
