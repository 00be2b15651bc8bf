package form

import (
	"bytes"
	"encoding/json"
	"net/mail"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/hocket-run/hocket/internal/schema"
)

// convert returns a value adapted to a schema: the value itself or, if it is a string, the JSON
// that it contains, or a list of that JSON or of the string. Strings in a list are converted in the
// same way. The violations are those of the returned value.
func convert(s *schema.Schema, v json.RawMessage) (json.RawMessage, []schema.Violation) {
	v = compact(v)
	problems := s.Validate(v)
	if len(problems) == 0 {
		return v, nil
	}
	others := alternatives(v)
	for _, other := range others {
		if len(s.Validate(other)) == 0 {
			return other, nil
		}
	}
	// the string stood for another value, whose violations are reported
	if types, _ := s.PathType(nil); v[0] == '"' && len(others) > 1 && !slices.Contains(types, "string") {
		if v = others[0]; slices.Contains(types, "array") && v[0] != '[' {
			v = others[1]
		}
		return v, s.Validate(v)
	}
	if v[0] == '[' && len(others) > 0 {
		if fewer := s.Validate(others[0]); len(fewer) < len(problems) {
			return others[0], fewer
		}
	}
	return v, problems
}

// alternatives returns the other values that a string, or a list of strings, may stand for.
func alternatives(v json.RawMessage) []json.RawMessage {
	var text string
	if json.Unmarshal(v, &text) == nil && v[0] == '"' {
		inner, list := asJSON(text), []json.RawMessage{}
		if inner != nil {
			list = append(list, inner, slices.Concat([]byte{'['}, inner, []byte{']'}))
		}
		return append(list, slices.Concat([]byte{'['}, v, []byte{']'}))
	}
	var texts []string
	if json.Unmarshal(v, &texts) != nil {
		return nil
	}
	out := []byte{'['}
	for i, t := range texts {
		inner := asJSON(t)
		if inner == nil {
			inner = encode(t)
		}
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, inner...)
	}
	return []json.RawMessage{append(out, ']')}
}

// asJSON returns the JSON that a string contains, or nil if it is not JSON.
func asJSON(text string) json.RawMessage {
	v := []byte(strings.TrimSpace(text))
	if len(v) == 0 || !json.Valid(v) {
		return nil
	}
	return compact(v)
}

func compact(v json.RawMessage) json.RawMessage {
	var b bytes.Buffer
	if json.Compact(&b, v) != nil {
		return v
	}
	return b.Bytes()
}

// formats are the formats that are checked; JSON Schema leaves that to the implementation.
var formats = map[string]func(string) bool{
	"date":      parses("2006-01-02"),
	"time":      parses("15:04", "15:04:05", "15:04:05Z07:00"),
	"date-time": parses(time.RFC3339),
	"email": func(s string) bool {
		a, err := mail.ParseAddress(s)
		return err == nil && a.Address == s
	},
	"uri": func(s string) bool {
		u, err := url.Parse(s)
		return err == nil && u.IsAbs() && (u.Host != "" || u.Opaque != "")
	},
	"uuid": regexp.MustCompile(`^[0-9a-fA-F]{8}-([0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}$`).MatchString,
}

// examples are example values of the formats, for messages.
var examples = map[string]string{
	"date": "2026-05-01", "time": "09:30", "date-time": "2026-05-01T09:00:00Z", "email": "ann@example.com",
	"uri": "https://example.com/a", "uuid": "123e4567-e89b-12d3-a456-426614174000",
}

// Formats returns the string formats that are checked.
func Formats() []string {
	out := make([]string, 0, len(formats))
	for name := range formats {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

func parses(layouts ...string) func(string) bool {
	return func(s string) bool {
		return slices.ContainsFunc(layouts, func(layout string) bool {
			_, err := time.Parse(layout, s)
			return err == nil
		})
	}
}

// badFormat returns a violation if a string does not have the format that its schema names.
func badFormat(raw, v json.RawMessage) []schema.Violation {
	var p property
	var text string
	if json.Unmarshal(raw, &p) != nil || json.Unmarshal(v, &text) != nil {
		return nil
	}
	if ok := formats[p.Format]; ok == nil || ok(text) {
		return nil
	}
	article := "a "
	if p.Format[0] == 'e' {
		article = "an "
	}
	return []schema.Violation{{Message: "must be " + article + p.Format + " such as " + examples[p.Format]}}
}
