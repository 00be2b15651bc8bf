package routes

import (
	"strings"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/format/source"
)

// row reads the keys of one or two maps with the same kind of content: a row of a table, or the
// workflow's own keys, which may be inside `workflow` or next to it. Each key may be written in
// camelCase or in snake_case (S3-1). A duplicate key is an error.
type row struct {
	maps     []*source.Fields
	diags    *diag.List
	reported map[string]bool // keys that were reported
}

func newRow(diags *diag.List, maps ...*source.Fields) row { return row{maps, diags, map[string]bool{}} }

// at finds the map and the spelling in which a key is present; it returns nil and the key itself if
// the key is absent.
func (x row) at(key string) (*source.Fields, string) {
	var (
		in    *source.Fields
		as    string
		first *source.Entry
	)
	for _, f := range x.maps {
		if f == nil {
			continue
		}
		f.Get(key) // it counts as known, for hints
		for _, spelling := range []string{key, snake(key)} {
			e := f.Node().Entry(spelling)
			switch {
			case e == nil || first != nil && spelling == as && f == in:
			case first == nil:
				in, as, first = f, spelling, e
			default:
				f.Get(spelling)
				if x.reported[key] {
					continue
				}
				x.reported[key] = true
				d := x.diags.Errorf(e.KeySpan, e.Value.Path(), codeSaidTwice, "duplicate key %q", key)
				source.Twice(d, first.KeySpan, "of the two")
			}
		}
	}
	return in, as
}

func (x row) get(key string) *source.Node {
	f, as := x.at(key)
	return f.Get(as)
}

func (x row) text(key string) string {
	f, as := x.at(key)
	return f.Text(as)
}

func (x row) str(key string) string {
	f, as := x.at(key)
	return f.Str(as)
}

// require returns a string that must be present and not empty; it returns "" if it is not, which it
// reports.
func (x row) require(key string) string {
	f, as := x.at(key)
	if f == nil {
		for i := len(x.maps) - 1; i >= 0 && f == nil; i-- {
			f = x.maps[i]
		}
		as = key
	}
	n := f.Require(as)
	if n == nil {
		return ""
	}
	text := f.Text(as)
	if text == "" && n.IsScalar() {
		x.diags.Errorf(n.Span, n.Path(), source.CodeMissingKey, "%q must not be empty", key)
	}
	return text
}

// unknown warns of unknown keys.
func (x row) unknown(known ...string) {
	for _, f := range x.maps {
		f.Unknown(diag.Warning, known...)
	}
}

// snake converts a camelCase key to snake_case.
func snake(key string) string {
	var b strings.Builder
	for _, c := range key {
		if c >= 'A' && c <= 'Z' {
			b.WriteByte('_')
			c += 'a' - 'A'
		}
		b.WriteRune(c)
	}
	return b.String()
}
