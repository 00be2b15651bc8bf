package model

import "sync"

// Memo is where an adapter keeps what it made of the messages of a conversation until the next call of that conversation. The zero Memo is empty, a nil one
// keeps nothing. Safe for concurrent use.
//
// A Memo is a cache: what was kept may be of another provider, of a longer conversation or of a changed one. The adapter compares it with the request.
type Memo struct {
	mu   sync.Mutex
	kept any
}

// Take gives what was kept last and keeps it no longer, so that only one call goes on from it; nil: there is nothing.
func (m *Memo) Take() any {
	if m == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	v := m.kept
	m.kept = nil
	return v
}

// Keep keeps v in the place of what was kept before.
func (m *Memo) Keep(v any) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.kept = v
}
