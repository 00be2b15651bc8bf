package live

import "github.com/hocket-run/hocket/internal/service"

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

// Taps tells how many readers of namespaces there are.
func (h *Handler) Taps() int {
	h.taps.mu.Lock()
	defer h.taps.mu.Unlock()
	return len(h.taps.all)
}

// Flood gives all streams of a namespace more messages at once than are kept.
func (h *Handler) Flood(s *service.Service) {
	h.taps.mu.Lock()
	p := h.taps.all[s]
	h.taps.mu.Unlock()
	p.add(make([]item, 2*tapItems)...)
}
