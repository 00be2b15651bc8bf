package expr

import "encoding/json"

// Compiler compiles expressions to programs. Package celexpr has the compiler of the language; a
// program that evaluates no expression needs none, and does not link it. A Compiler keeps no state
// and is safe for concurrent use.
type Compiler interface {
	// Compile checks and plans an expression. If test, its result must be a boolean. The program is
	// nil if a problem is an error.
	Compile(s *Source, opts Options, test bool) (Program, []Problem)
}

// Program is a compiled expression. It is immutable. A reason other than "" explains, in terms of
// the source, why there is no result.
type Program interface {
	// Test returns the outcome of a condition.
	Test(env Env) (value bool, reason string)
	// Value returns the result as JSON.
	Value(env Env) (value json.RawMessage, reason string)
	// Constant reports whether a condition can only ever have one value, or fail, and returns that
	// value.
	Constant() (value, ok bool)
}

// NoCompiler is the message of an error when there is no Compiler.
const NoCompiler = "this program evaluates no expressions: a program that embeds Hocket gives documents.All() to " +
	"hocket.Open"
