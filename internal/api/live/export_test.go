package live

import "github.com/hocket-run/hocket/internal/service"

// Idle waits until n streams have started and all have ended.
func (h *Handler) Idle(n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for h.served < n || h.watchers > 0 {
		h.left.Wait()
	}
}

// Reads returns how often watchers have read a journal themselves.
func (h *Handler) Reads() int64 { return h.reads.Load() }

// Crowd occupies all slots of watchers that write while they read.
func (h *Handler) Crowd() {
	for range maxPassThrough {
		h.passSlots <- struct{}{}
	}
}

// Taps returns the number of open taps.
func (h *Handler) Taps() int {
	h.taps.mu.Lock()
	defer h.taps.mu.Unlock()
	return len(h.taps.all)
}

// Flood adds more messages to a namespace at once than its tap keeps.
func (h *Handler) Flood(s *service.Service) {
	h.taps.mu.Lock()
	p := h.taps.all[s]
	h.taps.mu.Unlock()
	p.add(make([]item, 2*tapItems)...)
}
