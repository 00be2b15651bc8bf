package format_test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/api/httpapi"
	"github.com/hocket-run/hocket/internal/cli"
	"github.com/hocket-run/hocket/internal/docschema"
	"github.com/hocket-run/hocket/internal/docschema/part"
	"github.com/hocket-run/hocket/internal/documents/linked"
	"github.com/hocket-run/hocket/internal/format"
	"github.com/hocket-run/hocket/internal/format/lost"
	"github.com/hocket-run/hocket/internal/format/source"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/workflow"
)

// ladder returns a format that only this test has: agents by name, one after another. It is listed
// nowhere else.
func ladder() format.Format {
	const key = "rungs"
	return format.Format{
		Name: "ladder", Title: "A workflow as a ladder: agents, one above another", Form: "`rungs`",
		Choose: "a few agents in a row", Page: "ladder.md",
		RetryHint: "climb again",
		Detect:    func(root *source.Node) bool { return root.Get(key) != nil },
		Read: func(root *source.Node, _ format.Options) (*workflow.Workflow, diag.List) {
			w := &workflow.Workflow{Format: "ladder"}
			var problems diag.List
			for i, n := range root.Get(key).Items {
				id := n.Text
				if id == "" {
					problems.Errorf(n.Span, "", "missing-key", "rung %d has no agent", i+1)
					continue
				}
				w.Agents = append(w.Agents, workflow.Agent{ID: id})
				w.Nodes = append(w.Nodes, workflow.Node{ID: id, Kind: workflow.KindAgent,
					Agent: &workflow.AgentNode{Agent: id, Prompt: workflow.Prompt{Mode: workflow.PromptContext}}})
				if i > 0 {
					w.Edges = append(w.Edges, workflow.Edge{From: w.Nodes[i-1].ID, To: id})
				} else {
					w.Entry = id
				}
			}
			return w, problems
		},
		Write: func(w *workflow.Workflow) ([]byte, lost.List) {
			var unsupported lost.List
			b := bytes.NewBufferString(key + ":\n")
			for i := range w.Nodes {
				if w.Nodes[i].Kind != workflow.KindAgent {
					unsupported.Nodef(&w.Nodes[i], "%s", lost.Kind(&w.Nodes[i]))
				}
				fmt.Fprintf(b, "  - %s\n", w.Nodes[i].ID)
			}
			return b.Bytes(), unsupported
		},
		Schema: func() map[string]any {
			return part.Entry("agents in a row", part.Object{key: part.Texts("agents")}, key)
		},
	}
}

const ladderDoc = "rungs:\n  - low\n  - high\n"

// register adds the format for the duration of one test, which must not be parallel.
func register(t *testing.T) {
	t.Helper()
	format.Register(ladder())
	t.Cleanup(func() { format.Unregister("ladder") })
}

func TestAddedFormat_Read(t *testing.T) {
	register(t)
	w, list, err := service.Load(t.Context(), "l.yaml", []byte(ladderDoc),
		service.LoadOptions{Formats: linked.Kit().Formats})
	if err != nil || len(list) > 0 || w.Format != "ladder" || len(w.Nodes) != 2 {
		t.Fatalf("Load = %+v, problems %v, error %v", w, list, err)
	}
	_, list = format.Read("l.yaml", []byte("rungs: ['']\n"), format.Options{Format: "ladder"})
	if len(list) == 0 || list[0].Message != "rung 1 has no agent" {
		t.Errorf("problems of the reader: %v", list)
	}
	_, list = format.Read("l.yaml", []byte(ladderDoc), format.Options{Format: "lader"})
	if len(list) != 1 || list[0].Hint != `did you mean "ladder"?` {
		t.Errorf("a misspelled format gives %v", list)
	}
	_, list = format.Read("l.yaml", []byte("steps: []\n"), format.Options{})
	if len(list) != 1 || !strings.Contains(list[0].Hint, "ladder has `rungs`") {
		t.Errorf("a document of no format gives %v", list)
	}
}

