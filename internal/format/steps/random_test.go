package steps_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/format/steps"
	"github.com/hocket-run/hocket/workflow"
)

// author writes random documents: every step type at every place, written and default ids, repeated ones, jumps, conditions that read any step.
type author struct {
	t    *rapid.T
	b    strings.Builder
	next int
	ids  []string
	left int // steps that may still be written
}

func (a *author) doc() string {
	a.left = rapid.IntRange(1, 14).Draw(a.t, "size")
	a.b.WriteString("agents:\n  x: {instruction: \"Go on from {{ $steps.s0.output }}.\"}\n  y: {}\n" +
		"  z: {structured_output: {name: v, schema: {type: object, properties: {ok: {type: boolean}}}}}\nworkflow:\n")
	a.b.WriteString("  - {id: s0, type: agent, name: x}\n")
	a.next, a.ids = 1, []string{"s0"}
	a.list("  ", rapid.IntRange(1, 4).Draw(a.t, "n"), false)
	return a.b.String()
}

func (a *author) list(indent string, n int, branch bool) {
	wrote := false
	for range n {
		if a.left > 0 || !wrote {
			a.step(indent, branch)
			wrote = true
		}
	}
	if branch && rapid.IntRange(0, 3).Draw(a.t, "jumps") == 0 {
		a.b.WriteString(indent + "- " + rapid.SampledFrom(append(a.ids, "0", "1")).Draw(a.t, "jump") + "\n")
	}
}

func (a *author) step(indent string, branch bool) {
	a.left--
	kind := 0
	if a.left > 0 {
		kind = rapid.IntRange(0, 4).Draw(a.t, "kind")
	}
	a.b.WriteString(indent + "- ")
	in := indent + "  "
	switch rapid.IntRange(0, 5).Draw(a.t, "id") {
	case 0, 1, 2:
		id := fmt.Sprintf("s%d", a.next)
		a.next++
		a.ids = append(a.ids, id)
		a.b.WriteString("id: " + id + "\n" + in)
	case 3:
		if branch {
			a.b.WriteString("id: " + rapid.SampledFrom(a.ids).Draw(a.t, "again") + "\n" + in)
		}
	}
	switch kind {
	case 3:
		a.b.WriteString("type: parallel\n")
		if rapid.Bool().Draw(a.t, "retry") {
			a.b.WriteString(in + "retry: {max_attempts: 2, backoff: exponential}\n")
		}
		a.b.WriteString(in + "steps:\n")
		a.list(in+"  ", rapid.IntRange(1, 3).Draw(a.t, "lanes"), false)
	case 4:
		ref := rapid.SampledFrom(a.ids).Draw(a.t, "reads")
		if rapid.IntRange(0, 2).Draw(a.t, "later") == 0 {
			ref = fmt.Sprintf("s%d", a.next+rapid.IntRange(0, 3).Draw(a.t, "by"))
		}
		a.b.WriteString("type: condition\n" + in + "condition: \"{{ $steps." + ref + ".output == 'x' }}\"\n")
		both := rapid.IntRange(0, 2).Draw(a.t, "branches")
		if both != 0 {
			a.b.WriteString(in + "true:\n")
			a.list(in+"  ", rapid.IntRange(1, 3).Draw(a.t, "yes"), true)
		}
		if both != 1 {
			a.b.WriteString(in + "false:\n")
			a.list(in+"  ", rapid.IntRange(1, 3).Draw(a.t, "no"), true)
		}
	default:
		a.b.WriteString("type: agent\n" + in + "name: " + rapid.SampledFrom([]string{"x", "y"}).Draw(a.t, "agent") + "\n")
	}
}

// TestRandomDocuments holds for every document that is read without errors: the graph is valid, every step is reached, and Write and Read give the same
// definition (P29).
func TestRandomDocuments(t *testing.T) {
	t.Parallel()
	fine, all := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		doc := (&author{t: rt}).doc()
		all++
		w, diags := read(t, doc, steps.Options{})
		if diags.HasErrors() {
			for _, d := range diags {
				if d.Severity == diag.Error && d.Code != "duplicate-id" && d.Code != "unknown-target" && d.Code != "unreachable-step" &&
					d.Code != "unknown-step" && d.Code != "bad-reference" && d.Code != "type-mismatch" {
					rt.Fatalf("%s\n%s", d, doc)
				}
			}
			return
		}
		fine++
		for _, d := range workflow.Lint(w) {
			if d.Code == "unreachable-node" || d.Code == "unbounded-cycle" {
				rt.Fatalf("%s\n%s", d, doc)
			}
		}
		data, unsaid := steps.Write(w)
		if len(unsaid) > 0 {
			rt.Fatalf("unsaid: %v\n%s", unsaid, doc)
		}
		again, diags := read(t, string(data), steps.Options{})
		if diags.HasErrors() {
			rt.Fatalf("%s\nfirst:\n%s\nagain:\n%s", diags.Error(), doc, data)
		}
		if workflow.Print(w) != workflow.Print(again) {
			rt.Fatalf("-first +again:\n%s\nfirst:\n%s\nagain:\n%s", cmp.Diff(workflow.Print(w), workflow.Print(again)), doc, data)
		}
	})
	t.Logf("%d of %d documents without errors", fine, all)
}
