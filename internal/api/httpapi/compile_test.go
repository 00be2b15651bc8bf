package httpapi_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/api/httpapi"
	"github.com/hocket-run/hocket/internal/service"
)

// compiled requests the compilation of a document.
func (w *world) compiled(body m) httpapi.Compiled {
	w.t.Helper()
	var out httpapi.Compiled
	w.do("POST", "/api/v1/documents/compile", body).is(200).decode(&out)
	return out
}

// TestCompile checks that problems carry their node and their location in UTF-16 code units, and
// that the part that was understood is returned as a graph along with them.
func TestCompile(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	got := w.compiled(m{"document": post})
	if !got.OK || got.Format != "canvas" || len(got.Diagnostics) != 0 || got.Graph == nil ||
		string(got.Inputs) != "null" || len(got.Branches) != 0 {
		t.Fatalf("%+v", got)
	}
	g := got.Graph
	units := utf16.Encode([]rune(post))
	for _, n := range g.Nodes {
		if n.Span == nil || n.Node != n.ID || n.X < 0 || n.Y < 0 || n.X+n.Width > g.Width || n.Y+n.Height > g.Height {
			t.Errorf("%+v", n)
		} else if text := string(utf16.Decode(units[n.Span.Start.Offset:n.Span.End.Offset])); !strings.HasPrefix(text,
			`{"id": "`+n.Node+`"`) || !strings.HasSuffix(text, "}") {
			t.Errorf("%s is at %q", n.Node, text)
		}
	}
	if len(g.Nodes) != 4 || len(g.Edges) != 4 || g.Nodes[1].Kind != "agent" || g.Nodes[1].Agent != "w" ||
		g.Nodes[2].Word != "approval" {
		t.Errorf("%+v", g)
	}
	for i, e := range g.Edges {
		if e.Kind != "run" || e.Edge == nil || *e.Edge != i || e.Span == nil || len(e.Points) < 2 ||
			(e.Port == "reject") != e.Back {
			t.Errorf("%+v", e)
		}
	}

	broken := strings.NewReplacer(`"bees"`, `"蜂🐝"`, `"target": "w", "sourceHandle": "reject"`,
		`"target": "nowhere", "sourceHandle": "reject"`, `"model": "own/m"}},
  {"id": "ok"`, `"model": "own/m", "🐝 not known 蜂": 1, "labl": 2}},
  {"id": "ok"`).Replace(post)
	got = w.compiled(m{"document": broken, "name": "bees.json"})
	if got.OK || got.Graph == nil || len(got.Graph.Nodes) != 4 {
		t.Fatalf("%+v", got)
	}
	i := slices.IndexFunc(got.Diagnostics, func(d httpapi.Mark) bool { return strings.Contains(d.Message, "labl") })
	if i < 0 {
		t.Fatalf("%+v", got.Diagnostics)
	}
	d := got.Diagnostics[i]
	units = utf16.Encode([]rune(broken))
	if d.Node == nil || *d.Node != "w" || d.Branch != nil || d.File != "" || d.Severity != diag.Error ||
		d.Hint != `did you mean "label"?` || d.Span.Start.Line != 3 ||
		string(utf16.Decode(units[d.Span.Start.Offset:d.Span.End.Offset])) != `"labl"` {
		t.Errorf("%+v %+v", d, d.Span)
	}
}

// TestCompile_Unreadable checks that a document that cannot be read yields problems and no graph.
func TestCompile_Unreadable(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, nothing := range []string{"", "{", "7", "\ufeff", "a: *a"} {
		if got := w.compiled(m{"document": nothing}); got.OK || len(got.Diagnostics) == 0 {
			t.Errorf("%q: %+v", nothing, got)
		}
	}
	w.do("POST", "/api/v1/documents/compile", m{"document": poem, "format": "cobol"}).problem(422, "invalid")
	w.do("POST", "/api/v1/documents/compile", m{"document": strings.Repeat("# a\n", 3<<20)}).problem(413, "too_large")
}

