package show

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/hocket-run/hocket/workflow"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestGolden compares the text drawings of each workflow of samples with a golden file.
func TestGolden(t *testing.T) {
	t.Parallel()
	for name, w := range samples() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := &txtar.Archive{Files: []txtar.File{
				{Name: "tree", Data: []byte(Tree(w))}, {Name: "mermaid", Data: []byte(Mermaid(w))},
				{Name: "dot", Data: []byte(DOT(w))},
			}}
			path := filepath.Join("testdata", name+".txtar")
			if *update {
				if err := os.WriteFile(path, txtar.Format(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(txtar.Format(got)), string(want)); diff != "" {
				t.Errorf("(-got +want):\n%s", diff)
			}
		})
	}
}

// TestTreeHandoff checks that the person to whom a run is handed over is drawn separately: no edge
// leads there, and it is not reported as unreachable (S3-15).
func TestTreeHandoff(t *testing.T) {
	t.Parallel()
	w := &workflow.Workflow{
		Name: "Desk", Entry: "a", Agents: []workflow.Agent{{ID: "a", Name: "Host"}},
		Rules: workflow.Rules{Handoff: "h"},
		Nodes: []workflow.Node{
			{ID: "a", Kind: workflow.KindAgent, Agent: &workflow.AgentNode{Agent: "a"}},
			{ID: "h", Name: "boss", Kind: workflow.KindWait, Wait: &workflow.Wait{Kind: workflow.WaitQuestion}},
			{ID: "END", Kind: workflow.KindEnd, Hidden: true},
			{ID: "dead", Kind: workflow.KindAgent, Agent: &workflow.AgentNode{Agent: "a"}},
		},
		Edges: []workflow.Edge{
			{From: "h", To: "a", Port: workflow.NextPort("go"), Label: "go"},
			{From: "h", To: "END", Port: workflow.NextPort("stop"), Label: "stop"},
			{From: "a", To: "END"},
		},
	}
	want := "Desk\n\n■ a  agent · Host\n│\n◉ end\n\nwhere a limit is met:\n◐ boss  question · takes over at a " +
		"limit\n├─ go → a (above)\n└─ stop ◉ end\n\nnot reached from the entry:\n■ dead  agent · Host\n"
	if got := Tree(w); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestMap_DrawnAsGroup checks that the body of a map is drawn as its own group, and that the nodes
// after the map are not attached to the body.
func TestMap_DrawnAsGroup(t *testing.T) {
	t.Parallel()
	set := func(id, parent string) workflow.Node {
		return workflow.Node{ID: id, Kind: workflow.KindSet, Parent: parent, Set: &workflow.SetNode{Value: []byte("1")}}
	}
	w := &workflow.Workflow{Entry: "m", Nodes: []workflow.Node{
		{ID: "m", Kind: workflow.KindMap, Map: &workflow.Map{Entry: "a", As: "row", MaxConcurrency: 3}}, set("a", "m"),
		set("b", "m"), set("z", ""),
	}, Edges: []workflow.Edge{{From: "a", To: "b"}, {From: "m", To: "z"}}}
	if got, want := Tree(w), "⁝ m  map · 3 at a time\n├─ for each row\n│  ≔ a  set\n│  │\n│  ≔ b  set\n│\n≔ "+
		"z  set\n"; !strings.HasSuffix(got, want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := Mermaid(w); !strings.Contains(got, "subgraph") || !strings.Contains(got, `n0 -->|"for each row"| n1`) {
		t.Errorf("got\n%s", got)
	}
}

// TestTreeInputs checks that a run's inputs are shown in order, with their descriptions.
func TestTreeInputs(t *testing.T) {
	t.Parallel()
	w := &workflow.Workflow{
		Name: "Forecast", Entry: "a", Nodes: []workflow.Node{{ID: "a", Kind: workflow.KindEnd}},
		Inputs: []workflow.Input{
			{Name: "city", Schema: []byte(`{"type":"string","title":"City\u202e"}`)},
			{Name: "days", Schema: []byte(`{"type":"integer","default":3,"description":"how many"}`)},
			{Name: "unit", Schema: []byte(`{"enum":["metric",1]}`)},
			{Name: "any", Schema: []byte(`{}`), Optional: true},
			{Name: "notes", Schema: []byte(`{}`), Optional: true, File: &workflow.FileInput{}},
		},
	}
	want := "Forecast\ninput city  string · City\\u{202e}\ninput days  integer, default 3 · how many\ninput unit  " +
		"\"metric\" | 1\ninput any  any value, optional\ninput notes  file, optional\n\n"
	if got := Tree(w); !strings.HasPrefix(got, want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
