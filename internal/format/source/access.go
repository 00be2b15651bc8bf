package source

import (
	"fmt"
	"maps"
	"slices"

	"github.com/hocket-run/hocket/diag"
)

// KeySchema is the key under which any document may name its JSON Schema for editors. It has no
// effect on a run.
const KeySchema = "$schema"

// Fields reads one map of a document and records in a diag.List what is missing or of the wrong
// type. It remembers the keys that were read.
//
// A nil Fields is an absent map: its accessors return zero values and add no diagnostics, so that a
// chain of optional maps needs no checks. A key whose value is null counts as absent. Fields is not
// safe for concurrent use.
type Fields struct {
	node  *Node
	diags *diag.List
	asked map[string]bool
}

// Fields returns a view of a map that adds its diagnostics to diags. For a value that is not a map
// it adds an error and returns nil; for a nil Node it returns nil.
func (n *Node) Fields(diags *diag.List) *Fields {
	if n == nil {
		return nil
	}
	if n.Kind != Map {
		n.wrong(diags, "a map")
		return nil
	}
	return &Fields{node: n, diags: diags, asked: map[string]bool{}}
}

// Node returns the map itself.
func (f *Fields) Node() *Node {
	if f == nil {
		return nil
	}
	return f.node
}

// Get returns a value of any type, including null; nil if the key is absent.
func (f *Fields) Get(key string) *Node {
	if f == nil {
		return nil
	}
	f.asked[key] = true
	return f.node.Get(key)
}

// get returns a value that is present and not null.
func (f *Fields) get(key string) *Node {
	if n := f.Get(key); !n.IsNull() {
		return n
	}
	return nil
}

// Str returns a string, or "" if it is absent. A number or a boolean is an error whose hint is to
// quote it.
func (f *Fields) Str(key string) string {
	s, _ := f.OptStr(key)
	return s
}

// OptStr is like Str, but also reports whether a string is present.
func (f *Fields) OptStr(key string) (string, bool) {
	n := f.get(key)
	if n == nil {
		return "", false
	}
	if n.Kind != String {
		n.wrong(f.diags, "a string")
		return "", false
	}
	return n.Text, true
}

// RequireStr is like Str, but reports an absent or empty string as a problem.
func (f *Fields) RequireStr(key string) string {
	if n := f.Require(key); n != nil {
		if s, ok := f.OptStr(key); !ok || s != "" {
			return s
		}
		report(f.diags, diag.Error, n.Span, n.Path(), CodeMissingKey, fmt.Sprintf("%q must not be empty", key))
	}
	return ""
}

// Text is like Str, but also accepts numbers and booleans, in their JSON spelling: for ids and
// labels, which people leave unquoted.
func (f *Fields) Text(key string) string {
	n := f.get(key)
	if n == nil {
		return ""
	}
	if !n.IsScalar() {
		n.wrong(f.diags, "a string")
		return ""
	}
	return n.Text
}

// Int returns a 64-bit integer and whether one is present. 3.0 is an integer.
func (f *Fields) Int(key string) (int64, bool) {
	n := f.get(key)
	if n == nil {
		return 0, false
	}
	if i, ok := n.Int(); ok {
		return i, true
	}
	if v, ok := n.Float(); ok && v == float64(int64(v)) && v > -1<<53 && v < 1<<53 {
		return int64(v), true
	}
	if n.Kind == Int {
		report(f.diags, diag.Error, n.Span, n.Path(), CodeWrongType, n.Text+" is too large a number")
	} else {
		n.wrong(f.diags, "a whole number")
	}
	return 0, false
}

// Float returns a number and whether one is present.
func (f *Fields) Float(key string) (float64, bool) {
	n := f.get(key)
	if n == nil {
		return 0, false
	}
	v, ok := n.Float()
	if !ok {
		n.wrong(f.diags, "a number")
	}
	return v, ok
}

// Bool returns a boolean and whether one is present.
func (f *Fields) Bool(key string) (value, ok bool) {
	n := f.get(key)
	if n == nil {
		return false, false
	}
	value, ok = n.Bool()
	if !ok {
		n.wrong(f.diags, "a boolean")
	}
	return value, ok
}

// List returns the items of a list, or nil if it is absent.
func (f *Fields) List(key string) []*Node {
	n := f.get(key)
	if n == nil {
		return nil
	}
	if n.Kind != List {
		n.wrong(f.diags, "a list")
		return nil
	}
	return n.Items
}

// Strs returns a list of strings; other items are reported and left out.
func (f *Fields) Strs(key string) []string {
	var out []string
	for _, item := range f.List(key) {
		if item.Kind != String {
			item.wrong(f.diags, "a string")
			continue
		}
		out = append(out, item.Text)
	}
	return out
}

// Map returns a map, or nil if it is absent.
func (f *Fields) Map(key string) *Fields {
	if n := f.get(key); n != nil {
		return n.Fields(f.diags)
	}
	return nil
}

// Require returns a value of any type. If it is absent or null, Require reports that and returns
// nil.
func (f *Fields) Require(key string) *Node {
	n := f.get(key)
	if n == nil && f != nil {
		span, path := f.node.Span, f.node.Path()
		if null := f.node.Get(key); null != nil {
			span, path = null.Span, null.Path()
		}
		span.End = diag.Pos{}
		report(f.diags, diag.Error, span, path, CodeMissingKey, fmt.Sprintf("%q is missing", key))
	}
	return n
}

// RequireList is like List, but reports an absent list. It returns nil, false if there is none.
func (f *Fields) RequireList(key string) ([]*Node, bool) {
	n := f.Require(key)
	if n == nil {
		return nil, false
	}
	return f.List(key), n.Kind == List
}

// RequireMap is like Map, but reports an absent map.
func (f *Fields) RequireMap(key string) *Fields {
	if f.Require(key) == nil {
		return nil
	}
	return f.Map(key)
}

// Unknown reports every key that no accessor has read and that is not in known, with the nearest
// known key. A misspelling of a known key is an error, any other key has the given severity.
func (f *Fields) Unknown(severity diag.Severity, known ...string) {
	if f == nil {
		return
	}
	candidates := append(slices.Sorted(maps.Keys(f.asked)), known...)
	for _, e := range f.node.Entries {
		if f.asked[e.Key] || slices.Contains(known, e.Key) || e.Key == KeySchema && f.node.Path() == "" {
			continue
		}
		d := report(f.diags, severity, e.KeySpan, f.node.pathOf(e.Key), CodeUnknownKey,
			fmt.Sprintf("the key %q is not known here", e.Key))
		d.UnknownKey(e.Key, candidates)
	}
}

// wrong reports that a value is not of the expected type.
func (n *Node) wrong(diags *diag.List, want string) {
	d := report(diags, diag.Error, n.Span, n.Path(), CodeWrongType, fmt.Sprintf("expected %s, found %s", want, n.Kind))
	switch {
	case want == "a string" && n.IsScalar() && n.Kind != Null:
		d.Hint = fmt.Sprintf("put it in quotes: %q", n.Text)
	case want == "a boolean" && n.Kind == String:
		d.Hint = "write true or false without quotes"
	case (want == "a number" || want == "a whole number") && n.Kind == String:
		d.Hint = "write the number without quotes"
	}
}

func report(diags *diag.List, sev diag.Severity, span diag.Span, path, code, message string) *diag.Diagnostic {
	return addError(diags, DefaultMaxProblems, sev, span, path, code, message)
}
