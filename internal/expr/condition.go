package expr

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Limits on a condition. They are part of the language: a document that passes today must pass on
// every machine, so none depends on time.
const (
	MaxConditionBytes = 4096      // length of the source
	MaxNesting        = 64        // nesting depth of parentheses, calls and lists
	MaxLoops          = 2         // nesting depth of exists, all, map, filter
	MaxProblems       = 20        // problems reported for one text
	MaxCost           = 1_000_000 // CEL's cost units of one evaluation; a comparison of two numbers costs about 3
	MaxValueCost      = 2_500_000 // the same for all expressions of one value, whose evaluation cannot be interrupted
)

// Condition is a text that resolves to true or false, parsed once and evaluated any number of
// times. It is safe for concurrent use.
type Condition struct {
	src      string
	refs     []Ref
	lone     bool
	prog     Program // nil for a lone reference and if there were errors
	constant *bool
}

// EvalError explains why the result of a condition was neither true nor false. Source is the
// condition as written.
type EvalError struct {
	Source string
	Reason string
}

// Error returns the text required by S4-10, the source as it was written, and the reason.
func (e *EvalError) Error() string {
	return fmt.Sprintf("condition did not resolve to boolean: \"%s\": %s", e.Source, e.Reason)
}

// ParseCondition parses src, which is a lone reference (`{{ $steps.qa.output.is_approved }}`) or a
// CEL expression in which references stand for their values. References may be bare, and each of
// them, or the whole expression, may be enclosed in `{{` and `}}`. The content of CEL's string
// literals is not examined.
//
// The language is CEL's with these differences, all of them because the values are JSON:
//
//   - comparing values of different types is an error, inside lists and objects too; comparing with
//     a literal null is allowed (P25);
//   - && and || evaluate from left to right and hide no errors; their operands must be booleans;
//   - there is one kind of number: arithmetic mixes 1 and 1.5, and 1 / 2 is 0.5;
//   - has() also takes a reference: has($steps.qa.output.note);
//   - there are no object literals, times, durations or protocol buffer types; trim(),
//     lowerAscii(), split() and json() of a string, round(), and sum(), min(), max(), sort() and
//     join() of a list are added; json() returns the JSON in a string.
//
// The condition is never nil, and its Refs are the references that could be parsed; if a problem is
// an error, Eval always fails.
func ParseCondition(src string, opts Options) (*Condition, []Problem) {
	c := &Condition{src: src}
	if len(src) > MaxConditionBytes {
		return c, []Problem{ErrorAt(MaxConditionBytes, 0, CodeTooLong, "let an agent decide and read its answer",
			"the condition has %d bytes; at most %d are allowed", len(src), MaxConditionBytes)}
	}
	if strings.TrimSpace(src) == "" {
		return c, []Problem{ErrorAt(0, len(src), CodeEmpty, "", "the condition is empty")}
	}
	s := scan(src, opts)
	c.refs = s.refs
	if hasErrors(s.problems) {
		return c, finish(s.problems)
	}
	if s.isLone() {
		c.lone = true
		ref := s.refs[0]
		if k := RefKinds(ref, opts); k&(KindBool|KindString) == 0 {
			s.problems = append(s.problems, ErrorAt(ref.Offset, ref.Length, CodeNotBoolean, "",
				"%s is %s by its declaration, so it can never resolve to a boolean", ref.Text, k))
		}
		return c, s.problems
	}
	prog, problems := s.compile(opts, true)
	problems = finish(append(s.problems, problems...))
	if hasErrors(problems) {
		return c, problems
	}
	c.prog = prog
	if v, ok := prog.Constant(); ok {
		c.constant = &v
	}
	if len(s.refs) == 0 {
		v, reason := prog.Test(EnvMap(nil))
		if reason != "" {
			problems = append(problems,
				ErrorAt(0, len(src), CodeNotBoolean, "", "the condition can never resolve to a boolean: %s", reason))
			c.prog = nil
			return c, problems
		}
		c.constant = &v
	}
	return c, problems
}

// Source returns the text that was parsed.
func (c *Condition) Source() string { return c.src }

// Refs returns the references in the order of the text, including repetitions. The caller owns the
// slice.
func (c *Condition) Refs() []Ref { return append([]Ref(nil), c.refs...) }

// Lone returns the reference if the condition consists of nothing else.
func (c *Condition) Lone() (Ref, bool) {
	if !c.lone {
		return Ref{}, false
	}
	return c.refs[0], true
}

// Constant reports whether the condition can only ever have one value (or fail), whatever the
// outputs of the steps, and returns that value: `true`, `$steps.a.output == "x" || true`. It finds
// the simple cases, not every one.
func (c *Condition) Constant() (value, ok bool) {
	if c.constant == nil {
		return false, false
	}
	return *c.constant, true
}

// Eval returns the outcome (S4-10), which is a JSON boolean, or a string true/yes/1, false/no/0 in
// any case, ignoring surrounding white space. Everything else, a reference without a value, a
// comparison of different types and an evaluation beyond MaxCost are an *[EvalError].
func (c *Condition) Eval(env Env) (bool, error) {
	switch {
	case c.lone:
		v, ok := c.refs[0].Resolve(env)
		if !ok {
			return false, c.fail(Missing(c.refs[0]))
		}
		if b, ok := parseBool(v); ok {
			return b, nil
		}
		return false, c.fail(c.refs[0].Text + " is " + Describe(v))
	case c.prog == nil:
		return false, c.fail("the condition is not valid")
	}
	b, reason := c.prog.Test(env)
	if reason != "" {
		return false, c.fail(reason)
	}
	return b, nil
}

func (c *Condition) fail(reason string) error {
	return &EvalError{Source: c.src, Reason: reason}
}

// Missing returns the message that a reference has no value.
func Missing(r Ref) string {
	return r.Text + " has no value"
}

// Describe describes a value for an error: short text is included, long text is truncated at a
// rune.
func Describe(v json.RawMessage) string {
	const most = 60
	s := []rune(string(v))
	if len(v) > 8*most {
		s = []rune(string(v[:8*most]))
	}
	if len(s) > most {
		s = append(s[:most], '…')
	}
	return string(s)
}
