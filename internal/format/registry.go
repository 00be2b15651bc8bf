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

// Format describes one language of workflow documents. Lists of formats are made of the registered values.
type Format struct {
	// Name is what people write as FORMAT, and the value of Workflow.Format.
	Name string
	// Title says on one line what its documents are: the title of its JSON Schema.
	Title string
	// Form lists the keys by which a document is recognized, for people.
	Form string
	// Choose says what the format is for, and Page is its page below docs, both for the table in docs/formats.md.
	Choose, Page string
	// Detect tells whether a document is of the format. Formats are asked in the order of All.
	Detect func(root *source.Node) bool
	// Read compiles a document. The workflow is nil where nothing could be understood; Read of this package validates it.
	Read func(root *source.Node, opts Options) (*workflow.Workflow, diag.List)
	// Write gives a workflow as a document, and what the document does not say of it.
	Write func(w *workflow.Workflow) ([]byte, lost.List)
	// Schema gives the body of the format's JSON Schema, made anew by each call.
	Schema func() map[string]any
	// Usual are codes of workflow.Lint that are not reported for documents of the format.
	Usual []string
	// NamesToolsets: Read itself reports toolsets that the program cannot open, at their lines.
	NamesToolsets bool
	// Branches: documents may hold branches. Scheduled: they may say when runs start by themselves.
	Branches, Scheduled bool
	// DefaultModel is the model of agents where nothing names one; "": none.
	DefaultModel string
	// RetryHint says how a step is made to be tried again when its model is overloaded; "": documents cannot say it.
	RetryHint string

	// adapt changes a workflow of another format into one that Write can say; nil: it is written as it is.
	adapt func(*adapter)
	// templates: system prompts are templates. defaultInput: documents may have an input of runs that are given none.
	templates, defaultInput bool
}

// builtin gives the formats of Hocket in the order in which they are looked for.
func builtin() []Format {
	return []Format{canvasFormat(), routesFormat(), roundsFormat(), stepsFormat()}
}

var (
	mu    sync.RWMutex
	added []Format
)

// Register adds a format, after those that exist. It panics if the name is empty or taken, or a function is missing. It is meant for the start of a program,
// before documents are read. Safe for concurrent use.
func Register(f Format) {
	if _, taken := Of(f.Name); taken || f.Name == "" || f.Detect == nil || f.Read == nil || f.Write == nil || f.Schema == nil {
		panic(fmt.Sprintf("format: register format %q: the name is empty or registered already, or a function is missing", f.Name))
	}
	mu.Lock()
	defer mu.Unlock()
	added = append(added, f)
}

// All gives the formats in the order in which they are looked for. The slice is the caller's own.
func All() []Format {
	mu.RLock()
	defer mu.RUnlock()
	return append(builtin(), added...)
}

// Of gives the format of a name; false: there is none, as for a graph of a program.
func Of(name string) (Format, bool) {
	for _, f := range All() {
		if f.Name == name {
			return f, true
		}
	}
	return Format{}, false
}

// Names gives the names of the formats, sorted.
func Names() []string {
	var out []string
	for _, f := range All() {
		out = append(out, f.Name)
	}
	slices.Sort(out)
	return out
}

// Table gives the table of the formats in docs/formats.md, in Markdown.
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
