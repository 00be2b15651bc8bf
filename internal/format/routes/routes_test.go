package routes_test

import (
	"flag"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/format/formattest"
	"github.com/hocket-run/hocket/internal/format/routes"
	"github.com/hocket-run/hocket/internal/format/source"
	"github.com/hocket-run/hocket/workflow"
)

var update = flag.Bool("update", false, "write the golden files anew")

// externalAgents returns agents from outside the document.
func externalAgents() []workflow.Agent {
	out := []workflow.Agent{{ID: "beside", Name: "Beside"}, {ID: "a1", System: "not this one"}}
	for _, name := range []string{"Router", "RC2", "DM2", "2N"} {
		out = append(out, workflow.Agent{ID: "agent-uuid-" + strings.ToLower(name), Name: name})
	}
	return out
}

func read(name string, data []byte, opts routes.Options) (*workflow.Workflow, diag.List) {
	return formattest.Read(name, data, func(root *source.Node) (*workflow.Workflow, diag.List) {
		return routes.Read(root, opts)
	})
}

// TestCorpus checks that the documents of broken.txtar, and no others, have errors; they have no
// external agents. All others survive a round trip.
func TestCorpus(t *testing.T) {
	t.Parallel()
	formattest.Golden(t, *update,
		func(t *testing.T, archive, name string, data []byte) (*workflow.Workflow, diag.List) {
			broken := archive == "broken.txtar"
			opts := routes.Options{Agents: externalAgents()}
			if broken {
				opts = routes.Options{}
			}
			w, diags := read(name, data, opts)
			if diags.HasErrors() != broken {
				t.Errorf("%s is in the wrong archive: %v", name, diags)
			}
			if !diags.HasErrors() {
				checkRoundTrip(t, w)
			}
			return w, diags
		})
}

// TestCorpus_CoversRules checks that for every rule of S3 about reading, the corpus has a
// document whose name cites it.
func TestCorpus_CoversRules(t *testing.T) {
	t.Parallel()
	formattest.CoversRules(t, "s3", 1, 2, 3, 5, 6, 7, 8, 11, 13, 15, 18, 20, 21, 23)
}

func digest(t interface{ Fatal(...any) }, w *workflow.Workflow) string {
	d, err := w.Digest()
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// checkRoundTrip checks that Write expresses all of w, that the result reads back as the same
// definition (P29), and that writing it again changes no byte.
func checkRoundTrip(t interface {
	Fatal(...any)
	Fatalf(string, ...any)
}, w *workflow.Workflow,
) {
	text, unsupported := routes.Write(w)
	if len(unsupported) > 0 {
		t.Fatalf("unsupported: %v\n%s\n%s", unsupported, workflow.Print(w), text)
	}
	back, diags := read("second.json", text, routes.Options{})
	if diags.HasErrors() {
		t.Fatalf("%s\n%s", text, diags.Error())
	}
	if digest(t, w) != digest(t, back) {
		t.Fatalf("another definition (-before +after):\n%s\n%s", cmp.Diff(workflow.Print(w), workflow.Print(back)),
			text)
	}
	if again, _ := routes.Write(back); string(again) != string(text) {
		t.Fatalf("written differently the second time:\n%s", cmp.Diff(string(text), string(again)))
	}
}
