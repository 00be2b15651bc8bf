package live

import (
	"bytes"
	"context"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/project"
	"github.com/hocket-run/hocket/internal/service"
	views "github.com/hocket-run/hocket/internal/view"
	"github.com/hocket-run/hocket/workflow"
)

// view converts a run's events to messages. It must receive all events, in order from the first. It
// is not safe for concurrent use.
type view interface {
	// add folds the next event and returns the message for it, or nil if there is none. Events up
	// to quiet yield no message.
	add(e event.Event, quiet uint64) (*frame, error)
}

// newView returns a view and the reader of the events that it needs, or a nil reader if it needs
// complete events.
func newView(ctx context.Context, a *streamRequest, s *service.Service, run string, def *workflow.Workflow) (
	view, *views.Reader, error) {
	if len(a.modes) > 0 {
		f, err := s.ModeFolder(run, def, a.modes...)
		return &modeView{f}, nil, err
	}
	r, err := s.View(ctx, run)
	if err != nil {
		return nil, nil, err
	}
	w := writer{ctx, r, views.Style{Limit: views.Limit, Href: views.Address(run)}}
	if a.logs {
		return &logView{r.LogFolder(), w}, r, nil
	}
	return &eventView{r.Folder(), w, a.expand}, r, nil
}

// writer writes the messages of a view, with references in place of long values.
type writer struct {
	ctx    context.Context
	reader *views.Reader
	style  views.Style
}

func (w *writer) frame(seq uint64, kind string, v any) (*frame, error) {
	var b bytes.Buffer
	if err := w.reader.Write(w.ctx, &b, v, w.style); err != nil {
		return nil, err
	}
	return newFrame(seq, kind, b.Bytes()), nil
}

type eventView struct {
	folder *project.Folder
	writer
	expand bool // expand of the request
}

func (v *eventView) add(e event.Event, quiet uint64) (*frame, error) {
	if e.Seq <= quiet {
		v.folder.Add(e)
		return nil, nil
	}
	line, err := v.reader.Event(v.folder.Shown(e, v.expand))
	if err != nil {
		return nil, err
	}
	v.folder.Add(e)
	return v.frame(e.Seq, string(e.Data.Type()), line)
}

type logView struct {
	folder *project.LogFolder
	writer
}

func (v *logView) add(e event.Event, quiet uint64) (*frame, error) {
	entries := v.folder.Add(e)
	if len(entries) == 0 || e.Seq <= quiet {
		return nil, nil
	}
	for i := range entries {
		entries[i] = v.reader.Log(entries[i])
	}
	return v.frame(e.Seq, TypeLog, entries)
}

type modeView struct{ folder *project.ModeFolder }

func (v *modeView) add(e event.Event, quiet uint64) (*frame, error) {
	steps, err := v.folder.Add(e)
	if err != nil || len(steps) == 0 || e.Seq <= quiet {
		return nil, err
	}
	return jsonFrame(e.Seq, TypeStep, steps)
}

// outputTracker tracks the model output in a run. It is not safe for concurrent use.
type outputTracker struct {
	run string
	// attempts holds the current attempts of the calls in flight that have produced output.
	attempts map[string]reset
}

// onDelta returns the messages for a piece of model output: the piece itself, preceded by a reset
// if it belongs to a new attempt. A piece of an outdated attempt yields none.
func (t *outputTracker) onDelta(d *driver.Delta) ([]*frame, error) {
	var out []*frame
	last, spoke := t.attempts[d.Call]
	switch {
	case spoke && d.Attempt < last.Attempt:
		return nil, nil
	case spoke && d.Attempt > last.Attempt:
		f, err := jsonFrame(0, TypeReset, reset{t.run, d.Node, d.Step, d.Call, d.Attempt})
		if err != nil {
			return nil, err
		}
		out = append(out, f)
	}
	if t.attempts == nil {
		t.attempts = map[string]reset{}
	}
	t.attempts[d.Call] = reset{t.run, d.Node, d.Step, d.Call, d.Attempt}
	f, err := jsonFrame(0, TypeDelta, piece{t.run, *d})
	if err != nil {
		return nil, err
	}
	return append(out, f), nil
}

// onEvent returns the reset message for an event that starts another attempt of a call with output,
// and nil for any other event.
func (t *outputTracker) onEvent(e *event.Event) (*frame, error) {
	switch d := e.Data.(type) {
	case *event.ModelCalled:
		last, spoke := t.attempts[d.Call]
		if !spoke || d.Attempt <= last.Attempt {
			return nil, nil
		}
		last.Attempt = d.Attempt
		t.attempts[d.Call] = last
		return jsonFrame(0, TypeReset, last)
	case *event.ModelReplied:
		delete(t.attempts, d.Call)
	}
	return nil, nil
}
