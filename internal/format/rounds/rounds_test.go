package rounds_test

import (
	"bytes"
	"flag"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/format/formattest"
	"github.com/hocket-run/hocket/internal/format/rounds"
	"github.com/hocket-run/hocket/internal/format/source"
	"github.com/hocket-run/hocket/workflow"
)

var update = flag.Bool("update", false, "write the golden files anew")

// externalAgents are agents from outside the documents, as provided with --agents.
var externalAgents = rounds.Options{Agents: []workflow.Agent{{ID: "ann", Name: "Ann Beside"},
	{ID: "eve", Name: "Eve", System: "You are Eve."}}}

func read(name string, data []byte) (*workflow.Workflow, diag.List) {
	return formattest.Read(name, data, func(root *source.Node) (*workflow.Workflow, diag.List) {
		return rounds.Read(root, externalAgents)
	})
}

func TestCorpus(t *testing.T) {
	t.Parallel()
	formattest.Golden(t, *update, func(_ *testing.T, _, name string, data []byte) (*workflow.Workflow, diag.List) {
		return read(name, data)
	})
}

// TestCorpus_CoversRules checks that for every rule of S1 about reading, the corpus has a
// document whose name cites it, and that at least 25 documents are broken.
func TestCorpus_CoversRules(t *testing.T) {
	t.Parallel()
	broken := 0
	for name, data := range formattest.Corpus(t) {
		if _, diags := read(name, data); diags.HasErrors() {
			broken++
		}
	}
	if broken < 25 {
		t.Errorf("%d broken documents, want at least 25", broken)
	}
	formattest.CoversRules(t, "s1", 1, 2, 4, 5, 6, 7, 8, 10, 11, 12, 13, 14, 16, 20, 22, 23, 27, 30, 31, 32, 39)
}

// TestCorpus_RoundTrip checks that the output of Write reads back as the same workflow, for every
// document of the corpus that can run.
func TestCorpus_RoundTrip(t *testing.T) {
	t.Parallel()
	n := 0
	for name, data := range formattest.Corpus(t) {
		w, diags := read(name, data)
		if diags.HasErrors() {
			continue
		}
		n++
		checkRoundTrip(t, w)
	}
	if n < 15 {
		t.Errorf("%d documents came back, want at least 15", n)
	}
}

// checkRoundTrip checks that Write expresses all of w and that reading the result returns the same
// definition, and the same text when written again.
func checkRoundTrip(t interface {
	Helper()
	Fatalf(format string, args ...any)
}, w *workflow.Workflow,
) {
	t.Helper()
	text, unsupported := rounds.Write(w)
	if len(unsupported) > 0 {
		t.Fatalf("unsupported: %v\n%s", unsupported, workflow.Print(w))
	}
	back, diags := read("again.json", text)
	if diags.HasErrors() {
		t.Fatalf("%s\n%s", diags.Error(), text)
	}
	want, err1 := w.Digest()
	got, err2 := back.Digest()
	if err1 != nil || err2 != nil || got != want {
		t.Fatalf("%v %v (-got +want):\n%s\n%s", err1, err2, cmp.Diff(workflow.Print(back), workflow.Print(w)), text)
	}
	if again, _ := rounds.Write(back); !bytes.Equal(again, text) {
		t.Fatalf("written again (-got +want):\n%s", cmp.Diff(string(again), string(text)))
	}
}

func TestDetect(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		`{"nodes": [], "edges": []}`:                                  true,
		`{"branches": []}`:                                            true,
		`{"nodes": [], "maxRounds": 3}`:                               true,
		`{"executionMode": "interval"}`:                               true,
		`{"nodes": [{"id": "n", "config": {"agentId": "a"}}, null]}`:  true,
		`{"nodes": [{"id": "n", "parameters": {"agentId": "a"}}, 1]}`: true,
		`{"nodes": [{"id": "s", "type": "start"}]}`:                   false,
		`{"nodes": "x"}`:                                              false,
		`[]`:                                                          false,
	} {
		root, _ := source.Parse("f", []byte(text))
		if got := rounds.Detect(root); got != want {
			t.Errorf("%s: got %t", text, got)
		}
	}
	if rounds.Detect(nil) {
		t.Error("nothing is taken for a rounds document")
	}
}

// TestRead_NotAMap checks that a document that is not a map is not a workflow, and that this is
// reported.
func TestRead_NotAMap(t *testing.T) {
	t.Parallel()
	w, diags := rounds.Read(nil, rounds.Options{})
	if w == nil || len(w.Nodes) > 0 || len(diags) > 0 {
		t.Errorf("%v %v", w, diags)
	}
}

// TestManyProblems checks that names are compared only a limited number of times, so that a
// document that is wrong throughout is still read in time.
func TestManyProblems(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString(`{"nodes": [`)
	for i := range 400 {
		fmt.Fprintf(&b, `{"id": "n%d", "type": "agent", "config": {"agentId": "agent-%d"}},`, i, i)
	}
	b.WriteString(`{"id": "end", "type": "agent", "config": {"agentId": "evf"}}], "edges": []}`)
	_, diags := read("f", []byte(b.String()))
	errors := 0
	for _, d := range diags {
		if d.Severity == diag.Error {
			errors++
		}
	}
	if errors != 401 {
		t.Errorf("%d errors, want one for each node", errors)
	}
}
