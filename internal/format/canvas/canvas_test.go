package canvas_test

import (
	"flag"
	"testing"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/format/canvas"
	"github.com/hocket-run/hocket/internal/format/formattest"
	"github.com/hocket-run/hocket/internal/format/source"
	"github.com/hocket-run/hocket/workflow"
)

var update = flag.Bool("update", false, "write the golden files anew")

func read(name string, data []byte, opts canvas.Options) (*workflow.Workflow, diag.List) {
	return formattest.Read(name, data, func(root *source.Node) (*workflow.Workflow, diag.List) {
		return canvas.Read(root, opts)
	})
}

func TestCorpus(t *testing.T) {
	t.Parallel()
	formattest.Golden(t, *update, func(_ *testing.T, _, name string, data []byte) (*workflow.Workflow, diag.List) {
		return read(name, data, canvas.Options{Missing: []string{"search_docs"}})
	})
}

// TestCorpus_CoversRules checks that for every rule of S0 about reading, the corpus has a
// document whose name cites it.
func TestCorpus_CoversRules(t *testing.T) {
	t.Parallel()
	formattest.CoversRules(t, "s0", 1, 2, 3, 4, 5, 6, 7, 10, 11, 12, 20, 21, 22, 23, 25, 30, 32, 35, 40, 47, 50, 51, 53,
		55)
}
