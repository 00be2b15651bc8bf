package workflow

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strings"
)

// validJSON reports a value that is not valid JSON.
func (c *checker) validJSON(n *Node, raw json.RawMessage, name string, required bool) {
	if (required || len(raw) > 0) && !json.Valid(raw) {
		c.nodeErrorf(n, "bad-json", "%s must be JSON", name)
	}
}

func (c *checker) negative(n *Node, bad bool, field string) {
	if bad {
		c.nodeErrorf(n, "negative-limit", "%s must not be negative", field)
	}
}

func (c *checker) agentNegative(a *Agent, bad bool, field string) {
	if bad {
		c.agentErrorf(a, "negative-limit", "%s must not be negative", field)
	}
}

func (c *checker) required(n *Node, value, field string) {
	if value == "" {
		c.nodeErrorf(n, "missing-name", "%s is empty", field)
	}
}

// oneOf checks that a value is one of words, which may contain "".
func (c *checker) oneOf(n *Node, field, value string, words ...string) {
	if !slices.Contains(words, value) {
		c.nodeErrorf(n, "unknown-word", "%s is %q, not one of %s", field, value, listed(words)).Hint = c.similar(value,
			words)
	}
}

func (c *checker) agentWord(a *Agent, field, value string, words ...string) {
	if value != "" && !slices.Contains(words, value) {
		c.agentErrorf(a, "unknown-word", "%s is %q, not one of %s", field, value, listed(words)).Hint = c.similar(value,
			words)
	}
}

func listed(words []string) string {
	return strings.Join(slices.DeleteFunc(slices.Clone(words), func(s string) bool { return s == "" }), ", ")
}

// isInvalidNumber reports whether f is negative, or cannot be represented in JSON.
func isInvalidNumber(f float64) bool { return f < 0 || math.IsNaN(f) || math.IsInf(f, 0) }

func isObject(raw json.RawMessage) bool {
	return json.Valid(raw) && bytes.HasPrefix(bytes.TrimSpace(raw), []byte("{"))
}
