package live

import (
	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/project"
	"github.com/hocket-run/hocket/workflow"
)

// view makes messages of a run's events. It is fed all of them, in order from the first. Not safe for concurrent use.
type view interface {
	// add folds the next event and gives what it shows: nil for nothing, which is also what events up to quiet give.
	add(e engine.Event, quiet uint64) (*frame, error)
}

func newView(a *ask, run string, def *workflow.Workflow) (view, error) {
	switch {
	case a.logs:
		return &logView{project.NewLogFolder(run, def)}, nil
	case len(a.modes) > 0:
		f, err := project.NewModeFolder(run, def, a.modes...)
		if err != nil {
			return nil, err
		}
		return &modeView{f}, nil
	}
	return &eventView{run, project.NewFolder(run, def)}, nil
}

type eventView struct {
	run    string
	folder *project.Folder
}

func (v *eventView) add(e engine.Event, quiet uint64) (*frame, error) {
	if e.Seq <= quiet {
		v.folder.Add(e)
		return nil, nil
	}
	b, err := journal.MarshalEvent(v.run, v.folder.Expand(e))
	if err != nil {
		return nil, err
	}
	v.folder.Add(e)
	return newFrame(e.Seq, string(e.Data.Type()), b), nil
}

type logView struct{ folder *project.LogFolder }

func (v *logView) add(e engine.Event, quiet uint64) (*frame, error) {
	entries := v.folder.Add(e)
	if len(entries) == 0 || e.Seq <= quiet {
		return nil, nil
	}
	return jsonFrame(e.Seq, TypeLog, entries)
}

type modeView struct{ folder *project.ModeFolder }

func (v *modeView) add(e engine.Event, quiet uint64) (*frame, error) {
	steps, err := v.folder.Add(e)
	if err != nil || len(steps) == 0 || e.Seq <= quiet {
		return nil, err
	}
	return jsonFrame(e.Seq, TypeStep, steps)
}

// talk follows what models say in a run. Not safe for concurrent use.
type talk struct {
	run string
	// said are the attempts of calls that are under way and have said something.
	said map[string]reset
}

// heard gives the messages of a piece: itself, and before it that an earlier attempt is void. A piece of an attempt that is void itself gives none.
func (t *talk) heard(d *driver.Delta) ([]*frame, error) {
	var out []*frame
	last, spoke := t.said[d.Call]
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
	if t.said == nil {
		t.said = map[string]reset{}
	}
	t.said[d.Call] = reset{t.run, d.Node, d.Step, d.Call, d.Attempt}
	f, err := jsonFrame(0, TypeDelta, piece{t.run, *d})
	if err != nil {
		return nil, err
	}
	return append(out, f), nil
}

// saw gives the message that what a call said is void, where the event begins another attempt; else nil.
func (t *talk) saw(e *engine.Event) (*frame, error) {
	switch d := e.Data.(type) {
	case *engine.ModelCalled:
		last, spoke := t.said[d.Call]
		if !spoke || d.Attempt <= last.Attempt {
			return nil, nil
		}
		last.Attempt = d.Attempt
		t.said[d.Call] = last
		return jsonFrame(0, TypeReset, last)
	case *engine.ModelReplied:
		delete(t.said, d.Call)
	}
	return nil, nil
}
