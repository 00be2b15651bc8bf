package diag_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/diag"
)

func span(line, col int) diag.Span {
	return diag.Span{File: "a.yaml", Start: diag.Pos{Line: line, Column: col}}
}

func TestString(t *testing.T) {
	t.Parallel()
	var l diag.List
	l.Errorf(span(3, 5), "nodes[0]", "unknown-node", "no node %q", "x").Hint = "did you mean \"y\"?"
	l.Warnf(diag.Span{}, "", "odd", "hm")
	if got, want := l[0].String(),
		`a.yaml:3:5: error: no node "x" (unknown-node); hint: did you mean "y"?`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got, want := l[1].String(), `-: warning: hm (odd)`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestSortAndErr(t *testing.T) {
	t.Parallel()
	var l diag.List
	l.Warnf(span(2, 1), "", "b", "second line")
	l.Warnf(span(1, 9), "", "w", "a warning")
	l.Errorf(span(1, 9), "", "e", "an error at the same place")
	l.Errorf(span(1, 2), "", "a", "first")
	l.Sort()
	var got []string
	for _, d := range l {
		got = append(got, d.Code)
	}
	if s := strings.Join(got, " "); s != "a e w b" {
		t.Errorf("order %s, want a e w b", s)
	}
	if l.Err() == nil || !strings.Contains(l.Err().Error(), "first") {
		t.Errorf("Err gives %v", l.Err())
	}
	if (diag.List{{Severity: diag.Warning}}).Err() != nil {
		t.Error("warnings alone are an error")
	}
}

func TestSuggest(t *testing.T) {
	t.Parallel()
	known := []string{"nodes", "connections", "type", "agentName"}
	for in, want := range map[string]string{
		"node": "nodes", "conections": "connections", "tpye": "type", "agentname": "agentName", "xyz": "", "": "",
		strings.Repeat("n", 100): "",
	} {
		if got := diag.Suggest(in, known); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	if got := diag.DidYouMean("nods", known); got != `did you mean "nodes"?` {
		t.Errorf("got %s", got)
	}
}

func ExampleList() {
	var problems diag.List
	problems.Errorf(diag.Span{File: "a.yaml", Start: diag.Pos{Line: 2, Column: 3}}, "agents", "no-agents",
		"there are no agents")
	fmt.Println(problems.Err())
	// Output: a.yaml:2:3: error: there are no agents (no-agents)
}

// TestIsMisspelling defines when a name is treated as a misspelling of another one and rejected;
// more distant names only cause a warning.
// TestSuggest_ManyNames checks that the cost of a hint, and its length, do not grow with the number
// of names: a document may have any number, and as many that are wrong.
func TestSuggest_ManyNames(t *testing.T) {
	t.Parallel()
	var known []string
	for i := range 1001 {
		known = append(known, fmt.Sprintf("input%04d", i))
	}
	if got := diag.Suggest("inpt0999", known); got != "input0999" {
		t.Errorf("got %q, want the 1000th name", got)
	}
	if got := diag.Suggest("the_last_one", append(known, "the_last_onee")); got != "" {
		t.Errorf("got %q, which is not among the first 1000 names", got)
	}
	got := diag.DidYouMeanOr("zz", "the inputs are", known)
	want := "the inputs are " + strings.Join(known[:12], ", ") + ", …"
	if got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := diag.DidYouMeanOr("agnet", "it has", []string{"agent"}), `did you mean "agent"?`; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestIsMisspelling(t *testing.T) {
	t.Parallel()
	known := []string{"id", "url", "name", "model", "maxRounds", "system_prompt", "instruction", "add_date", "toolsets"}
	for in, want := range map[string]string{
		"name": "", "nam": "name", "naem": "name", "Name": "name", "max-rounds": "maxRounds", "MAX_ROUNDS": "maxRounds",
		"systemPrompt": "system_prompt",
		"ulr":          "url", "ur": "", "modle": "model", "mdoel": "model", "molde": "", "ID": "id", "di": "",
		"idd":          "",
		"ide":          "",
		"instructions": "instruction", "instrutcoin": "instruction", "instrctn": "", "toolset": "toolsets",
		"tolset": "", "addDate": "add_date", "": "", "_": "",
	} {
		if got := diag.Misspelt(in, known); got != want {
			t.Errorf("Misspelt(%q) = %q, want %q", in, got, want)
		}
	}
}

// TestAllowUnknown checks that only the errors for unknown names become warnings, and that without
// AllowUnknown they are errors that can be told apart from others.
func TestAllowUnknown(t *testing.T) {
	t.Parallel()
	var l diag.List
	l.Warnf(diag.Span{}, "", "unknown-key", "far").UnknownKey("colour", []string{"name"})
	if l.HasErrors() {
		t.Errorf("a key that is close to none is an error: %v", l)
	}
	l.Warnf(diag.Span{}, "", "unknown-key", "near").UnknownKey("nmae", []string{"name"})
	l.Warnf(diag.Span{}, "", "unknown-key", "other").UnknownAs("name")
	if l[1].Severity != diag.Error || l[2].Severity != diag.Error || l[1].Hint != `did you mean "name"?` ||
		l.HasFaults() {
		t.Errorf("%v", l)
	}
	l.AllowUnknown()
	if l.HasErrors() {
		t.Errorf("allowed: %v", l)
	}
	l.Errorf(diag.Span{}, "", "bad-value", "bad")
	if l.AllowUnknown(); !l.HasErrors() || !l.HasFaults() {
		t.Errorf("a fault was allowed: %v", l)
	}
}
