package run

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/project"
	"github.com/hocket-run/hocket/internal/view"
	"github.com/hocket-run/hocket/workflow"
)

// Recorded is a run as recorded in its journal: the data that determines how it continues, without
// its events and steps.
type Recorded struct {
	// Head is the run's index entry. For a run on a server it holds the data of the events and the
	// run object.
	Head     journal.Head
	Workflow *workflow.Workflow
	// Created is the run's first event.
	Created *event.RunCreated

	// Waits are all waits that were opened, in order.
	Waits []*Asked

	object project.Run
	met    *event.LimitReached
}

// Object returns the run object without steps, outputs by node, state and input. After [Runner.ReadShort]
// its values are short.
func (r Recorded) Object() project.Run { return r.object }

// Read reads the journal of a run with its definition and full values. It returns
// journal.ErrNotFound, or *journal.CorruptError or *journal.NewerError with no data (P17).
func (s *Runner) Read(ctx context.Context, run string) (Recorded, error) { return Read(ctx, s, run) }

// ReadShort is Read for callers that make decisions: long values are replaced with tokens, which
// are meaningless to them.
func (s *Runner) ReadShort(ctx context.Context, run string) (Recorded, error) {
	rec, _, err := readShort(ctx, s, run)
	return rec, err
}

// Read is [Runner.Read] for a run in src.
func Read(ctx context.Context, src view.Source, run string) (Recorded, error) {
	rec, r, err := readShort(ctx, src, run)
	if err == nil {
		err = rec.fill(ctx, r)
	}
	if err != nil {
		return Recorded{}, err
	}
	return rec, nil
}

func readShort(ctx context.Context, src view.Source, run string) (Recorded, *view.Reader, error) {
	r, err := view.Open(ctx, src, run)
	if err != nil {
		return Recorded{}, nil, err
	}
	var (
		rec         Recorded
		waits       map[string]*Asked
		first, last event.Event
	)
	f, err := r.FoldPart(ctx, project.Keep{}, false, func(e event.Event) {
		if last = e; e.Seq == 1 {
			rec, waits, first = Recorded{Workflow: r.Workflow}, map[string]*Asked{}, e
		}
		rec.add(e, waits)
	})
	if err != nil {
		return Recorded{}, nil, err
	}
	rec.Head = r.Head
	rec.Created, _ = first.Data.(*event.RunCreated)
	if rec.Head.Definition == "" && rec.Created != nil { // the run is on a server
		d, h := rec.Created, &rec.Head
		h.Created, h.Updated, h.LastSeq = first.At, last.At, last.Seq
		h.Workflow, h.WorkflowName, h.Format, h.Parent, h.Meta = d.Workflow, d.Name, d.Format, d.ParentRun, d.Meta
	}
	rec.object = f.Run()
	rec.object.Interrupted, rec.object.WaitingFor, rec.object.Turn = rec.Head.Interrupted, rec.Head.WaitingFor,
		view.TurnOf(rec.Head)
	rec.object.Steps, rec.object.Outputs, rec.object.State, rec.object.Input = nil, nil, nil, nil
	for _, w := range rec.open() { // answers are compared with them
		options := []string{}
		if err := expandInto(ctx, r, w.Options, &options); err != nil {
			return Recorded{}, nil, err
		}
		w.Options = options
	}
	return rec, r, nil
}

// expandInto stores the full value of v, which r has read, in into.
func expandInto(ctx context.Context, r *view.Reader, v, into any) error {
	var text bytes.Buffer
	if err := r.Write(ctx, &text, v, view.Style{}); err != nil {
		return err
	}
	return json.Unmarshal(text.Bytes(), into)
}

// add applies an event. For a wait that has ended it drops the question.
func (r *Recorded) add(e event.Event, waits map[string]*Asked) {
	end := func(wait string, d *event.WaitAnswered) {
		w := waits[wait]
		if w == nil || !w.IsOpen() {
			return
		}
		was := *w.WaitOpened
		was.Prompt, was.Arguments, was.Schema, was.Input = "", nil, nil, nil
		w.WaitOpened, w.Ended, w.Answer = &was, e.Seq, d
	}
	switch d := e.Data.(type) {
	case *event.WaitOpened:
		w := &Asked{WaitOpened: d, Node: e.Node}
		r.Waits, waits[d.Wait] = append(r.Waits, w), w
	case *event.WaitAnswered:
		end(d.Wait, d)
	case *event.WaitClosed:
		end(d.Wait, nil)
	case *event.LimitReached:
		r.met = d
	}
}

// fill replaces tokens with full values.
func (r *Recorded) fill(ctx context.Context, reader *view.Reader) error {
	o := &r.object
	var full project.Run
	if err := expandInto(ctx, reader, o, &full); err != nil {
		return err
	}
	o.Output, o.Answers = full.Output, full.Answers
	if o.Error != nil {
		o.Error.Message = full.Error.Message
	}
	open := r.open()
	for i := range o.Waiting {
		below := o.Waiting[i].Below
		o.Waiting[i] = full.Waiting[i]
		o.Waiting[i].Below = below
		for _, w := range open {
			if w.Wait == o.Waiting[i].ID {
				w.Prompt, w.Options, w.Arguments, w.Schema = o.Waiting[i].Prompt, o.Waiting[i].Options,
					o.Waiting[i].Arguments, o.Waiting[i].Schema
				if w.Below != nil {
					w.Input = o.Waiting[i].Input
				}
			}
		}
	}
	return nil
}

// open returns the open waits, in the order in which they were opened.
func (r Recorded) open() []*Asked {
	var out []*Asked
	for _, w := range r.Waits {
		if w.IsOpen() && !r.Head.Status.Ended() {
			out = append(out, w)
		}
	}
	return out
}

// Opened returns a wait by its id, or nil if there is none. Its question is short after
// [Runner.ReadShort], and gone once the wait has ended.
func (r Recorded) Opened(wait string) *event.WaitOpened {
	for _, w := range r.Waits {
		if w.Wait == wait {
			return w.WaitOpened
		}
	}
	return nil
}
