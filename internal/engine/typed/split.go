package typed

import (
	"encoding/json"
	"slices"
	"strings"
)

// Split returns the state whose fields are the members of a JSON object, as if written by step 0.
// The object must be valid JSON and must not change: the values are slices of it. Split returns
// false if it is not an object, or not of the form that encoders write: compact, with names of
// printable ASCII, without escapes or duplicates. It must then be decoded.
func Split(object json.RawMessage) (State, bool) {
	if len(object) < 2 || object[0] != '{' || object[len(object)-1] != '}' {
		return State{}, false
	}
	rest := object[1 : len(object)-1]
	members := 0
	for s := rest; len(s) > 0; members++ {
		if _, _, s = member(s); s == nil {
			return State{}, false
		}
	}
	fields, values := make([]field, 0, members), make([]Value, members)
	for i := range members {
		var name, value []byte
		name, value, rest = member(rest)
		values[i].head = value
		fields = append(fields, field{string(name), &values[i]})
	}
	slices.SortFunc(fields, func(a, b field) int { return strings.Compare(a.name, b.name) })
	for i := 1; i < len(fields); i++ {
		if fields[i].name == fields[i-1].name {
			return State{}, false
		}
	}
	return State{fields: fields}, true
}

// member returns the first member of the content between an object's braces, and what follows it;
// rest is nil if the member is not of the form that Split reads.
func member(s []byte) (name, value, rest []byte) {
	if s[0] != '"' {
		return nil, nil, nil
	}
	end := 1
	for ; end < len(s) && s[end] != '"'; end++ {
		if c := s[end]; c < ' ' || c >= 0x7f || c == '\\' {
			return nil, nil, nil
		}
	}
	if end+2 >= len(s) || s[end+1] != ':' {
		return nil, nil, nil
	}
	name, s = s[1:end], s[end+2:]
	n := valueLen(s)
	switch {
	case n <= 0 || isSpace(s[0]) || isSpace(s[n-1]):
		return nil, nil, nil
	case n == len(s):
		return name, s[:n:n], []byte{}
	case n+1 == len(s): // trailing comma
		return nil, nil, nil
	}
	return name, s[:n:n], s[n+1:]
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }

// valueLen returns the length of the first value of s, up to the comma that follows it or the end.
func valueLen(s []byte) int {
	depth := 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '"':
			for i++; i < len(s) && s[i] != '"'; i++ {
				if s[i] == '\\' {
					i++
				}
			}
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case ',':
			if depth == 0 {
				return i
			}
		}
	}
	return len(s)
}
