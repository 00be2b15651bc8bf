package steps

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/format/source"
)

// field is one key of a map. span is the span of the key, path the path of the value.
type field struct {
	key   string
	path  string
	span  diag.Span
	value *source.Node
}

// fields returns the keys of a map in the order of the document.
func (r *reader) fields(n *source.Node) []field {
	if n == nil || n.Kind != source.Map {
		return nil
	}
	out := make([]field, len(n.Entries))
	for i, e := range n.Entries {
		out[i] = field{key: e.Key, path: e.Value.Path(), span: e.KeySpan, value: e.Value}
	}
	return out
}

// fieldsOf returns the keys of a value that must be a map; null is an empty map.
func (r *reader) fieldsOf(f field) []field {
	if !f.value.IsNull() && f.value.Kind != source.Map {
		r.wrongType(f, "a map")
	}
	return r.fields(f.value)
}

// list returns the items of a value that must be a list; null is an empty list.
func (r *reader) list(f field) []field {
	if f.value.IsNull() {
		return nil
	}
	if f.value.Kind != source.List {
		r.wrongType(f, "a list")
		return nil
	}
	out := make([]field, len(f.value.Items))
	for i, item := range f.value.Items {
		out[i] = field{key: f.key, path: item.Path(), span: item.Span, value: item}
	}
	return out
}

func find(fields []field, key string) *field {
	for i := range fields {
		if fields[i].key == key {
			return &fields[i]
		}
	}
	return nil
}

// text returns a scalar's text; an unquoted number or boolean counts as text in its spelling. Null
// is "".
func (r *reader) text(f field) string {
	if f.value.IsNull() {
		return ""
	}
	if !f.value.IsScalar() {
		r.wrongType(f, "a string")
		return ""
	}
	return f.value.Text
}

func (r *reader) texts(f field) []string {
	var out []string
	for _, e := range r.list(f) {
		if !e.value.IsScalar() || e.value.IsNull() {
			r.wrongType(e, "a string")
			continue
		}
		out = append(out, e.value.Text)
	}
	return out
}

func (r *reader) flag(f field) bool {
	b, ok := f.value.Bool()
	if !ok && !f.value.IsNull() {
		r.wrongType(f, "true or false")
	}
	return b
}

// integer returns an integer of at most 31 bits.
func (r *reader) integer(f field) int {
	n, ok := wholeNumber(f.value)
	if !ok && !f.value.IsNull() {
		r.wrongType(f, "a whole number")
	}
	return n
}

func (r *reader) notNegative(f field) int {
	n := r.integer(f)
	if n < 0 {
		r.diags.Errorf(f.value.Span, f.path, codeBadValue, "%s must not be negative, got %d", f.path, n)
		return 0
	}
	return n
}

func (r *reader) countRef(f field) *int64 {
	if f.value.IsNull() {
		return nil
	}
	n := int64(r.notNegative(f))
	return &n
}

func (r *reader) float(f field) (float64, bool) {
	v, ok := f.value.Float()
	if ok && (math.IsInf(v, 0) || math.IsNaN(v)) {
		ok = false
	}
	if !ok && !f.value.IsNull() {
		r.wrongType(f, "a number")
	}
	return v, ok
}

func (r *reader) floatRef(f field) *float64 {
	if v, ok := r.float(f); ok {
		return &v
	}
	return nil
}

// json returns a value as JSON, or nil for null.
func (r *reader) json(f field) json.RawMessage {
	if f.value.IsNull() {
		return nil
	}
	return f.value.JSON()
}

// encode returns a value that came from JSON as JSON, in the spelling of source.Node.JSON: HTML
// characters are not escaped.
func encode(v any) json.RawMessage {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v) // strings and JSON into a Buffer cannot fail
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

func wholeNumber(n *source.Node) (int, bool) {
	v, ok := n.Int()
	if !ok || v < math.MinInt32 || v > math.MaxInt32 {
		return 0, false
	}
	return int(v), true
}

// describe describes a value for a message: short scalars by their text.
func describe(n *source.Node) string {
	if n.IsNull() {
		return "nothing"
	}
	if !n.IsScalar() || len(n.Text) > 40 || strings.ContainsAny(n.Text, "\n\r") {
		return n.Kind.String()
	}
	b, err := json.Marshal(n.Text)
	if err != nil || n.Kind != source.String {
		return n.Text
	}
	return string(b)
}

func (r *reader) wrongType(f field, want string) {
	r.diags.Errorf(f.value.Span, f.path, codeWrongType, "%s must be %s, got %s", f.path, want, describe(f.value))
}

// unknown reports a key that the format does not have: a misspelling of a known key is an error,
// any other key has the severity sev.
func (r *reader) unknown(f field, sev diag.Severity, where string, known []string) {
	d := diag.Diagnostic{Code: codeUnknownKey, Severity: sev, Span: f.span, Path: f.path,
		Message: fmt.Sprintf("%s has no key %q", where, f.key)}
	if d.UnknownKey(f.key, known); d.Hint == "" && d.Severity == diag.Warning {
		d.Hint = "it has no effect"
	}
	r.diags.Add(d)
}

// reportUnsupported reports a key that docker-agent supports and Hocket does not yet, unless its
// value has no effect.
func (r *reader) reportUnsupported(f field, where string) {
	if b, ok := f.value.Bool(); f.value.IsNull() || ok && !b {
		return
	}
	if where != "" {
		where += ": "
	}
	r.diags.Warnf(f.span, f.path, codeUnsupported, "%s%q is not supported yet", where, f.key).Hint = "it has no effect"
}

// stringOf returns the text of a scalar that is not a number, boolean or null.
func stringOf(n *source.Node) (string, bool) {
	if n == nil || n.Kind != source.String {
		return "", false
	}
	return n.Text, true
}
