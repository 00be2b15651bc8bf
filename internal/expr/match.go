package expr

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Operators of canvas conditions.
const (
	OpEqual          = "equal"
	OpContains       = "contains" // the operand is anywhere in the input
	OpLess           = "less"
	OpLessOrEqual    = "less_or_equal"
	OpGreater        = "greater"
	OpGreaterOrEqual = "greater_or_equal"
)

// Operators returns the operators of canvas conditions.
func Operators() []string { return append([]string{OpEqual, OpContains}, numeric...) }

// numeric are the operators that compare numbers.
var numeric = []string{OpLess, OpLessOrEqual, OpGreater, OpGreaterOrEqual}

// ComparesNumbers reports whether an operator compares numbers.
func ComparesNumbers(op string) bool { return slices.Contains(numeric, op) }

// Match reports whether a canvas condition holds for the previous output (S0-20, S0-21): the
// input's text is lower-cased but not trimmed, the operand is trimmed and lower-cased, and an
// operand that is then empty never matches, not even with contains. An operator that compares
// numbers returns an error if the input is not a number.
func Match(op, operand string, input json.RawMessage) (bool, error) {
	if ComparesNumbers(op) {
		return compare(op, operand, input)
	}
	operand = strings.ToLower(strings.TrimSpace(operand))
	if operand == "" {
		return false, nil
	}
	text := strings.ToLower(Text(input))
	if op == OpContains {
		return strings.Contains(text, operand), nil
	}
	return text == operand, nil
}

func compare(op, operand string, input json.RawMessage) (bool, error) {
	y, ok := Number(operand)
	if !ok {
		return false, fmt.Errorf("%s compares numbers, and its value %.80q is not one", op, operand)
	}
	x, ok := Number(Text(input))
	if !ok {
		return false, fmt.Errorf("%s compares numbers, and the previous output %.80q is not one", op, Text(input))
	}
	switch op {
	case OpLess:
		return x < y, nil
	case OpLessOrEqual:
		return x <= y, nil
	case OpGreater:
		return x > y, nil
	}
	return x >= y, nil
}

// Number returns the number that is a text, in the notation of JSON and with any white space around
// it.
func Number(text string) (float64, bool) {
	n := math.NaN() // stays so where the text is null
	err := json.Unmarshal([]byte(text), &n)
	return n, err == nil && !math.IsNaN(n)
}

// ExpandTokens replaces every occurrence of each token in src with its value, literally and in a
// single pass: the content of a value is not scanned again, and no character in it is special
// (S0-11, S0-13, SEC3). pairs are a token and its value, then the next token and its value. An
// empty token changes nothing.
func ExpandTokens(src string, pairs ...string) string {
	var used []string
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i] != "" && strings.Contains(src, pairs[i]) {
			used = append(used, pairs[i], pairs[i+1])
		}
	}
	switch len(used) {
	case 0:
		return src
	case 2:
		return strings.ReplaceAll(src, used[0], used[1])
	}
	return strings.NewReplacer(used...).Replace(src)
}
