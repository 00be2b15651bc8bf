package definition

import "sync"

// watchers holds the channels to signal when workflows are changed here. The zero value is ready
// for use.
type watchers struct {
	mu  sync.Mutex
	all map[*chan<- struct{}]struct{}
}

// WatchWorkflows signals on changed, without blocking, when this Catalog has stored, published or
// deleted a workflow, so changed needs room for one signal. Changes by other processes and programs
// are not signalled; callers that need them poll Entries. After stop nothing is sent.
func (c *Catalog) WatchWorkflows(changed chan<- struct{}) (stop func()) {
	w := &c.watchers
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.all == nil {
		w.all = map[*chan<- struct{}]struct{}{}
	}
	key := &changed
	w.all[key] = struct{}{}
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.all, key)
	}
}

// changed signals a possible change: an operation that ended with an error may also have reached
// the store.
func (w *watchers) changed() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for c := range w.all {
		select {
		case *c <- struct{}{}:
		default:
		}
	}
}
