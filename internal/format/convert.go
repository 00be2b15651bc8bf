package format

import (
	"fmt"

	"github.com/hocket-run/hocket/workflow"
)

// Kinds of changes.
const (
	// ChangeLost means that the document leaves out something that no run depends on, such as a
	// name.
	ChangeLost = "lost"
	// ChangeAdded means that the document has something that the workflow did not, such as a start
	// node.
	ChangeAdded = "added"
	// ChangeReworded means that the same data reaches a model or the output in another form.
	ChangeReworded = "reworded"
	// ChangeMeaning means that the document runs differently. Only a lossy conversion has such
	// changes.
	ChangeMeaning = "meaning"
)

// Change is one difference between a workflow and its conversion.
type Change struct {
	// At is the location: `node "x"`, `agent "x"`, `workflow`.
	At   string `json:"at"`
	Kind string `json:"kind"`
	What string `json:"what"`
	// Why explains what the format has instead; "" if What already says so.
	Why string `json:"why,omitempty"`
}

// String returns `node "x": lost: the name "Y" (steps have ids alone)`.
func (c Change) String() string {
	s := c.At + ": " + c.Kind + ": " + c.What
	if c.Why != "" {
		s += " (" + c.Why + ")"
	}
	return s
}

// Conversion is a workflow as a document of another format.
type Conversion struct {
	// Document is nil if nothing could be written that loads without errors.
	Document []byte
	// Changes are all differences, in the order of the workflow; those of kind ChangeMeaning come
	// last.
	Changes []Change
}

// Meaning returns the changes because of which a conversion is rejected.
func (c Conversion) Meaning() []Change {
	for i := range c.Changes {
		if c.Changes[i].Kind == ChangeMeaning {
			return c.Changes[i:]
		}
	}
	return nil
}

// Convert writes w as a document of another format. It does not modify w.
//
// Two workflows mean the same (ADR 50) if, for one input and the same answers of models, tools and
// people, the same agents run in the same order with the same models, tools and limits, each
// message contains everything it contained before, and the outputs and the end are the same.
// Convert first writes w as it is. If the format cannot express all of it, Convert adapts a copy in
// steps that preserve the meaning, each of which is a Change, and writes that; any remaining
// difference is a change of meaning. So nothing is lost without an entry, and an unforeseen
// difference is a rejection.
//
// The error is ErrUnknownFormat, or reports that w is not a valid workflow.
func Convert(w *workflow.Workflow, name string) (Conversion, error) {
	data, unsupported, err := Write(w, name)
	if err != nil {
		return Conversion{}, err
	}
	if len(unsupported) == 0 || name == w.Format {
		return conversion(name, data, nil, unsupported), nil
	}
	copied, err := duplicate(w)
	if err != nil {
		return Conversion{}, err
	}
	a := &adapter{w: copied, to: name}
	a.source, _ = Of(w.Format) // the graph of a program has none
	a.target, _ = Of(name)
	a.adapt()
	data, unsupported, err = Write(a.w, name)
	if err != nil {
		return Conversion{}, err
	}
	return conversion(name, data, a.changes, unsupported), nil
}

// conversion assembles the result. A document that does not load is dropped.
func conversion(name string, data []byte, changes []Change, unsupported []Unsupported) Conversion {
	c := Conversion{Document: data, Changes: changes}
	for _, u := range unsupported {
		c.Changes = append(c.Changes, Change{At: u.At, Kind: ChangeMeaning, What: u.What})
	}
	f, _ := Of(name)
	if _, refused := readBack(f, data); len(refused) > 0 {
		c.Document = nil
		if len(unsupported) == 0 {
			for _, u := range refused {
				c.Changes = append(c.Changes, Change{At: u.At, Kind: ChangeMeaning, What: u.What})
			}
		}
	}
	return c
}

// duplicate returns a copy that shares nothing with w, by way of its canonical JSON.
func duplicate(w *workflow.Workflow) (*workflow.Workflow, error) {
	data, err := w.Canonical()
	if err != nil {
		return nil, fmt.Errorf("copy workflow: %w", err)
	}
	out, err := workflow.Parse(data)
	if err != nil {
		return nil, fmt.Errorf("copy workflow: %w", err)
	}
	return out, nil
}
