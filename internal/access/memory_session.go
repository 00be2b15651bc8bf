package access

import (
	"context"
	"slices"
)

type memorySession struct {
	Session
	hash Hash
}

// Begin implements SessionStore.
func (m *Memory) Begin(_ context.Context, s Session, h Hash) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sessions = append(slices.DeleteFunc(m.sessions, func(k memorySession) bool { return k.IsExpired(s.Created) }),
		memorySession{s, h})
	of, oldest := 0, -1
	for i, k := range m.sessions {
		if k.Namespace == s.Namespace && k.Token == s.Token {
			if of++; oldest < 0 {
				oldest = i
			}
		}
	}
	if of > MaxSessions {
		m.sessions = slices.Delete(m.sessions, oldest, oldest+1)
	}
	return nil
}

// Session implements SessionStore.
func (m *Memory) Session(_ context.Context, h Hash) (Session, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if i := slices.IndexFunc(m.sessions, func(k memorySession) bool { return k.hash == h }); i >= 0 {
		return m.sessions[i].Session, nil
	}
	return Session{}, ErrNoSession
}

// End implements SessionStore.
func (m *Memory) End(_ context.Context, h Hash) (Session, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	i := slices.IndexFunc(m.sessions, func(k memorySession) bool { return k.hash == h })
	if i < 0 {
		return Session{}, ErrNoSession
	}
	s := m.sessions[i].Session
	m.sessions = slices.Delete(m.sessions, i, i+1)
	return s, nil
}
