package format

import (
	"fmt"
	"slices"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/format/lost"
	"github.com/hocket-run/hocket/internal/format/schedules"
	"github.com/hocket-run/hocket/internal/format/source"
	"github.com/hocket-run/hocket/workflow"
)

// Unsupported is a part of a workflow that a format cannot express.
type Unsupported = lost.Loss

// Write returns a workflow as a document in another format, and exactly what that format cannot
// express; if that list is not empty, the document is nil or holds less than the workflow. The
// error is ErrUnknownFormat.
//
// Nothing is lost silently (P29). If the format's writer reports no loss, the document is read
// again; if it is in the workflow's own format, the two must be the same definition, otherwise they
// must be the same after converting back. Any difference is reported.
func Write(w *workflow.Workflow, name string) ([]byte, []Unsupported, error) {
	f, ok := Of(name)
	if !ok {
		return nil, nil, fmt.Errorf("write as %q: %w", name, ErrUnknownFormat)
	}
	data, unsupported := f.Write(w)
	if !f.Branches {
		branches := branchesOf(w, f) // a writer may have reported them too
		unsupported = slices.DeleteFunc(unsupported, func(u Unsupported) bool { return slices.Contains(branches, u) })
		unsupported = slices.Concat(branches, unsupported)
	}
	if len(unsupported) == 0 {
		unsupported = unreportedLosses(w, f, data)
	}
	return data, unsupported, nil
}

// branchesOf returns the branches of w, and its schedules if f cannot express them.
func branchesOf(w *workflow.Workflow, f Format) lost.List {
	var out lost.List
	if !f.Scheduled {
		for _, s := range w.Schedules {
			out.Addf("workflow", "%s", schedules.Title(s))
		}
	}
	for _, b := range w.Branches {
		if b != nil {
			out.Addf("workflow", "the branch %q", b.ID)
		}
	}
	return out
}

// unreportedLosses returns the parts of w missing from a document that is supposed to express all
// of w.
func unreportedLosses(w *workflow.Workflow, f Format, data []byte) lost.List {
	back, unsupported := readBack(f, data)
	if len(unsupported) > 0 {
		return unsupported
	}
	if f.Name != w.Format {
		own, ok := Of(w.Format)
		if !ok {
			return nil // a program's graph cannot be converted back
		}
		if _, beyond := own.Write(w); len(beyond) > 0 {
			return nil // it holds more than its own format can express, so it cannot be converted back
		}
		data, added := own.Write(back)
		for _, u := range added {
			unsupported.Addf(u.At, "that it is without what a %s document adds: %s", f.Name, u.What)
		}
		if len(unsupported) > 0 {
			return unsupported
		}
		if back, unsupported = readBack(own, data); len(unsupported) > 0 {
			return unsupported
		}
	}
	return append(unsupported, lost.Compare(w, back)...)
}

// readBack reads the written document. A rejected document yields no workflow.
func readBack(f Format, data []byte) (*workflow.Workflow, lost.List) {
	root, problems := source.Parse("", data)
	var w *workflow.Workflow
	if root != nil {
		var more diag.List
		w, more = f.Read(root, Options{})
		problems = append(problems, more...)
	}
	if w != nil && !problems.HasErrors() {
		problems = append(problems, workflow.Validate(w)...)
	}
	var unsupported lost.List
	for _, d := range problems {
		if d.Severity == diag.Error {
			unsupported.Addf("workflow", "what reading the document again refuses: %s", d.Message)
		}
	}
	return w, unsupported
}
