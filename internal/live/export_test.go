package live

// Idle waits until n streams were begun and all are over.
func (h *Handler) Idle(n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for h.served < n || h.watchers > 0 {
		h.left.Wait()
	}
}