func TestAddedFormat_Convert(t *testing.T) {
	register(t)
	w, _ := format.Read("l.yaml", []byte(ladderDoc), format.Options{})
	text, unsupported, err := format.Write(w, "ladder")
	if err != nil || len(unsupported) > 0 || string(text) != ladderDoc {
		t.Errorf("Write = %q, unsupported %v, error %v", text, unsupported, err)
	}
	c, err := format.Convert(w, format.Canvas)
	if err != nil || len(c.Document) == 0 {
		t.Fatalf("Convert to canvas: %+v, %v", c, err)
	}
	back, list := format.Read("c.json", c.Document, format.Options{})
	if list.HasErrors() {
		t.Fatal(list)
	}
	start := format.Change{At: `node "start"`, Kind: format.ChangeMeaning, What: "a node of kind start"}
	if c, err := format.Convert(back, "ladder"); err != nil || !slices.Contains(c.Meaning(), start) {
		t.Errorf("a canvas has a start node, which a ladder cannot say: %v, %v", c.Changes, err)
	}
}

func TestAddedFormat_Schema(t *testing.T) {
	register(t)
	if !slices.Contains(docschema.Names(), "ladder") || docschema.Title("ladder") != ladder().Title {
		t.Errorf("schemas: %v, title %q", docschema.Names(), docschema.Title("ladder"))
	}
	text, err := docschema.Get("ladder")
	if err != nil || !bytes.Contains(text, []byte(`"rungs"`)) || !bytes.Contains(text, []byte(ladder().Title)) {
		t.Errorf("schema %s, error %v", text, err)
	}
}

// TestAddedFormatInCommands checks help, completion, errors and the list of schemas of the command
// line.
func TestAddedFormatInCommands(t *testing.T) {
	register(t)
	run := func(args ...string) string {
		var out bytes.Buffer
		cli.Main(t.Context(), args, cli.Streams{In: strings.NewReader(ladderDoc), Out: &out, Err: &out,
			Env: func(string) string { return "" }}, cli.Wiring{})
		return out.String()
	}
	for _, tc := range []struct {
		want string
		args []string
	}{
		{"canvas, ladder, rounds, routes or steps", []string{"validate", "--help"}},
		{"\nladder\n", []string{"__complete", "validate", "--format", ""}},
		{"\nladder\n", []string{"__complete", "convert", "x", "--to", ""}},
		{"ladder\n", []string{"__complete", "schema", "l"}},
		{"canvas, ladder, rounds, routes or steps", []string{"convert", "-", "--to", "bpmn"}},
		{ladder().Title, []string{"schema"}},
		{"no problems found", []string{"validate", "-"}},
	} {
		if got := run(tc.args...); !strings.Contains(got, tc.want) {
			t.Errorf("%v prints\n%s\nwithout %q", tc.args, got, tc.want)
		}
	}
	if page := cli.ReferencePages()["convert.md"]; !strings.Contains(page, "canvas, ladder, rounds, routes or steps") {
		t.Errorf("the page of convert is\n%s", page)
	}
}

// TestAddedFormatInOpenAPI checks that each enumeration of formats includes the added one.
func TestAddedFormatInOpenAPI(t *testing.T) {
	register(t)
	w := httptest.NewRecorder()
	httpapi.New(httpapi.Config{}).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet,
		httpapi.SpecPath, nil))
	text := strings.Join(strings.Fields(w.Body.String()), "")
	all, with := strings.Count(text, `["canvas",`), strings.Count(text, `["canvas","ladder","rounds","routes","steps"]`)
	if all == 0 || all != with {
		t.Errorf("%d of %d enumerations have the added format", with, all)
	}
}

func TestAddedFormatInTable(t *testing.T) {
	register(t)
	if row := "| [ladder](ladder.md) | a few agents in a row | `rungs` |\n"; !strings.Contains(format.Table(), row) {
		t.Errorf("the table of the reference is\n%s", format.Table())
	}
}

func TestRegisterPanics(t *testing.T) {
	nameless, taken, partial := ladder(), ladder(), ladder()
	nameless.Name, taken.Name, partial.Write = "", "canvas", nil
	for _, f := range []format.Format{nameless, taken, partial} {
		func() {
			defer func() {
				if recover() == nil {
					format.Unregister(f.Name)
					t.Errorf("Register(%q) did not panic", f.Name)
				}
			}()
			format.Register(f)
		}()
	}
}

// TestBuiltinFormats checks that the description of each format is complete.
func TestBuiltinFormats(t *testing.T) {
	t.Parallel()
	for _, f := range format.All() {
		if f.Title == "" || f.Form == "" || f.Choose == "" || f.Page == "" {
			t.Errorf("%s: Title, Form, Choose and Page must not be empty: %+v", f.Name, f)
		}
	}
}
