package show

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "write the golden files anew")

// Each workflow of samples has a golden file with the drawings of it that are text.
func TestGolden(t *testing.T) {
	t.Parallel()
	for name, w := range samples() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := &txtar.Archive{Files: []txtar.File{
				{Name: "tree", Data: []byte(Tree(w))}, {Name: "mermaid", Data: []byte(Mermaid(w))}, {Name: "dot", Data: []byte(DOT(w))},
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
