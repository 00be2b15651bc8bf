package journal

import (
	"slices"
	"sync"
)

// MaxDelta bounds a text that [Deltas] passes, in bytes.
const MaxDelta = 6 << 10

// Deltas passes on what is said in runs to other processes that watch them, and stores nothing: what is not heard is lost. A store that cannot reach other processes passes nothing.
type Deltas interface {
	// Hear calls heard for what other handles pass of a run, until stop: one call at a time, in the order of each sender. heard must be quick, and must not call the store.
	Hear(run string, heard func(text string)) (stop func())
	// IsHeard tells whether another handle hears a run, as far as this one knows. It is asked before each Pass, and cheap. It may be true for some time after the last stop.
	IsHeard(run string) bool
	// Pass gives a text to the handles that hear a run. It is valid UTF-8 without NUL, of MaxDelta bytes at most. It does not block: where too much waits to be passed, it is dropped.
	Pass(run, text string)
}

// ears are what hears texts, by run. The zero value is ready; safe for concurrent use.
type ears struct {
	mu  sync.RWMutex
	all map[string][]*ear
}

// ear is one Hear. handle is who hears.
type ear struct {
	handle any
	mu     sync.Mutex // held while heard is called
	heard  func(text string)
}

func (e *ears) hear(run string, handle any, heard func(text string)) (stop func()) {
	one := &ear{handle: handle, heard: heard}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.all == nil {
		e.all = map[string][]*ear{}
	}
	e.all[run] = append(slices.Clip(e.all[run]), one)
	return sync.OnceFunc(func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		rest := slices.DeleteFunc(slices.Clone(e.all[run]), func(o *ear) bool { return o == one })
		if e.all[run] = rest; len(rest) == 0 {
			delete(e.all, run)
		}
	})
}

// others gives what hears a run on other handles; the slice is not changed.
func (e *ears) others(run string, handle any) (found []*ear) {
	e.mu.RLock()
	defer e.mu.RUnlock()
	for _, one := range e.all[run] {
		if one.handle != handle {
			found = append(found, one)
		}
	}
	return found
}

// Hear implements Deltas.
func (h *memHandle) Hear(run string, heard func(text string)) (stop func()) {
	return h.m.ears.hear(run, h, heard)
}

// IsHeard implements Deltas.
func (h *memHandle) IsHeard(run string) bool { return len(h.m.ears.others(run, h)) > 0 }

// Pass implements Deltas.
func (h *memHandle) Pass(run, text string) {
	for _, one := range h.m.ears.others(run, h) {
		one.mu.Lock()
		one.heard(text)
		one.mu.Unlock()
	}
}
