package expr

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/hocket-run/hocket/diag"
)

// Codes of problems. `hocket validate` prints them, so they do not change.
const (
	CodeUnclosed        = "unclosed-template"  // `{{ $…` without its `}}`, or a stray `}}` in a condition
	CodeBadReference    = "bad-reference"      // not of the form $steps.<id>.output…
	CodeUnknownStep     = "unknown-step"       // no such step, or no such child of a parallel step (S4-11, S4-15)
	CodeQuotedReference = "quoted-reference"   // a reference inside quotes, where it is plain text
	CodeBadCondition    = "bad-condition"      // the expression does not parse, or uses something unknown
	CodeTypeMismatch    = "type-mismatch"      // an operator has operand types that it can never accept (P25)
	CodeNotBoolean      = "not-boolean"        // the whole expression can never resolve to a boolean (S4-10)
	CodeTooLong         = "condition-too-long" // more than MaxConditionBytes
	CodeTooComplex      = "condition-too-deep" // nested deeper than MaxNesting, or loops inside loops inside loops
	CodeEmpty           = "condition-empty"    // nothing but white space
)

// Problem is one problem in a template or a condition.
//
// Offset and Length are in bytes of the text that was parsed; Length may be 0 if only a position is
// known. Only problems of severity [diag.Error] prevent a document from running. Hint is empty if
// there is nothing to suggest.
type Problem struct {
	Code     string
	Severity diag.Severity
	Offset   int
	Length   int
	Message  string
	Hint     string
}

// String returns OFFSET: severity: message (code), then the hint after a semicolon, like
// diag.Diagnostic without the file.
func (p Problem) String() string {
	s := fmt.Sprintf("%d: %s: %s (%s)", p.Offset, p.Severity, p.Message, p.Code)
	if p.Hint != "" {
		s += "; hint: " + p.Hint
	}
	return s
}

// ErrorAt returns a problem that is an error.
func ErrorAt(offset, length int, code, hint, format string, args ...any) Problem {
	return Problem{
		Code: code, Severity: diag.Error, Offset: offset, Length: length,
		Message: fmt.Sprintf(format, args...), Hint: hint,
	}
}

func hasErrors(ps []Problem) bool { return Refusal(ps) != nil }

// Refusal returns the first problem that prevents a text from being used, or nil if there are at
// most warnings.
func Refusal(ps []Problem) *Problem {
	for i := range ps {
		if ps[i].Severity == diag.Error {
			return &ps[i]
		}
	}
	return nil
}

// finish sorts problems by position, errors first at the same position, and keeps the first
// MaxProblems.
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
