package schema

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// Violation is one way in which a value does not match its schema.
//
// Path is the JSON pointer of the invalid part, "" for the whole value. Message is a phrase that
// continues the path: "must be a boolean, not a string".
type Violation struct {
	Path    string
	Message string
}

// String returns "PATH: MESSAGE", with `(root)` for the whole value.
func (v Violation) String() string {
	if v.Path == "" {
		return "(root): " + v.Message
	}
	return v.Path + ": " + v.Message
}

// Validate returns every violation of value, sorted by path and message, at most MaxViolations;
// none means that it is valid. A value that is not JSON, or exceeds the limits of this package, is
// one violation of the whole.
func (s *Schema) Validate(value json.RawMessage) (violations []Violation) {
	defer func() {
		if r := recover(); r != nil { // a bug in the library must not end the run's process
			violations = []Violation{{Message: fmt.Sprintf("could not be checked: %v", r)}}
		}
	}()
	if len(value) > MaxValueBytes {
		return []Violation{{Message: fmt.Sprintf("is too large: %d bytes; the limit is %d", len(value), MaxValueBytes)}}
	}
	v, problem := decode(value)
	if problem != "" {
		return []Violation{{Message: "cannot be read: " + problem}}
	}
	if work(s.root, v) > MaxWork {
		return []Violation{
			{Message: fmt.Sprintf("takes more than %d steps to check against this schema; that is the limit", MaxWork)},
		}
	}
	err := s.root.Validate(v)
	var tree *jsonschema.ValidationError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &tree):
		return flatten(tree)
	}
	return []Violation{{Message: err.Error()}}
}

// Describe formats violations for the model whose reply they concern, one per line. It returns ""
// if there are none.
func Describe(violations []Violation) string {
	if len(violations) == 0 {
		return ""
	}
	const most = 10
	var b strings.Builder
	b.WriteString("it does not fit the required JSON Schema:")
	for i, v := range violations {
		if i == most {
			fmt.Fprintf(&b, "\n- and %d more", len(violations)-most)
			break
		}
		b.WriteString("\n- " + v.String())
	}
	return b.String()
}

// flatten returns the first leaves of the library's error tree. The library walks objects in random
// order, so the list is sorted. Texts are made only for the paths that are returned: there may be a
// million leaves.
func flatten(tree *jsonschema.ValidationError) []Violation {
	type leaf struct {
		path string
		made func() []Violation
	}
	var leaves []leaf
	add := func(e *jsonschema.ValidationError, made func(path string) []Violation) {
		path := pointer(e.InstanceLocation)
		leaves = append(leaves, leaf{path, func() []Violation { return made(path) }})
	}
	own := func(e *jsonschema.ValidationError) {
		add(e, func(path string) []Violation { return []Violation{{Path: path, Message: message(e.ErrorKind)}} })
	}
	var walk func(e *jsonschema.ValidationError)
	walk = func(e *jsonschema.ValidationError) {
		switch k := e.ErrorKind.(type) {
		case *kind.AnyOf:
			add(e, func(string) []Violation { return []Violation{alternatives(e, "any")} })
			return
		case *kind.OneOf:
			if len(k.Subschemas) == 0 {
				add(e, func(string) []Violation { return []Violation{alternatives(e, "one")} })
				return
			}
		case *kind.PropertyNames:
			add(e, func(path string) (out []Violation) {
				for _, c := range e.Causes {
					for _, v := range flatten(c) {
						out = append(out, Violation{Path: path,
							Message: fmt.Sprintf("has the key %q, which %s", k.Property, v.Message)})
					}
				}
				return out
			})
			return
		case *kind.Contains, *kind.MinContains: // why each item does not match is not useful
			own(e)
			return
		}
		if len(e.Causes) == 0 {
			own(e)
			return
		}
		for _, c := range e.Causes {
			walk(c)
		}
	}
	walk(tree)
	slices.SortFunc(leaves, func(a, b leaf) int { return cmp.Compare(a.path, b.path) })
	var out []Violation
	for i := 0; i < len(leaves) && len(out) < MaxViolations; {
		path, before := leaves[i].path, len(out)
		for ; i < len(leaves) && leaves[i].path == path; i++ {
			out = append(out, leaves[i].made()...)
		}
		slices.SortFunc(out[before:], func(a, b Violation) int { return cmp.Compare(a.Message, b.Message) })
		out = slices.Compact(out)
	}
	return out[:min(len(out), MaxViolations)]
}

// alternatives summarizes a failed anyOf or oneOf: what each alternative lacks, in the schema's
// order.
func alternatives(e *jsonschema.ValidationError, which string) Violation {
	const most = 4
	at := pointer(e.InstanceLocation)
	var reasons []string
	for _, c := range e.Causes {
		if len(reasons) == most {
			reasons = append(reasons, "…")
			break
		}
		var parts []string
		for _, v := range flatten(c) {
			part := v.Message
			if v.Path != at {
				part = strings.TrimPrefix(v.Path, at) + " " + v.Message
			}
			parts = append(parts, part)
		}
		if reason := strings.Join(parts, " and "); !slices.Contains(reasons, reason) {
			reasons = append(reasons, reason)
		}
	}
	if len(reasons) == 0 {
		return Violation{Path: at, Message: "matches none of the alternatives"}
	}
	return Violation{Path: at, Message: fmt.Sprintf("must fit %s of these, but: %s", which,
		strings.Join(reasons, "; or "))}
}

