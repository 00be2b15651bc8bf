package hookdata

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"slices"
	"sync"
	"time"
)

// Memory is an in-memory Store. The zero value is empty and ready to use.
type Memory struct {
	mu         sync.Mutex
	webhooks   map[string]Webhook
	deliveries map[deliveryAt]Delivery
	endpoints  map[string]Endpoint
	cursor     *int64
	outbox     []Notification
	uses       map[string]Use
}

type deliveryAt struct {
	webhook string
	key     [sha256.Size]byte
}

var _ Store = (*Memory)(nil)

// set sets a value in a map, allocating the map if needed.
func set[K comparable, V any](m *map[K]V, k K, v V) {
	if *m == nil {
		*m = map[K]V{}
	}
	(*m)[k] = v
}

func (w Webhook) clone() Webhook {
	w.Secrets = slices.Clone(w.Secrets)
	return w
}

func (e Endpoint) clone() Endpoint {
	e.Secrets, e.On, e.Workflows = slices.Clone(e.Secrets), slices.Clone(e.On), slices.Clone(e.Workflows)
	return e
}

func (n Notification) clone() Notification {
	n.Body = bytes.Clone(n.Body)
	return n
}

// Webhooks implements Store.
func (m *Memory) Webhooks(context.Context) ([]Webhook, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []Webhook
	for _, w := range m.webhooks {
		out = append(out, w.clone())
	}
	slices.SortStableFunc(out, func(a, b Webhook) int {
		return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID))
	})
	return out, nil
}

// Webhook implements Store.
func (m *Memory) Webhook(_ context.Context, path [sha256.Size]byte) (Webhook, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, w := range m.webhooks {
		if w.Digest() == path {
			return w.clone(), nil
		}
	}
	return Webhook{}, ErrNone
}

// SetWebhook implements Store.
func (m *Memory) SetWebhook(_ context.Context, id string, change func(*Webhook) error) (Webhook, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	w := m.webhooks[id].clone()
	if err := change(&w); err != nil {
		return Webhook{}, err
	}
	w.ID = id
	set(&m.webhooks, id, w.clone())
	return w, nil
}

// DeleteWebhook implements Store.
func (m *Memory) DeleteWebhook(_ context.Context, id string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.webhooks[id]; !ok {
		return ErrNone
	}
	delete(m.webhooks, id)
	for k := range m.deliveries {
		if k.webhook == id {
			delete(m.deliveries, k)
		}
	}
	return nil
}

// Deliver implements Store.
func (m *Memory) Deliver(_ context.Context, d Delivery) (Delivery, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	id := deliveryAt{d.Webhook, d.Key}
	if first, ok := m.deliveries[id]; ok && first.Until.After(d.At) {
		return first, nil
	}
	d.At, d.Until = Micro(d.At), Micro(d.Until)
	set(&m.deliveries, id, d)
	return d, nil
}

// Endpoints implements Store.
func (m *Memory) Endpoints(context.Context) ([]Endpoint, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []Endpoint
	for _, e := range m.endpoints {
		out = append(out, e.clone())
	}
	slices.SortStableFunc(out, func(a, b Endpoint) int {
		return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID))
	})
	return out, nil
}

// SetEndpoint implements Store.
func (m *Memory) SetEndpoint(_ context.Context, id string, change func(*Endpoint) error) (Endpoint, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.endpoints[id].clone()
	if err := change(&e); err != nil {
		return Endpoint{}, err
	}
	e.ID = id
	set(&m.endpoints, id, e.clone())
	return e, nil
}

// DeleteEndpoint implements Store.
func (m *Memory) DeleteEndpoint(_ context.Context, id string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.endpoints[id]; !ok {
		return ErrNone
	}
	delete(m.endpoints, id)
	m.outbox = slices.DeleteFunc(m.outbox, func(n Notification) bool { return n.Endpoint == id })
	return nil
}