// TestCompileBranch checks that a branch of a rounds document is drawn alone, and that a branch
// that does not exist yields no graph.
func TestCompileBranch(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	text := `{"agents": [{"id": "a", "name": "A", "model": "own/m"}], "maxRounds": 1, "inputs": {"topic": {"type": ` +
		`"string"}},
 "nodes": [{"id": "x", "type": "agent", "config": {"agentId": "a"}}], "edges": [],
 "branches": [{"id": "side", "name": "Side", "maxRounds": 1, "nodes": [{"id": "y", "type": "agent", "config": ` +
		`{"agentId": "é"}}], "edges": []}]}`
	for branch, want := range map[string]string{"": "x", "side": "y"} {
		got := w.compiled(m{"document": text, "branch": branch})
		if got.Graph == nil || len(got.Graph.Nodes) != 1 || got.Graph.Nodes[0].ID != want || len(got.Branches) != 1 ||
			got.Branches[0].ID != "side" || !strings.Contains(string(got.Inputs), "topic") {
			t.Errorf("%q: %+v", branch, got)
		}
		d := got.Diagnostics[slices.IndexFunc(got.Diagnostics, func(d httpapi.Mark) bool {
			return d.Code == "unknown-agent"
		})]
		if d.Branch == nil || *d.Branch != "side" || d.Node == nil || *d.Node != "y" {
			t.Errorf("%+v", d)
		}
	}
	if got := w.compiled(m{"document": text, "branch": "nowhere"}); got.Graph != nil {
		t.Errorf("%+v", got)
	}
}

// TestCompile_ProblemRanges checks that in each broken document of the format tests, with
// characters of one and of two code units before its values, a mark covers the same characters that
// the command line reports.
func TestCompile_ProblemRanges(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	codes := map[string]map[string]bool{}
	for _, doc := range brokenDocuments(t) {
		format, _, _ := strings.Cut(doc.File, "/")
		text := string(doc.Data)
		_, want, err := w.service.Load(t.Context(), "document", doc.Data,
			service.LoadOptions{Format: format, Retired: true})
		if err != nil {
			t.Fatal(err)
		}
		got := w.compiled(m{"document": text, "format": format}).Diagnostics
		if len(got) != len(want) {
			t.Fatalf("%s: %d problems, want %d", doc.File, len(got), len(want))
		}
		units, lines := utf16.Encode([]rune(text)), linesOf(text)
		for i, d := range want {
			switch {
			case got[i].Code != d.Code || got[i].Message != d.Message:
				t.Fatalf("%s: %+v, want %+v", doc.File, got[i], d)
			case d.Span.File != "document" || !d.Span.Start.IsKnown():
				if got[i].Span != nil {
					t.Errorf("%s: %s has the place %+v", doc.File, d, got[i].Span)
				}
				continue
			}
			end := d.Span.End
			if !end.IsKnown() {
				end = d.Span.Start
			}
			span := got[i].Span
			if marked := string(utf16.Decode(units[span.Start.Offset:span.End.Offset])); marked !=
				text[d.Span.Start.Offset:end.Offset] {
				t.Errorf("%s: %s marks %q", doc.File, d, marked)
			}
			for place, at := range map[httpapi.Place]diag.Pos{span.Start: d.Span.Start, span.End: end} {
				column := len(utf16.Encode([]rune(lines[at.Line-1])[:at.Column-1])) + 1
				if place.Line != at.Line || place.Column != column {
					t.Errorf("%s: %s is at %+v, want column %d", doc.File, d, place, column)
				}
				if column != at.Column {
					if codes[format] == nil {
						codes[format] = map[string]bool{}
					}
					codes[format][d.Code] = true
				}
			}
		}
	}
	for format, least := range map[string]int{"canvas": 25, "rounds": 22, "routes": 25, "steps": 20} {
		if n := len(codes[format]); n < least {
			t.Errorf("%s: %d codes behind characters of two code units, want %d: %v", format, n, least, codes[format])
		}
	}
}

// linesOf splits a string at LF, CR LF and CR.
func linesOf(text string) []string {
	return strings.Split(strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n"), "\n")
}

// brokenDocuments returns the documents of the format tests, named FORMAT/NAME: unchanged, and with
// a key of non-ASCII characters at the start of each map in braces.
func brokenDocuments(t *testing.T) (out []service.Document) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", "format", "*", "testdata", "*.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	deeper, err := filepath.Glob(filepath.Join("..", "..", "format", "steps", "testdata", "*", "*.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range append(files, deeper...) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		format := strings.Split(filepath.ToSlash(file), "/")[3]
		for _, f := range txtar.Parse(text).Files {
			if ext := filepath.Ext(f.Name); ext != ".json" && ext != ".yaml" || strings.HasPrefix(f.Name, "out/") {
				continue
			}
			name := format + "/" + filepath.Base(file) + "/" + f.Name
			out = append(out, service.Document{File: name, Data: f.Data},
				service.Document{File: name + " with other characters", Data: withForeignKeys(f.Data)})
		}
	}
	inText := "agents: {a: {model: own/m}}\r\nworkflow:\r\n  - {type: condition, condition: '{{ \"🐝\" == " +
		"$steps.nö🐝.output && $bad }}', true: [{type: agent, name: a}]}\r  - {id: b, type: agent, name: a, prompt: " +
		"\"🐝 {{ $steps.nowhere.output }}\"}\n"
	return append(out, service.Document{File: "steps/in a text", Data: []byte(inText)},
		service.Document{File: "steps/behind a mark", Data: []byte("\ufeff" + inText)})
}

// withForeignKeys inserts a key of non-ASCII characters at the start of each map in braces.
func withForeignKeys(data []byte) []byte {
	var b strings.Builder
	quoted := false
	for i := range len(data) {
		c := data[i]
		b.WriteByte(c)
		switch {
		case c == '"' && (i == 0 || data[i-1] != '\\'):
			quoted = !quoted
		case c == '{' && !quoted && (i == 0 || data[i-1] != '{' && data[i-1] != '$') && i+1 < len(data) &&
			data[i+1] != '{':
			b.WriteString(`"é蜂🐝": "𝄞"`)
			if rest := strings.TrimSpace(string(data[i+1:])); !strings.HasPrefix(rest, "}") {
				b.WriteString(", ")
			}
		}
	}
	return []byte(b.String())
}

// TestGraphs checks that the graphs of stored workflows and of runs match their documents, for
// callers who may see them.
func TestGraphs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	tag := w.do("PUT", "/api/v1/workflows/post", m{"document": post}).is(200).header.Get("ETag")
	var got httpapi.Drawn
	a := w.do("GET", "/api/v1/workflows/post/graph", nil).is(200)
	a.decode(&got)
	if a.header.Get("ETag") != tag || got.Format != "canvas" || *got.Version != 1 || got.Branch != nil {
		t.Errorf("%q %+v", a.header.Get("ETag"), got)
	}
	if diff := cmp.Diff(w.compiled(m{"document": post}).Graph, got.Graph); diff != "" {
		t.Errorf("(-compiled +stored):\n%s", diff)
	}
	w.do("GET", "/api/v1/workflows/post/graph", nil, "If-None-Match", tag).is(304)

	shorter := strings.Replace(post, `,
  {"id": "p", "type": "agent", "data": {"agentName": "publisher", "userPrompt": "{{PREVIOUS_OUTPUT}}", "model": `+
		`"own/m"}}]`, "]", 1)
	w.do("PUT", "/api/v1/workflows/post", m{"document": shorter, "draft": true}).is(200)
	w.do("GET", "/api/v1/workflows/post/graph?draft=true", nil).is(200).decode(&got)
	if len(got.Graph.Nodes) != 3 || *got.Version != 2 {
		t.Errorf("the draft is %+v", got)
	}
	w.withCaller(access.RoleRun, false).do("GET", "/api/v1/workflows/post/graph?version=2", nil).problem(403,
		"forbidden")
	w.do("GET", "/api/v1/workflows/post/graph?branch=nowhere", nil).problem(404, "not_found")
	w.do("GET", "/api/v1/workflows/nothing/graph", nil).problem(404, "not_found")

	run := w.do("POST", "/api/v1/runs?wait=10s", m{"workflow": "post"}).is(201).run()
	w.do("PUT", "/api/v1/workflows/post", m{"document": shorter}).is(200)
	w.do("GET", "/api/v1/runs/"+run.ID+"/graph", nil).is(200).decode(&got)
	if got.Graph == nil || len(got.Graph.Nodes) != 4 || got.Format != "canvas" {
		t.Fatalf("the graph of the run is %+v", got)
	}
	nodes := map[string]string{}
	for _, n := range got.Graph.Nodes {
		nodes[n.ID] = n.Kind
		if n.Span != nil {
			t.Errorf("%+v has a place, without a document", n)
		}
	}
	for _, s := range run.Steps {
		if nodes[s.Node] == "" {
			t.Errorf("step %+v is not among %v", s, nodes)
		}
	}
}