var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")

// pointer returns a JSON pointer.
func pointer(path []string) string {
	var b strings.Builder
	for _, p := range path {
		b.WriteString("/" + pointerEscapes.Replace(p))
	}
	return b.String()
}

// article maps JSON type names to phrases.
var article = map[string]string{
	"null": "null", "boolean": "a boolean", "number": "a number", "integer": "a whole number", "string": "a string",
	"array": "a list", "object": "an object",
}

// message formats one violation. The library's own messages use a printer that goroutines would
// share.
func message(k jsonschema.ErrorKind) string {
	switch k := k.(type) {
	case *kind.Type:
		return fmt.Sprintf("must be %s, not %s", orList(words(k.Want)), article[k.Got])
	case *kind.Required:
		return "lacks " + quoted(k.Missing)
	case *kind.AdditionalProperties:
		return "must not have " + quoted(k.Properties)
	case *kind.Enum:
		return "must be " + orList(values(k.Want))
	case *kind.Const:
		return "must be " + show(k.Want)
	case *kind.Minimum:
		return "must be at least " + number(k.Want)
	case *kind.Maximum:
		return "must be at most " + number(k.Want)
	case *kind.ExclusiveMinimum:
		return "must be more than " + number(k.Want)
	case *kind.ExclusiveMaximum:
		return "must be less than " + number(k.Want)
	case *kind.MultipleOf:
		return "must be a multiple of " + number(k.Want)
	case *kind.MinLength:
		return fmt.Sprintf("must have at least %d characters, has %d", k.Want, k.Got)
	case *kind.MaxLength:
		return fmt.Sprintf("must have at most %d characters, has %d", k.Want, k.Got)
	case *kind.Pattern:
		return "must match the pattern " + k.Want
	case *kind.Format:
		return "must be a valid " + k.Want
	case *kind.MinItems:
		return fmt.Sprintf("must have at least %d items, has %d", k.Want, k.Got)
	case *kind.MaxItems:
		return fmt.Sprintf("must have at most %d items, has %d", k.Want, k.Got)
	case *kind.AdditionalItems:
		return fmt.Sprintf("has %d items too many", k.Count)
	case *kind.UniqueItems:
		return fmt.Sprintf("must not have equal items; items %d and %d are", min(k.Duplicates[0], k.Duplicates[1]),
			max(k.Duplicates[0], k.Duplicates[1]))
	case *kind.MinProperties:
		return fmt.Sprintf("must have at least %d keys, has %d", k.Want, k.Got)
	case *kind.MaxProperties:
		return fmt.Sprintf("must have at most %d keys, has %d", k.Want, k.Got)
	case *kind.Dependency:
		return fmt.Sprintf("has %q and so lacks %s", k.Prop, quoted(k.Missing))
	case *kind.DependentRequired:
		return fmt.Sprintf("has %q and so lacks %s", k.Prop, quoted(k.Missing))
	case *kind.Contains, *kind.MinContains:
		return "has too few items of the required form"
	case *kind.MaxContains:
		return fmt.Sprintf("must have at most %d items of the given form", k.Want)
	case *kind.OneOf:
		return "matches more than one of the alternatives"
	case *kind.Not:
		return "must not be of this form"
	case *kind.FalseSchema:
		return "must not be there"
	}
	if path := k.KeywordPath(); len(path) > 0 {
		return "does not fit " + strings.Join(path, "/")
	}
	return "does not fit"
}

func words(types []string) []string {
	out := make([]string, len(types))
	for i, t := range types {
		out[i] = cmp.Or(article[t], t)
	}
	return out
}

func orList(items []string) string {
	if len(items) < 2 {
		return strings.Join(items, "")
	}
	return strings.Join(items[:len(items)-1], ", ") + " or " + items[len(items)-1]
}

func quoted(names []string) string {
	names = slices.Clone(names)
	slices.Sort(names)
	for i, n := range names {
		names[i] = strconv.Quote(n)
	}
	return strings.Join(names, ", ")
}

func values(vs []any) []string {
	const most = 12
	var out []string
	for i, v := range vs {
		if i == most {
			return append(out, "…")
		}
		out = append(out, show(v))
	}
	return out
}

// show returns a value as JSON, truncated if it is long.
func show(v any) string {
	const most = 60
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	if r := []rune(string(b)); len(r) > most {
		return string(r[:most]) + "…"
	}
	return string(b)
}

// number formats a limit exactly if it is whole, otherwise as a decimal.
func number(r *big.Rat) string {
	if r.IsInt() {
		return r.Num().String()
	}
	f, _ := r.Float64()
	return strconv.FormatFloat(f, 'g', -1, 64)
}
