package definition

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/service/failure"
	"github.com/hocket-run/hocket/workflow"
)

// CodeUnknownWorkflow is the diagnostic code for a workflow that a step runs but that does not
// exist.
const CodeUnknownWorkflow = "unknown-workflow"

// Limits of the files that steps of a document run: the depth of references, and the number of
// files read for one document.
const (
	maxCalledDepth = 8
	maxCalledFiles = 100
)

// callReader reads the files referenced by the steps of one document that run workflows.
type callReader struct {
	opts  LoadOptions
	extra []workflow.Agent
	left  int
	list  diag.List
}

// called reads the workflows in the files that steps of w, the document in file, name. Paths are
// relative to the folder of the document that contains them.
func (o LoadOptions) called(ctx context.Context, w *workflow.Workflow, file string, extra []workflow.Agent) (
	diag.List, error) {
	r := callReader{opts: o, extra: extra, left: maxCalledFiles}
	err := r.read(ctx, w, o.Folder, []string{canonicalPath(file)})
	return r.list, err
}

// read reads the files of w; chain are the files that lead to it, its own last.
func (r *callReader) read(ctx context.Context, w *workflow.Workflow, folder string, chain []string) error {
	for _, part := range withNested(w) {
		for _, n := range part.Calls() {
			c, _ := workflow.ParseCall(n.Tool.Workflow)
			if c.File == "" {
				continue
			}
			sub, err := r.file(ctx, part, n, c.File, folder, chain)
			if err != nil {
				return err
			}
			if part.Called == nil {
				part.Called = map[string]*workflow.Workflow{}
			}
			if sub != nil {
				part.Called[n.Tool.Workflow] = sub
			}
		}
	}
	return nil
}

