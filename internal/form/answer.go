package form

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/hocket-run/hocket/internal/schema"
)

// Answer returns the answer to a question adapted to the schema of the question, with defaults for
// missing members and strings converted to the values they stand for. If it does not match, Answer
// returns every violation, each with the JSON pointer of the part. A schema that cannot be parsed
// requires nothing.
func Answer(raw, v json.RawMessage) (json.RawMessage, []schema.Violation) {
	s, err := schema.Compile(raw)
	if err != nil {
		return v, nil
	}
	v = compact(v)
	if types, _ := s.PathType(nil); !slices.Contains(types, "string") {
		var text string
		if _, ok := objectOf(textOf(v, &text)); ok {
			v = asJSON(text)
		}
	}
	v, problems := convert(s, Fill(raw, v))
	problems = append(problems, formatsOf(raw, v, "", 0)...)
	if len(problems) > 0 {
		return nil, problems
	}
	return v, nil
}

// Arguments returns changed arguments of a tool call adapted to the parameters of the tool: strings
// are converted to the values they stand for, and nothing is added, because the tool knows its own
// defaults. If they do not match, it returns every violation, as Answer does. They must be an
// object. A schema that cannot be parsed accepts nothing.
func Arguments(raw, v json.RawMessage) (json.RawMessage, []schema.Violation) {
	s, err := schema.CompileForeign(raw)
	if err != nil {
		return nil, []schema.Violation{{Message: "cannot be judged: the parameters of the tool cannot be read"}}
	}
	v = compact(v)
	if _, ok := objectOf(v); !ok {
		return nil, []schema.Violation{{Message: "must be an object"}}
	}
	v, problems := convert(s, fill(raw, v, 0, false))
	if len(problems) > 0 {
		return nil, problems
	}
	return v, nil
}

// textOf returns the content of a string as JSON, or nil if v is not a string.
func textOf(v json.RawMessage, text *string) json.RawMessage {
	if len(v) == 0 || v[0] != '"' || json.Unmarshal(v, text) != nil {
		return nil
	}
	return json.RawMessage(*text)
}

// formatsOf returns a violation for each string that does not have the format that its schema
// names.
func formatsOf(raw, v json.RawMessage, path string, depth int) []schema.Violation {
	var out []schema.Violation
	for _, p := range badFormat(raw, v) {
		out = append(out, schema.Violation{Path: path, Message: p.Message})
	}
	var o object
	given, ok := objectOf(v)
	if !ok || depth > maxDepth || json.Unmarshal(raw, &o) != nil {
		return out
	}
	for _, p := range o.Properties.list {
		if x := given.get(p.name); x != nil {
			out = append(out, formatsOf(p.value, x, path+pointer(p.name), depth+1)...)
		}
	}
	return out
}

// maxListed is the maximum number of problems that Describe lists.
const maxListed = 20

// Describe lists problems: `/days must be at most 14; /city must be a string, not a number`.
func Describe(problems []schema.Violation) string {
	var words []string
	for i, p := range problems {
		if i == maxListed {
			words = append(words, fmt.Sprintf("and %d more", len(problems)-maxListed))
			break
		}
		path := p.Path
		if path == "" {
			path = "the answer"
		}
		words = append(words, path+" "+p.Message)
	}
	return strings.Join(words, "; ")
}