// Cursor implements Store.
func (m *Memory) Cursor(context.Context) (int64, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.cursor == nil {
		return 0, false, nil
	}
	return *m.cursor, true, nil
}

// Post implements Store.
func (m *Memory) Post(_ context.Context, from, to int64, notifications []Notification) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.cursor != nil && *m.cursor != from || m.cursor == nil && from != 0 {
		return ErrMoved
	}
	m.post(notifications)
	m.cursor = &to
	return nil
}

func (m *Memory) post(notifications []Notification) {
	for _, n := range notifications {
		if m.index(n.ID) < 0 {
			m.outbox = append(m.outbox, n.clone())
		}
	}
}

func (m *Memory) index(id string) int {
	return slices.IndexFunc(m.outbox, func(n Notification) bool { return n.ID == id })
}

// Take implements Store.
func (m *Memory) Take(_ context.Context, now, until time.Time, limit int, but []string) ([]Notification, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var due []*Notification
	for i := range m.outbox {
		if n := &m.outbox[i]; n.State == StatePending && !n.Due.After(now) && !slices.Contains(but, n.Endpoint) {
			due = append(due, n)
		}
	}
	slices.SortStableFunc(due, func(a, b *Notification) int { return a.Due.Compare(b.Due) })
	var out []Notification
	for _, n := range due[:min(limit, len(due))] {
		out = append(out, n.clone())
		n.Due = Micro(until)
	}
	return out, nil
}

// Settle implements Store.
func (m *Memory) Settle(_ context.Context, n Notification, next ...Notification) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if i := m.index(n.ID); i >= 0 {
		m.outbox[i] = n.clone()
	}
	m.post(next)
	return nil
}

// Notifications implements Store.
func (m *Memory) Notifications(_ context.Context, q NotificationQuery) (out []Notification, next int64, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	last := int64(0)
	for i, n := range slices.Backward(m.outbox) {
		at := int64(i) + 1
		if q.Before != 0 && at >= q.Before || q.State != "" && n.State != q.State || q.Run != "" && n.Run != q.Run {
			continue
		}
		if len(out) == q.PageSize() {
			return out, last, nil
		}
		last, out = at, append(out, n.clone())
	}
	return out, 0, nil
}

// Backlog implements Store.
func (m *Memory) Backlog(context.Context) (pending, dead int, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range m.outbox {
		switch m.outbox[i].State {
		case StatePending:
			pending++
		case StateDead:
			dead++
		case StateDelivered, StateDropped:
		}
	}
	return pending, dead, nil
}

// Notification implements Store.
func (m *Memory) Notification(_ context.Context, id string) (Notification, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if i := m.index(id); i >= 0 {
		return m.outbox[i].clone(), nil
	}
	return Notification{}, ErrNone
}

// Sweep implements Store.
func (m *Memory) Sweep(_ context.Context, now, before time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for k, d := range m.deliveries {
		if !d.Until.After(now) {
			delete(m.deliveries, k)
		}
	}
	for k, u := range m.uses {
		if !u.Until.After(now) {
			delete(m.uses, k)
		}
	}
	m.outbox = slices.DeleteFunc(m.outbox, func(n Notification) bool {
		return !n.Settled.IsZero() && n.Settled.Before(before)
	})
	return nil
}

// Use implements Store.
func (m *Memory) Use(_ context.Context, u Use) (Use, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if first, ok := m.uses[u.Nonce]; ok {
		return first, nil
	}
	set(&m.uses, u.Nonce, u)
	return u, nil
}

// Used implements Store.
func (m *Memory) Used(_ context.Context, nonce string) (Use, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if u, ok := m.uses[nonce]; ok {
		return u, nil
	}
	return Use{}, ErrNone
}

// Unuse implements Store.
func (m *Memory) Unuse(_ context.Context, nonce string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.uses, nonce)
	return nil
}

// Micro returns a time in the precision of stores: in UTC, truncated to microseconds.
func Micro(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }
