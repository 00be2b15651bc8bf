package source

import (
	"fmt"

	"github.com/hocket-run/hocket/diag"
)

// Twice adds to a problem about a name that is used twice where it is used first. what is the kind
// of thing that has the name, such as "node".
func Twice(d *diag.Diagnostic, first diag.Span, what string) {
	switch {
	case first.File != d.Span.File:
		d.Message += ", first at " + first.String()
	case first.Start.IsKnown():
		d.Message += fmt.Sprintf(", first at %d:%d", first.Start.Line, first.Start.Column)
	}
	d.Related = []diag.Related{{Span: first, Message: "the first " + what}}
}

// CodeTwice is the code of the warning that two edges have the same id.
const CodeTwice = "duplicate-edge-id"

// WarnTwice warns of an id that an earlier call with the same map has seen. Ids that no run reads
// may repeat, but a reader of the document cannot tell their owners apart. id may be nil.
func WarnTwice(seen map[string]diag.Span, id *Node, what string, diags *diag.List) {
	if id.IsNull() || !id.IsScalar() || id.Text == "" {
		return
	}
	if first, twice := seen[id.Text]; twice {
		d := diags.Warnf(id.Span, id.Path(), CodeTwice, "%s id %q is used twice", what, id.Text)
		Twice(d, first, what+" with this id")
		d.Hint = "give one of them another id, or leave it out"
		return
	}
	seen[id.Text] = id.Span
}
