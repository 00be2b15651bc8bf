package expr

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/hocket-run/hocket/internal/chat"
)

// Text returns the text of a value as a template inserts it and as canvas documents compare it: a
// JSON string is decoded, null and a missing value are empty, anything else is its compact JSON
// text with numbers as they were written. Bytes that are not JSON are returned unchanged.
func Text(v json.RawMessage) string {
	v = bytes.TrimSpace(v)
	switch {
	case len(v) == 0 || string(v) == "null":
		return ""
	case v[0] == '"':
		if isPlain(v) {
			return string(v[1 : len(v)-1])
		}
		var s string
		if json.Unmarshal(v, &s) != nil {
			return string(v)
		}
		return s
	}
	var b bytes.Buffer
	if json.Compact(&b, v) != nil {
		return string(v)
	}
	return b.String()
}

// isPlain reports whether a JSON string needs no decoding: quotes around ASCII without quotes,
// escapes and control characters.
func isPlain(v json.RawMessage) bool {
	for i, c := range v {
		if quote := i == 0 || i == len(v)-1; quote != (c == '"') || c < ' ' || c > '~' || c == '\\' {
			return false
		}
	}
	return len(v) >= 2
}

// lookupPath walks path through v. If v is a string, the JSON in it is walked instead (S4-17), but
// only at the root. A list takes an index, an object a key. It returns false if there is nothing at
// the path; an explicit null is found. parts is partsOf, or remembers its results.
func lookupPath(v json.RawMessage, path []string, parts func(v json.RawMessage, root bool) any) (json.RawMessage,
	bool) {
	v = bytes.TrimSpace(v)
	if len(v) == 0 {
		return nil, false
	}
	for i, seg := range path {
		if len(v) == 0 {
			return nil, false
		}
		switch parts := parts(v, i == 0).(type) {
		case map[string]json.RawMessage:
			next, ok := parts[seg]
			if !ok {
				return nil, false
			}
			v = next
		case []json.RawMessage:
			i, err := strconv.Atoi(seg)
			if err != nil || i < 0 || i >= len(parts) {
				return nil, false
			}
			v = parts[i]
		default:
			return nil, false
		}
		v = bytes.TrimSpace(v)
	}
	return v, true
}

// partsOf returns the members of an object or the items of a list, or nil for any other value. At
// the root, it reads the JSON in a string.
func partsOf(v json.RawMessage, root bool) any {
	if root && v[0] == '"' {
		inner, ok := chat.JSONIn(Text(v))
		if !ok {
			return nil
		}
		if v = bytes.TrimSpace(inner); len(v) == 0 {
			return nil
		}
	}
	switch v[0] {
	case '{':
		var fields map[string]json.RawMessage
		if json.Unmarshal(v, &fields) == nil {
			return fields
		}
	case '[':
		var items []json.RawMessage
		if json.Unmarshal(v, &items) == nil {
			return items
		}
	}
	return nil
}

// parseBool interprets a value as a condition's outcome (S4-10): a JSON boolean, or a string
// true/yes/1, false/no/0 in any case, ignoring surrounding white space. Numbers, null, lists and
// objects are neither.
func parseBool(v json.RawMessage) (value, ok bool) {
	v = bytes.TrimSpace(v)
	switch string(v) {
	case "true":
		return true, true
	case "false":
		return false, true
	}
	if len(v) == 0 || v[0] != '"' {
		return false, false
	}
	return TextTruth(Text(v))
}

// TextTruth interprets a string as a condition's outcome (S4-10); ok is false if it is neither true
// nor false.
func TextTruth(s string) (value, ok bool) {
	switch strings.ToLower(strings.TrimSpace(s)) {
	case "true", "yes", "1":
		return true, true
	case "false", "no", "0":
		return false, true
	}
	return false, false
}
