package journal

import (
	"slices"
	"sync"
)

// MaxDelta is the maximum size in bytes of a string that [Deltas] passes.
const MaxDelta = 6 << 10

// Deltas forwards the live output of runs to other processes that watch them. It stores nothing:
// output without a listener is lost. A store that cannot reach other processes forwards nothing.
type Deltas interface {
	// Listen calls heard with what other handles pass for a run, until stop is called: one call at
	// a time, in the order of each sender. heard must return quickly and must not call the store.
	Listen(run string, heard func(text string)) (stop func())
	// HasListener reports whether another handle listens to a run, as far as this handle knows. It
	// is called before each Pass and is cheap. It may return true for some time after the last
	// stop.
	HasListener(run string) bool
	// Pass sends text to the handles that listen to a run. text must be valid UTF-8 without NUL, of
	// at most MaxDelta bytes. Pass does not block: if too much is waiting to be sent, text is
	// dropped.
	Pass(run, text string)
}

// listeners holds the listeners, by run. The zero value is ready for use; it is safe for concurrent
// use.
type listeners struct {
	mu  sync.RWMutex
	all map[string][]*listener
}

// listener is one Listen registration. handle is the listening handle.
type listener struct {
	handle any
	mu     sync.Mutex // held while heard is called
	heard  func(text string)
}

func (e *listeners) listen(run string, handle any, heard func(text string)) (stop func()) {
	one := &listener{handle: handle, heard: heard}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.all == nil {
		e.all = map[string][]*listener{}
	}
	e.all[run] = append(slices.Clip(e.all[run]), one)
	return sync.OnceFunc(func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		rest := slices.DeleteFunc(slices.Clone(e.all[run]), func(o *listener) bool { return o == one })
		if e.all[run] = rest; len(rest) == 0 {
			delete(e.all, run)
		}
	})
}

// onOtherHandles returns the listeners to a run on other handles; the slice must not be modified.
func (e *listeners) onOtherHandles(run string, handle any) (found []*listener) {
	e.mu.RLock()
	defer e.mu.RUnlock()
	for _, one := range e.all[run] {
		if one.handle != handle {
			found = append(found, one)
		}
	}
	return found
}

// Listen implements Deltas.
func (h *memHandle) Listen(run string, heard func(text string)) (stop func()) {
	return h.m.ears.listen(run, h, heard)
}

// HasListener implements Deltas.
func (h *memHandle) HasListener(run string) bool { return len(h.m.ears.onOtherHandles(run, h)) > 0 }

// Pass implements Deltas.
func (h *memHandle) Pass(run, text string) {
	for _, one := range h.m.ears.onOtherHandles(run, h) {
		one.mu.Lock()
		one.heard(text)
		one.mu.Unlock()
	}
}
