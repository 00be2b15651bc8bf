package program

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/loop"
	"github.com/hocket-run/hocket/internal/program"
)

// notes holds the notes of one attempt: those left by earlier attempts, and those that it adds.
type notes struct {
	ctx    context.Context // context of the call
	id     string          // id of its command
	before []loop.Note
	by     driver.Caller // nil if no driver made the call
	work   program.Work
	begun  atomic.Pointer[substeps] // nil until the first sub-step
}

// substeps holds the sub-steps of one attempt.
type substeps struct {
	mu      sync.Mutex
	added   []loop.Note
	flights map[string]*pendingSubstep
	panic   *event.Failure
}

// pendingSubstep is a sub-step in progress. value and err are written before done is closed.
type pendingSubstep struct {
	key   string
	outer *pendingSubstep // the enclosing sub-step
	done  chan struct{}
	value event.Value
	err   error
}

// Notes implements program.Caller.
func (n *notes) Notes() program.Notes { return substepCaller{n, nil} }

// Host implements program.Caller.
func (n *notes) Host() any { return n.by }

// Work implements program.Caller.
func (n *notes) Work() program.Work { return n.work }

// substepCaller is what the code in a sub-step receives: the notes and the enclosing sub-step,
// which is nil outside of one.
type substepCaller struct {
	*notes
	outer *pendingSubstep
}

var (
	_ program.Caller = (*notes)(nil)
	_ program.Caller = substepCaller{}
	_ program.Notes  = substepCaller{}
)

// Notes implements program.Caller.
func (n substepCaller) Notes() program.Notes { return n }

// Once implements program.Notes.
func (n substepCaller) Once(ctx context.Context, key string,
	fn func(context.Context, program.Caller) (program.Value, error)) (
	program.Value, error) {
	if err := n.closedErr(ctx); err != nil {
		return nil, err
	}
	if err := loop.CheckNoteKey(key); err != nil {
		return nil, noteError(key, err)
	}
	for f := n.outer; f != nil; f = f.outer {
		if f.key == key {
			return nil, noteError(key, fmt.Errorf("%w: it is nested in another one with this key", loop.ErrNote))
		}
	}
	s := n.substeps()
	s.mu.Lock()
	if v, ok := n.find(s, key); ok {
		s.mu.Unlock()
		return v, nil
	}
	if f := s.flights[key]; f != nil {
		s.mu.Unlock()
		return n.join(ctx, f)
	}
	if len(n.before)+len(s.added)+len(s.flights) >= loop.MaxNotes {
		s.mu.Unlock()
		return nil, noteError(key, fmt.Errorf("%w: one execution of a node may have at most %d", loop.ErrNote,
			loop.MaxNotes))
	}
	f := &pendingSubstep{key: key, outer: n.outer, done: make(chan struct{})}
	if s.flights == nil {
		s.flights = map[string]*pendingSubstep{}
	}
	s.flights[key] = f
	s.mu.Unlock()
	n.runSubstep(ctx, s, f, fn)
	return f.value, f.err
}

// substeps returns the sub-steps, allocated with the first one because most attempts have none.
func (n *notes) substeps() *substeps {
	if n.begun.Load() == nil {
		n.begun.CompareAndSwap(nil, new(substeps))
	}
	return n.begun.Load()
}

// find returns a note. s.mu must be held.
func (n *notes) find(s *substeps, key string) (event.Value, bool) {
	for _, list := range [2][]loop.Note{n.before, s.added} {
		if i := slices.IndexFunc(list, func(note loop.Note) bool { return note.Key == key }); i >= 0 {
			return list[i].Value, true
		}
	}
	return nil, false
}

// join waits for a sub-step that another goroutine executes.
func (n *notes) join(ctx context.Context, f *pendingSubstep) (event.Value, error) {
	select {
	case <-f.done:
		return f.value, f.err
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-n.ctx.Done():
		return nil, n.ctx.Err()
	}
}

// closedErr returns the reason why the attempt accepts no more sub-steps, or nil while it does.
func (n *notes) closedErr(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return n.ctx.Err()
}

// runSubstep executes a sub-step: the result of fn is durable before anyone receives it.
func (n *notes) runSubstep(ctx context.Context, s *substeps, f *pendingSubstep,
	fn func(context.Context, program.Caller) (program.Value, error)) {
	f.err = fmt.Errorf("sub-step %q did not return", f.key) // it exited its goroutine
	defer func() {
		v := recover()
		s.mu.Lock()
		defer s.mu.Unlock()
		if v != nil {
			f.value, f.err = nil, fmt.Errorf("sub-step %q panicked: %v", f.key, v)
			if s.panic == nil {
				s.panic = &event.Failure{Code: event.CodeFunc, Message: f.err.Error()}
			}
		}
		if f.err == nil {
			s.added = append(s.added, loop.Note{Key: f.key, Value: f.value})
		}
		delete(s.flights, f.key)
		close(f.done)
	}()
	v, err := fn(ctx, substepCaller{n, f})
	if err == nil {
		err = n.record(ctx, engine.FuncNote{ID: n.id, Key: f.key, Value: v})
	}
	if err != nil {
		f.err = err
		return
	}
	f.value, f.err = v, nil
}

func (n *notes) record(ctx context.Context, note engine.FuncNote) error {
	if n.by == nil {
		return noteError(note.Key, fmt.Errorf("%w: notes cannot be recorded here", loop.ErrNote))
	}
	err := n.by.Record(note)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, loop.ErrNote):
		return noteError(note.Key, err)
	}
	if over := n.closedErr(ctx); over != nil {
		return over
	}
	return fmt.Errorf("%w: %w", context.Canceled, err) // the call's context is about to be done
}

// noteError names the sub-step whose note was rejected.
func noteError(key string, err error) error {
	const shown = 40
	if len(key) > shown {
		key = key[:shown] + "…"
	}
	return fmt.Errorf("sub-step %q: %w", key, err)
}

// panicked returns the failure of an attempt in which a sub-step panicked.
func (n *notes) panicked() *event.Failure {
	s := n.begun.Load()
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.panic
}
