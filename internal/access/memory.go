package access

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"
)

// Memory keeps tokens and the audit log in memory. The zero value is empty and ready to use.
type Memory struct {
	// Keep is the maximum number of records per namespace; 0 means MaxRecords. It must not be
	// changed once the store is in use.
	Keep int

	mu     sync.Mutex
	tokens map[Hash]Token
	// order has the hashes of all tokens, oldest first.
	order   []Hash
	names   map[string]bool
	records map[string][]Record
	// sessions are in the order in which they started.
	sessions []memorySession
	last     map[string]int64
}

var (
	_ Store = (*Memory)(nil)
	_ Log   = (*Memory)(nil)

	_ SessionStore = (*Memory)(nil)
)

// Add implements Store.
func (m *Memory) Add(_ context.Context, t Token, h Hash) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.hashesIn(t.Namespace)) >= MaxTokens {
		return ErrFullTokens
	}
	if t.Namespace != DefaultNamespace && !m.names[t.Namespace] {
		if len(m.names)+1 >= MaxNamespaces {
			return ErrFullNamespaces
		}
		if m.names == nil {
			m.names = map[string]bool{}
		}
		m.names[t.Namespace] = true
	}
	if m.tokens == nil {
		m.tokens = map[Hash]Token{}
	}
	m.tokens[h] = t
	m.order = append(m.order, h)
	return nil
}

// hashesIn returns the hashes of a namespace's tokens.
func (m *Memory) hashesIn(namespace string) []Hash {
	return slices.DeleteFunc(slices.Clone(m.order), func(h Hash) bool { return m.tokens[h].Namespace != namespace })
}

// token returns the hash of a token; nil if the namespace has no token with that id.
func (m *Memory) token(namespace, id string) *Hash {
	for _, h := range m.hashesIn(namespace) {
		if m.tokens[h].ID == id {
			return &h
		}
	}
	return nil
}

// Find implements Store.
func (m *Memory) Find(_ context.Context, h Hash) (Token, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if t, ok := m.tokens[h]; ok {
		return t, nil
	}
	return Token{}, ErrUnknownToken
}

// Get implements Store.
func (m *Memory) Get(_ context.Context, namespace, id string) (Token, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if h := m.token(namespace, id); h != nil {
		return m.tokens[*h], nil
	}
	return Token{}, ErrUnknownToken
}

// List implements Store.
func (m *Memory) List(_ context.Context, namespace string) ([]Token, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []Token
	for _, h := range m.hashesIn(namespace) {
		out = append(out, m.tokens[h])
	}
	return out, nil
}

// Revoke implements Store.
func (m *Memory) Revoke(_ context.Context, namespace, id string) (Token, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	h := m.token(namespace, id)
	if h == nil {
		return Token{}, ErrNone
	}
	t := m.tokens[*h]
	delete(m.tokens, *h)
	m.order = slices.DeleteFunc(m.order, func(other Hash) bool { return other == *h })
	return t, nil
}

// Touch implements Store.
func (m *Memory) Touch(_ context.Context, namespace, id string, at time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if h := m.token(namespace, id); h != nil {
		t := m.tokens[*h]
		if at = at.UTC().Truncate(time.Microsecond); at.After(t.Used) {
			t.Used = at
			m.tokens[*h] = t
		}
	}
	return nil
}

// Namespaces implements Store.
func (m *Memory) Namespaces(context.Context) ([]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := append(slices.Collect(maps.Keys(m.names)), DefaultNamespace)
	slices.Sort(out)
	return out, nil
}

// Record implements Log.
func (m *Memory) Record(_ context.Context, r Record) error {
	r = r.Clean()
	m.mu.Lock()
	defer m.mu.Unlock()
	if r.ID == 0 {
		m.append(r)
		return nil
	}
	for i, old := range m.records[r.Namespace] {
		if old.ID == r.ID {
			m.records[r.Namespace][i] = r
		}
	}
	return nil
}

// Intend implements Log.
func (m *Memory) Intend(_ context.Context, r Record) (int64, error) {
	r = r.Clean()
	r.Outcome = OutcomeUnknown
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.append(r), nil
}

// append appends a record and returns its ID. The caller must hold mu.
func (m *Memory) append(r Record) int64 {
	if m.records == nil {
		m.records, m.last = map[string][]Record{}, map[string]int64{}
	}
	m.last[r.Namespace]++
	r.ID = m.last[r.Namespace]
	m.records[r.Namespace] = append(m.records[r.Namespace], r)
	beyond := len(m.records[r.Namespace]) - cmp.Or(m.Keep, MaxRecords)
	m.records[r.Namespace] = m.records[r.Namespace][max(0, beyond):]
	return r.ID
}

// Records implements Log.
func (m *Memory) Records(_ context.Context, q Query) (Page, error) {
	before, limit, err := q.Bounds()
	if err != nil {
		return Page{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	var found []Record
	for _, r := range slices.Backward(m.records[q.Namespace]) {
		if r.ID < before && !r.At.Before(q.Since) && len(found) <= limit {
			found = append(found, r)
		}
	}
	return PageOf(found, limit), nil
}
