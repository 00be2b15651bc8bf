package expr

import "encoding/json"

// Compiler makes programs of expressions. Package celexpr has the one of the language; a program that evaluates no expression needs none, and does not link it. It keeps no state
// and is safe for concurrent use.
type Compiler interface {
	// Compile checks and plans an expression; test: it must give a boolean. The program is nil where a problem is an error.
	Compile(s *Source, opts Options, test bool) (Program, []Problem)
}

// Program is an expression that was compiled. It is immutable. A reason that is not "" says why there is no result, in terms of the source.
type Program interface {
	// Test gives the outcome of a condition.
	Test(env Env) (value bool, reason string)
	// Value gives the result as JSON.
	Value(env Env) (value json.RawMessage, reason string)
	// Constant tells whether a condition can only ever give one value, or fail.
	Constant() (value, ok bool)
}

// NoCompiler says that there is no Compiler.
const NoCompiler = "this program evaluates no expressions: a program that embeds Hocket gives documents.All() to hocket.Open"
