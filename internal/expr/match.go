package expr

import (
	"encoding/json"
	"strings"
)

// OpContains is the canvas operator that searches for the operand anywhere in the input. Every
// other word means equal (S0-21).
const OpContains = "contains"

// Match reports whether a canvas condition holds for the previous output (S0-20, S0-21): the
// input's text is lower-cased but not trimmed, the operand is trimmed and lower-cased, and an
// operand that is then empty never matches, not even with contains.
func Match(op, operand string, input json.RawMessage) bool {
	operand = strings.ToLower(strings.TrimSpace(operand))
	if operand == "" {
		return false
	}
	text := strings.ToLower(Text(input))
	if op == OpContains {
		return strings.Contains(text, operand)
	}
	return text == operand
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
