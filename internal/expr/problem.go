package expr

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/hocket-run/hocket/diag"
)

// Codes of problems. They are part of what `hocket validate` prints, so they do not change.
const (
	CodeUnclosed        = "unclosed-template"  // `{{ $…` without its `}}`, or a stray `}}` in a condition
	CodeBadReference    = "bad-reference"      // not of the form $steps.<id>.output…
	CodeUnknownStep     = "unknown-step"       // no such step, or no such child of a parallel step (S4-11, S4-15)
	CodeQuotedReference = "quoted-reference"   // a reference inside quotes, where it is plain text
	CodeBadCondition    = "bad-condition"      // the expression does not parse, or uses something unknown
	CodeTypeMismatch    = "type-mismatch"      // an operator gets types that it can never take (P25)
	CodeNotBoolean      = "not-boolean"        // the whole can never resolve to a boolean (S4-10)
	CodeTooLong         = "condition-too-long" // more than MaxConditionBytes
	CodeTooComplex      = "condition-too-deep" // nested deeper than MaxNesting, or loops inside loops inside loops
	CodeEmpty           = "condition-empty"    // nothing but white space
)

// Problem is one thing that is wrong with a template or a condition.
//
// Offset and Length are bytes into the text that was parsed; Length may be 0 where only a place is known. Only problems of severity
// [diag.Error] keep a document from running. Hint is empty where there is nothing to say.
type Problem struct {
	Code     string
	Severity diag.Severity
	Offset   int
	Length   int
	Message  string
	Hint     string
}

// String gives OFFSET: severity: message (code), then the hint after a semicolon, like diag.Diagnostic without the file.
func (p Problem) String() string {
	s := fmt.Sprintf("%d: %s: %s (%s)", p.Offset, p.Severity, p.Message, p.Code)
	if p.Hint != "" {
		s += "; hint: " + p.Hint
	}
	return s
}

// ErrorAt makes a problem that is an error.
func ErrorAt(offset, length int, code, hint, format string, args ...any) Problem {
	return Problem{
		Code: code, Severity: diag.Error, Offset: offset, Length: length,
		Message: fmt.Sprintf(format, args...), Hint: hint,
	}
}

func hasErrors(ps []Problem) bool { return Refusal(ps) != nil }

// Refusal gives the first problem that keeps a text from being used, nil where there are warnings at most.
func Refusal(ps []Problem) *Problem {
	for i := range ps {
		if ps[i].Severity == diag.Error {
			return &ps[i]
		}
	}
	return nil
}

// finish puts problems in the order of the text, errors first at one place, and keeps the first MaxProblems.
func finish(ps []Problem) []Problem {
	slices.SortStableFunc(ps, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Offset, b.Offset), cmp.Compare(rank(a), rank(b)))
	})
	return ps[:min(len(ps), MaxProblems)]
}

func rank(p Problem) int {
	if p.Severity == diag.Error {
		return 0
	}
	return 1
}