// file reads one file; it returns nil after an error that was reported.
func (r *callReader) file(ctx context.Context, w *workflow.Workflow, n *workflow.Node, name, folder string,
	chain []string) (*workflow.Workflow, error) {
	refuse := func(hint, format string, args ...any) {
		r.list.Errorf(w.Source.Node(n.ID), "", CodeUnknownWorkflow, "step %q: workflow %s: %s", n.Title(), name,
			fmt.Sprintf(format, args...)).Hint = hint
	}
	if folder == "" {
		refuse("store that workflow and name its id", "the document is not in a folder, so it cannot name a file")
		return nil, nil
	}
	at := filepath.Join(folder, filepath.FromSlash(name))
	place := canonicalPath(at)
	switch i := slices.Index(chain, place); {
	case i >= 0:
		var names []string
		for _, p := range append(slices.Clone(chain[i:]), place) {
			names = append(names, filepath.Base(p))
		}
		refuse("", "files run each other in a cycle: %s", strings.Join(names, " -> "))
		return nil, nil
	case len(chain) > maxCalledDepth:
		refuse("", "files run each other more than %d deep (max_nesting)", maxCalledDepth)
		return nil, nil
	case r.left == 0:
		refuse("", "the document needs more than %d files (max_called_files)", maxCalledFiles)
		return nil, nil
	}
	r.left--
	data, err := ReadFile(at, nil)
	if _, ok := errors.AsType[*failure.InvalidError](err); ok {
		refuse("paths are relative to the folder of the document", "%s", strings.TrimPrefix(err.Error(), at+": "))
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	opts := r.opts
	opts.Format, opts.Folder, opts.skipFiles = "", filepath.Dir(at), true
	sub, problems, err := read(ctx, at, data, opts, r.extra)
	if err != nil {
		return nil, err
	}
	r.list = append(r.list, problems...)
	if sub == nil || problems.HasErrors() {
		refuse("", "it has errors")
		return nil, nil
	}
	if files := wants(sub).files; len(files) > 0 {
		refuse("store that workflow and name its id",
			"agents of a workflow that is run by its file have no prompt files (%s)", files[0])
		return nil, nil
	}
	if sub.Name == "" {
		sub.Name = strings.TrimSuffix(path.Base(name), path.Ext(name))
	}
	return sub, r.read(ctx, sub, opts.Folder, append(slices.Clip(chain), place))
}

// canonicalPath returns a path that is the same for all spellings of a file's path.
func canonicalPath(file string) string {
	abs, err := filepath.Abs(file)
	if err != nil {
		return file
	}
	if resolved, err := filepath.EvalSymlinks(abs); err == nil {
		return resolved
	}
	return abs
}

// CalledOf returns the workflow of a file that a step of w, of its flows or of its branches runs,
// or nil if there is none.
func CalledOf(w *workflow.Workflow, name string) *workflow.Workflow {
	if sub := w.Called[name]; sub != nil {
		return sub
	}
	for _, f := range nestedFlows(w) {
		if sub := CalledOf(f, name); sub != nil {
			return sub
		}
	}
	return nil
}

// withNested returns w and all flows and branches in it.
func withNested(w *workflow.Workflow) []*workflow.Workflow {
	out := []*workflow.Workflow{w}
	for _, p := range nestedFlows(w) {
		out = append(out, withNested(p)...)
	}
	return out
}

// nestedFlows returns the flows and branches of w.
func nestedFlows(w *workflow.Workflow) []*workflow.Workflow {
	var out []*workflow.Workflow
	for _, name := range slices.Sorted(maps.Keys(w.Flows)) {
		out = append(out, w.Flows[name])
	}
	return slices.DeleteFunc(append(out, w.Branches...), func(p *workflow.Workflow) bool { return p == nil })
}

// Pins returns the currently published versions of the stored workflows that steps of w run without
// a version number, by id, and reports those that do not exist. Files of w are checked too;
// their workflows are pinned when they start.
func (c *Catalog) Pins(ctx context.Context, w *workflow.Workflow) (map[string]int, diag.List, error) {
	var problems diag.List
	pins := map[string]int{}
	err := c.pins(ctx, w, pins, &problems)
	return pins, problems, err
}

func (c *Catalog) pins(ctx context.Context, w *workflow.Workflow, pins map[string]int, problems *diag.List) error {
	for _, n := range w.Calls() {
		call, _ := workflow.ParseCall(n.Tool.Workflow)
		if call.File != "" {
			continue
		}
		d, err := c.Definition(ctx, call.ID, Which{Version: call.Version})
		if missing, ok := errors.AsType[*failure.NotFoundError](err); ok {
			problems.Errorf(w.Source.Node(n.ID), "", CodeUnknownWorkflow, "step %q: %s", n.Title(),
				missing.Error()).Hint = missing.Hint
			continue
		}
		if refused, ok := errors.AsType[*failure.InvalidError](err); ok {
			problems.Errorf(w.Source.Node(n.ID), "", CodeUnknownWorkflow, "step %q: %s", n.Title(), refused.Error())
			continue
		}
		if err != nil {
			return err
		}
		if call.Version == 0 && d.Version > 0 {
			pins[call.ID] = d.Version
		}
	}
	for _, f := range nestedFlows(w) {
		if err := c.pins(ctx, f, pins, problems); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(w.Called)) {
		if err := c.pins(ctx, w.Called[name], map[string]int{}, problems); err != nil {
			return err
		}
	}
	return nil
}

// PinText encodes pins for the meta of a run; Pinned decodes one of them.
func PinText(pins map[string]int) string {
	var out []string
	for _, id := range slices.Sorted(maps.Keys(pins)) {
		out = append(out, strconv.Itoa(pins[id])+" "+id)
	}
	return strings.Join(out, "\n")
}

// Pinned returns the version of a workflow in an output of PinText, or 0 if it is not there.
func Pinned(text, id string) int {
	for line := range strings.SplitSeq(text, "\n") {
		if number, name, _ := strings.Cut(line, " "); name == id {
			n, _ := strconv.Atoi(number) // PinText wrote it
			return n
		}
	}
	return 0
}
