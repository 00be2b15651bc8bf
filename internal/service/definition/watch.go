package definition

import "sync"

// watchers are who is signalled when workflows were changed here. The zero value is ready.
type watchers struct {
	mu  sync.Mutex
	all map[*chan<- struct{}]struct{}
}

// WatchWorkflows signals on changed that this Catalog stored, published or deleted a workflow, without blocking, so that changed needs room for one signal. What other processes
// and other programs change is not signalled: who waits for it reads Entries now and then. After stop nothing is sent.
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

// changed signals a change that may have been made: also one that ended with an error may be in the store.
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
