package format

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/format/lost"
	"github.com/hocket-run/hocket/internal/format/source"
	"github.com/hocket-run/hocket/workflow"
)

// Format describes one format of workflow documents. Lists of formats are built from the registered
// values.
type Format struct {
	// Name is what people write as FORMAT, and the value of Workflow.Format.
	Name string
	// Title describes its documents on one line: the title of its JSON Schema.
	Title string
	// Form lists the keys by which a document is recognized, for people.
	Form string
	// Choose describes what the format is for, and Page is its page in docs; both are for the table
	// in docs/formats.md.
	Choose, Page string
	// Detect reports whether a document is of the format. Formats are tried in the order of All.
	Detect func(root *source.Node) bool
	// Read compiles a document. The workflow is nil if nothing could be understood; Read of this
	// package validates it.
	Read func(root *source.Node, opts Options) (*workflow.Workflow, diag.List)
	// Write returns a workflow as a document, and what the document does not express.
	Write func(w *workflow.Workflow) ([]byte, lost.List)
	// Schema returns the body of the format's JSON Schema, created by each call.
	Schema func() map[string]any
	// Usual are codes of workflow.Lint that are not reported for documents of the format.
	Usual []string
	// NamesToolsets reports that Read itself reports toolsets that the program cannot open, at
	// their lines.
	NamesToolsets bool
	// Branches reports that documents may have branches, Scheduled that they may contain schedules.
	Branches, Scheduled bool
	// RetryHint explains how to retry a step when its model is overloaded; "" means that documents
	// cannot express it.
	RetryHint string

	// adapt changes a workflow of another format into one that Write can express; nil means that it
	// is written as it is.
	adapt func(*adapter)
	// templates reports that system prompts are templates, defaultInput that documents may have an
	// input for runs without one.
	templates, defaultInput bool
}

// builtin returns the formats of Hocket in the order in which they are detected.
func builtin() []Format {
	return []Format{canvasFormat(), routesFormat(), roundsFormat(), stepsFormat()}
}

var (
	mu    sync.RWMutex
	added []Format
)

// Register adds a format, after those that exist. It panics if the name is empty or taken, or a
// function is missing. It is meant to be called at program start, before documents are read. It is
// safe for concurrent use.
func Register(f Format) {
	if _, taken := Of(f.Name); taken || f.Name == "" || f.Detect == nil || f.Read == nil || f.Write == nil ||
		f.Schema == nil {
		panic(fmt.Sprintf(
			"format: register format %q: the name is empty or registered already, or a function is missing", f.Name))
	}
	mu.Lock()
	defer mu.Unlock()
	added = append(added, f)
}

// All returns the formats in the order in which they are detected. The caller owns the slice.
func All() []Format {
	mu.RLock()
	defer mu.RUnlock()
	return append(builtin(), added...)
}

// Of returns the format with that name, or false if there is none, as for the graph of a program.
func Of(name string) (Format, bool) {
	for _, f := range All() {
		if f.Name == name {
			return f, true
		}
	}
	return Format{}, false
}

// Names returns the names of the formats, sorted.
func Names() []string {
	var out []string
	for _, f := range All() {
		out = append(out, f.Name)
	}
	slices.Sort(out)
	return out
}

// Table returns the table of the formats in docs/formats.md, in Markdown.
func Table() string {
	var b strings.Builder
	b.WriteString("| format | choose it for | recognised by |\n| --- | --- | --- |\n")
	all := All()
	slices.SortStableFunc(all, func(x, y Format) int { return strings.Compare(x.Name, y.Name) })
	for _, f := range all {
		fmt.Fprintf(&b, "| [%s](%s) | %s | %s |\n", f.Name, f.Page, f.Choose, f.Form)
	}
	b.WriteString("| [Go graphs](graphs.md) | functions over a typed state inside your own program | |\n")
	return b.String()
}
