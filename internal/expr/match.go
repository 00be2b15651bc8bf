package expr

import (
	"encoding/json"
	"strings"
)

// OpContains is the canvas operator that looks for the operand anywhere in the input. Every other word means equal (S0-21).
const OpContains = "contains"

// Match tells whether a canvas condition holds for the previous output (S0-20, S0-21): the input's text is lower-cased but not trimmed, the operand
// is trimmed and lower-cased, and an operand that is empty then never matches, not even with contains.
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

// ExpandToken replaces every occurrence of token in src with value, literally and in a single pass: what value contains is not looked at again,
// and no character in it is special (S0-11, S0-13, SEC3). An empty token changes nothing.
func ExpandToken(src, token, value string) string {
	if token == "" {
		return src
	}
	return strings.ReplaceAll(src, token, value)
}
