package live

// Idle waits until n streams were begun and all are over.
func (h *Handler) Idle(n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for h.served < n || h.watchers > 0 {
		h.left.Wait()
	}
}

// Reads tells how often watchers have read a journal themselves.
func (h *Handler) Reads() int64 { return h.reads.Load() }

// Crowd takes all places of those who write while they read.
func (h *Handler) Crowd() {
	for range maxThrough {
		h.through <- struct{}{}
	}
}
