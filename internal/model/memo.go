package model

import "sync"

// Memo is where an adapter keeps what it derived from the messages of a conversation until the next
// call of that conversation. The zero Memo is empty, a nil Memo keeps nothing. It is safe for
// concurrent use.
//
// A Memo is a cache: its content may belong to another provider, to a longer conversation or to a
// changed one. The adapter compares it with the request.
type Memo struct {
	mu   sync.Mutex
	kept any
}

// Take returns and removes the value that was kept last, so that only one call continues from it;
// nil means there is none.
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

// Keep stores v, replacing the previous value.
func (m *Memo) Keep(v any) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.kept = v
}
