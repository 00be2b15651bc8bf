package steps_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/format/steps"
	"github.com/hocket-run/hocket/workflow"
)

// author writes random documents: every step type in every position, written and default ids,
// repeated ids, jumps, and conditions that read any step.
type author struct {
	t    *rapid.T
	b    strings.Builder
	next int
	ids  []string
	left int // steps that may still be written
	// jumps reports whether the last list ended in a jump.
	jumps bool
	// block is the number of parallel steps around the current position.
	block int
}

func (a *author) doc() string {
	a.left = rapid.IntRange(1, 14).Draw(a.t, "size")
	a.b.WriteString("toolsets: [{type: fetch}]\nagents:\n  x: {instruction: \"Go on from {{ $steps.s0.output " +
		"}}.\"}\n  y: {}\n" +
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
	if a.jumps = branch && rapid.IntRange(0, 3).Draw(a.t, "jumps") == 0; a.jumps {
		a.b.WriteString(indent + "- " + rapid.SampledFrom(append(a.ids, "0", "1")).Draw(a.t, "jump") + "\n")
	}
}

func (a *author) step(indent string, branch bool) {
	a.left--
	kind := 0
	if a.left > 0 {
		kind = rapid.IntRange(0, 8).Draw(a.t, "kind")
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
		lanes := rapid.IntRange(1, 3).Draw(a.t, "lanes")
		switch join := rapid.SampledFrom([]string{"", "", "all", "any", "race", "quorum"}).Draw(a.t, "join"); join {
		case "":
		case "quorum":
			a.b.WriteString(in + "join: quorum\n" + in + "quorum: 1\n")
		default:
			a.b.WriteString(in + "join: " + join + "\n")
		}
		a.policies(in)
		a.b.WriteString(in + "steps:\n")
		a.block++
		a.list(in+"  ", lanes, false)
		a.block--
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
		a.limit(in)
	case 5:
		a.choice(in)
	case 6, 7, 8:
		a.extension(in)
	default:
		a.b.WriteString("type: agent\n" + in + "name: " + rapid.SampledFrom([]string{"x", "y"}).Draw(a.t, "agent") +
			"\n")
		a.policies(in)
	}
}

// choice writes a switch.
func (a *author) choice(in string) {
	a.b.WriteString("type: switch\n" + in + "cases:\n")
	for range rapid.IntRange(1, 3).Draw(a.t, "cases") {
		a.b.WriteString(in + "  - when: \"{{ $steps." + rapid.SampledFrom(a.ids).Draw(a.t, "reads") +
			".output == 'x' }}\"\n")
		if rapid.IntRange(0, 3).Draw(a.t, "steps") != 0 {
			a.b.WriteString(in + "    steps:\n")
			a.list(in+"      ", rapid.IntRange(1, 2).Draw(a.t, "case"), true)
		}
	}
	if rapid.Bool().Draw(a.t, "else") {
		a.b.WriteString(in + "else:\n")
		a.list(in+"  ", rapid.IntRange(1, 2).Draw(a.t, "no case"), true)
	}
	a.limit(in)
}

// limit writes the steps that follow a loop's limit, which is an error if the step closes no loop
//
func (a *author) limit(in string) {
	if a.jumps && rapid.Bool().Draw(a.t, "limit") || rapid.IntRange(0, 30).Draw(a.t, "lone limit") == 0 {
		a.b.WriteString(in + "limit:\n")
		a.list(in+"  ", rapid.IntRange(1, 2).Draw(a.t, "limited"), true)
	}
}

// value returns a value with or without references.
func (a *author) value() string {
	return rapid.SampledFrom([]string{"1", "plain", "[1, {a: b}]", `"{{ $input }}"`, `"{{ $steps.s0.output }}"`,
		`"x {{ $steps.` + rapid.SampledFrom(a.ids).Draw(a.t, "of") + `.output }}"`}).Draw(a.t, "value")
}

// policies writes when a step runs and what happens after it fails.
func (a *author) policies(in string) {
	if rapid.IntRange(0, 3).Draw(a.t, "if") == 0 {
		a.b.WriteString(in + "if: \"{{ $steps." + rapid.SampledFrom(a.ids).Draw(a.t, "asks") + ".output == 'x' }}\"\n")
	}
	if onError := rapid.SampledFrom([]string{"", "", "", "fail", "continue", "{default: " + a.value() + "}",
		"{goto: " + rapid.SampledFrom(a.ids).Draw(a.t, "goto") + "}"}).Draw(a.t, "on error"); onError != "" {
		a.b.WriteString(in + "on_error: " + onError + "\n")
	}
}

// extension writes a step of a type that the X rules add.
func (a *author) extension(in string) {
	kinds := []string{"tool", "workflow", "set", "approval", "ask", "sleep", "map", "signal", "end"}
	if a.block > 0 {
		kinds = kinds[:8]
	}
	kind := rapid.SampledFrom(kinds).Draw(a.t, "extension")
	a.b.WriteString("type: " + kind + "\n")
	late := []string{"", "deadline: 1h", "deadline: 1h\n" + in + "on_deadline: fail",
		"deadline: 90s\n" + in + "on_deadline: {goto: " + rapid.SampledFrom(a.ids).Draw(a.t, "late at") + "}"}
	switch kind {
	case "tool":
		a.b.WriteString(in + "tool: fetch\n" + in + "args: {url: " + a.value() + "}\n")
		if rapid.Bool().Draw(a.t, "timeout") {
			a.b.WriteString(in + rapid.SampledFrom([]string{"timeout: 30s", "call_timeout: 30s"}).Draw(a.t, "time") +
				"\n")
		}
	case "workflow":
		a.b.WriteString(in + "workflow: " + rapid.SampledFrom([]string{"w", "w@2", "./w.yaml", "../v/w.yaml"}).Draw(a.t,
			"workflow") + "\n")
		if rapid.Bool().Draw(a.t, "input") {
			a.b.WriteString(in + "input: " + a.value() + "\n")
		}
	case "set":
		a.b.WriteString(in + "values: {a: " + a.value() + ", b: " + a.value() + "}\n")
	case "end":
		a.b.WriteString(in + rapid.SampledFrom([]string{"status: completed",
			"status: failed\n" + in + "message: \"no {{ $input }}\"", "output: " + a.value()}).Draw(a.t, "end") + "\n")
		return
	case "map":
		a.b.WriteString(in + "over: " + rapid.SampledFrom([]string{"[1, {a: 2}]", "\"{{ $input }}\"",
			"[\"{{PREVIOUS_OUTPUT}}\"]"}).Draw(a.t, "over") + "\n")
		a.b.WriteString(rapid.SampledFrom([]string{"", in + "as: row\n"}).Draw(a.t, "as"))
		a.b.WriteString(rapid.SampledFrom([]string{"", in + "max_concurrency: 3\n"}).Draw(a.t, "at once"))
		a.b.WriteString(rapid.SampledFrom([]string{"", in + "on_item_error: skip\n", in + "on_item_error: collect\n"}).
			Draw(a.t, "item error"))
		a.policies(in)
		a.b.WriteString(in + "steps:\n")
		a.block++
		a.list(in+"  ", rapid.IntRange(1, 3).Draw(a.t, "body"), false)
		a.block--
		return
	case "sleep":
		a.b.WriteString(in + rapid.SampledFrom([]string{"for: 90s", "for: 5", "until: 2030-01-01T09:00:00Z",
			"until: \"{{ $input }}\""}).Draw(a.t, "rest") + "\n")
		if rapid.Bool().Draw(a.t, "rests if") {
			a.b.WriteString(in + "if: \"{{ $input == 'x' }}\"\n")
		}
		return
	case "signal":
		a.b.WriteString(in + "signal: paid\n")
		for _, key := range []string{"filter: \"{{ $signal.n > 1 && $steps.s0.output != 'x' }}\"",
			"schema: {type: object}", "remind_after: 1h"} {
			if rapid.Bool().Draw(a.t, key) {
				a.b.WriteString(in + key + "\n")
			}
		}
		late = append(late, "deadline: 1h\n"+in+"on_deadline: {default: "+a.value()+"}")
	case "approval":
		a.b.WriteString(in + "prompt: " + rapid.SampledFrom([]string{"Go on?", "\"{{ $steps.s0.output }}?\""}).Draw(a.t,
			"prompt") + "\n")
		late = append(late, "deadline: 1h\n"+in+"on_deadline: approve")
		if rapid.Bool().Draw(a.t, "reject") {
			a.b.WriteString(in + "reject:\n")
			a.list(in+"  ", rapid.IntRange(1, 2).Draw(a.t, "rejected"), true)
			late = append(late, "deadline: 1h\n"+in+"on_deadline: reject")
			a.limit(in)
		}
	case "ask":
		a.b.WriteString(in + "prompt: Who?\n" + in + rapid.SampledFrom([]string{"remind_after: 1h", "options: [a, b]",
			"schema: {type: object, properties: {a: {type: string}}}"}).Draw(a.t, "form") + "\n")
		late = append(late, "deadline: 1h\n"+in+"on_deadline: {default: a}")
	}
	if l := rapid.SampledFrom(late).Draw(a.t, "late"); l != "" && (kind == "approval" || kind == "ask" ||
		kind == "signal") {
		a.b.WriteString(in + l + "\n")
	}
	a.policies(in)
}

// TestRandomDocuments checks for every document that is read without errors that the graph is
// valid, every step is reached, and Write followed by Read returns the same definition (P29).
func TestRandomDocuments(t *testing.T) {
	t.Parallel()
	fine, all, limits, lost := 0, 0, 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		doc := (&author{t: rt}).doc()
		all++
		w, diags := read(t, doc, steps.Options{})
		if diags.HasErrors() {
			for _, d := range diags {
				if d.Severity == diag.Error && d.Code != "duplicate-id" && d.Code != "unknown-target" &&
					d.Code != "unreachable-step" &&
					d.Code != "unknown-step" && !strings.Contains(d.Message, "limit") && d.Code != "bad-reference" &&
					d.Code != "type-mismatch" {
					rt.Fatalf("%s\n%s", d, doc)
				}
			}
			return
		}
		fine++
		if slices.ContainsFunc(w.Edges, func(e workflow.Edge) bool { return e.Port == workflow.PortLimit }) {
			limits++
		}
		for _, d := range workflow.Lint(w) {
			if d.Code == "unreachable-node" || d.Code == "unbounded-cycle" {
				rt.Fatalf("%s\n%s", d, doc)
			}
		}
		data, unsupported := steps.Write(w)
		if len(unsupported) == 1 && strings.Contains(unsupported[0].String(), `its loop has made all its passes`) {
			lost++ // only another loop's limit closes this loop: Write reports what it cannot express
			return
		}
		if len(unsupported) > 0 {
			rt.Fatalf("unsupported: %v\n%s", unsupported, doc)
		}
		again, diags := read(t, string(data), steps.Options{})
		if diags.HasErrors() {
			rt.Fatalf("%s\nfirst:\n%s\nagain:\n%s", diags.Error(), doc, data)
		}
		if workflow.Print(w) != workflow.Print(again) {
			rt.Fatalf("-first +again:\n%s\nfirst:\n%s\nagain:\n%s", cmp.Diff(workflow.Print(w), workflow.Print(again)),
				doc, data)
		}
	})
	t.Logf("%d of %d documents without errors, %d with what follows the bound of a loop, of which %d cannot be "+
		"written again", fine, all, limits, lost)
	if lost > 1+limits/10 {
		t.Errorf("%d of %d bounds of loops cannot be written", lost, limits)
	}
}
