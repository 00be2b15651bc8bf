package view

import (
	"context"
	"errors"
	"io"
	"maps"
	"strings"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/project"
)

// batchSize is how many entries of a long list are processed at a time.
const batchSize = 200

// stream yields the entries of a list that may be long. It folds the events twice: once to find the
// steps that events change late, which it keeps in their final form, and once to yield all entries
// in order.
type stream[T any] struct {
	reader   *Reader
	hasCalls bool
	show     func(project.Leaving) (T, bool)
	final    map[int]project.Leaving
	pins     map[int]bool
	last     uint64
}

// newStream folds the events for the first time and returns the folder.
func newStream[T any](ctx context.Context, r *Reader, hasCalls bool, show func(project.Leaving) (T, bool)) (
	*stream[T], *project.Folder, error) {
	s := &stream[T]{reader: r, hasCalls: hasCalls, show: show, final: map[int]project.Leaving{}, pins: map[int]bool{}}
	k := project.Keep{Pins: s.pins, Leave: func(l project.Leaving) error {
		if l.IsOpen {
			s.final[l.Seq] = l
		}
		return nil
	}}
	f, err := r.FoldPart(ctx, k, hasCalls, func(e event.Event) { s.last = e.Seq })
	if err != nil {
		return nil, nil, err
	}
	maps.DeleteFunc(s.final, func(n int, _ project.Leaving) bool {
		l, ok := f.Find(n)
		s.final[n] = l
		return !ok
	})
	return s, f, nil
}

var errLast = errors.New("the last event was read")

// each calls take with the entries in order, in batches that are valid only during the call.
func (s *stream[T]) each(ctx context.Context, take func([]T) error) error {
	var some []T
	f := s.reader.Follow(project.NewFolder(s.reader.run, s.reader.Workflow))
	if s.hasCalls {
		f.KeepCalls()
	}
	f.Forget(project.Keep{Pins: maps.Clone(s.pins), Leave: func(l project.Leaving) error {
		if final, ok := s.final[l.Seq]; ok {
			l = final
		}
		one, ok := s.show(l)
		if !ok {
			return nil
		}
		if some = append(some, one); len(some) < batchSize {
			return nil
		}
		err := take(some)
		some = some[:0]
		return err
	}})
	err := s.reader.Each(ctx, 0, func(e event.Event) error {
		if e.Seq > s.last {
			return errLast
		}
		f.Add(e)
		return f.LeaveError()
	})
	if err != nil && !errors.Is(err, errLast) {
		return err
	}
	if err := f.Left(); err != nil || len(some) == 0 {
		return err
	}
	return take(some)
}

// EachTrail calls take with the entries of the whole trail, in batches that are valid only during
// the call.
func (r *Reader) EachTrail(ctx context.Context, take func([]project.TrailEntry) error) error {
	n := 0
	s, _, err := newStream(ctx, r, true, func(l project.Leaving) (project.TrailEntry, bool) {
		e, ok := l.Entry()
		if !ok {
			return e, false
		}
		e.Order = n
		n++
		r.sealEntry(&e)
		return e, true
	})
	if err != nil {
		return err
	}
	return s.each(ctx, take)
}

// Whole is a run object with all of its steps, which are produced one after another.
type Whole struct {
	// Run is the run object without steps.
	Run project.Run

	steps *stream[project.Step]
}

// RunWhole returns the run object with all of its steps.
func (r *Reader) RunWhole(ctx context.Context) (*Whole, error) {
	s, f, err := newStream(ctx, r, false, func(l project.Leaving) (project.Step, bool) {
		st, ok := l.Step()
		st.Input, st.Output = r.sealed(st.Input), r.sealed(st.Output)
		return st, ok
	})
	if err != nil {
		return nil, err
	}
	o := &Whole{Run: f.Run(), steps: s}
	o.Run.Interrupted, o.Run.WaitingFor, o.Run.Turn, o.Run.Steps = r.Head.Interrupted, r.Head.WaitingFor,
		TurnOf(r.Head), []project.Step{}
	r.seal(&o.Run)
	return o, nil
}

// EachSteps calls take with the steps in order, in batches that are valid only during the call.
func (o *Whole) EachSteps(ctx context.Context, take func([]project.Step) error) error {
	return o.steps.each(ctx, take)
}

// WriteTo writes the run object as JSON on one line.
func (o *Whole) WriteTo(ctx context.Context, w io.Writer, s Style) error {
	doc, err := o.steps.reader.Prepare(ctx, o.Run, s)
	if err != nil {
		return err
	}
	end := stepsEnd(doc.text)
	head, tail := *doc, *doc
	head.text, tail.text, tail.depth = doc.text[:end], doc.text[end:], 1
	if err := head.WriteTo(ctx, w); err != nil {
		return err
	}
	between := ""
	if err := o.EachSteps(ctx, func(steps []project.Step) error {
		list, err := o.steps.reader.Prepare(ctx, steps, s)
		if err != nil {
			return err
		}
		if _, err := io.WriteString(w, between); err != nil {
			return err
		}
		between, list.depth = ",", 1
		return list.Entries().WriteTo(ctx, w)
	}); err != nil {
		return err
	}
	return tail.WriteTo(ctx, w)
}

// stepsEnd returns the position, in the text of a run object whose list of steps is empty, at which
// steps are inserted.
func stepsEnd(text string) int {
	const none = `"steps":[]`
	var at jsonPosition
	for i, from := 0, 0; ; i++ {
		i += strings.Index(text[i:], none)
		at.pass(text[from:i])
		if from = i; at.depth == 1 && !at.inText {
			return i + len(none) - 1
		}
	}
}
