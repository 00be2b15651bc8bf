package access

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"strings"
	"sync"
	"time"
)

// TicketPrefix is the prefix of every ticket.
const TicketPrefix = "hkt_"

const (
	// TicketLife is how long a ticket may be idle, counted from when it was issued and again from
	// when the stream that it opened was last seen alive.
	TicketLife = time.Minute
	// TicketSpan is the maximum lifetime of a ticket, regardless of its stream.
	TicketSpan = 12 * time.Hour
	// MaxTickets is the maximum number of tickets per token, maxTickets the maximum in memory
	// (SEC17).
	MaxTickets = 1024
	maxTickets = 16384
)

// ErrTickets is returned when there are too many tickets.
var ErrTickets = errors.New("too many open tickets; a ticket expires after a minute")

// Tickets admits callers that cannot send a token, such as the EventSource of a browser: a ticket
// is a random word in the address that opens one stream.
//
// A ticket opens only the path that it was issued for, with the permissions of the principal who
// requested it. It opens one stream: its next use takes the stream over, and [Hold.Lost] notifies
// the previous holder. It must be reusable, because an EventSource reconnects to the same address
// when a connection breaks; ADR 25 explains why this does not admit a second reader.
//
// Tickets are kept in memory, as hashes; they do not survive a restart of the server. The zero
// value is ready to use. It is safe for concurrent use.
type Tickets struct {
	// Now returns the current time; if nil, time.Now is used. It must not be changed once the
	// tickets are in use.
	Now func() time.Time

	mu    sync.Mutex
	all   map[[sha256.Size]byte]*ticket
	of    map[holder]int
	swept time.Time
}

// holder identifies a token, whose tickets are counted together.
type holder struct{ namespace, token string }

type ticket struct {
	principal Principal
	path      string
	expires   time.Time // latest expiry
	idleUntil time.Time // expiry unless used or kept alive before
	hold      *Hold     // of the last stream it opened; nil if none
}

// Issue creates a ticket for a path and returns it with the time by which it must be used. It
// returns ErrTickets if there are too many.
func (t *Tickets) Issue(p Principal, path string) (text string, until time.Time, err error) {
	var raw [32]byte
	rand.Read(raw[:])
	text = TicketPrefix + base64.RawURLEncoding.EncodeToString(raw[:])
	t.mu.Lock()
	defer t.mu.Unlock()
	now, who := t.now(), holder{p.Namespace, p.Token}
	if len(t.all) >= maxTickets || t.of[who] >= MaxTickets {
		t.sweep(now)
	}
	if len(t.all) >= maxTickets || t.of[who] >= MaxTickets {
		return "", time.Time{}, ErrTickets
	}
	if t.all == nil {
		t.all, t.of = map[[sha256.Size]byte]*ticket{}, map[holder]int{}
	}
	until = now.Add(TicketLife)
	t.all[sha256.Sum256([]byte(text))] = &ticket{principal: p, path: path, expires: now.Add(TicketSpan),
		idleUntil: until}
	t.of[who]++
	return text, until, nil
}

// Redeem returns the principal of a ticket that opens this path. Tickets are looked up by their
// hash, so that timing reveals nothing about existing ones.
func (t *Tickets) Redeem(text, path string) (Principal, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	k := t.find(text, path)
	if k == nil {
		return Principal{}, false
	}
	k.idleUntil = t.now().Add(TicketLife)
	return k.principal, true
}

// Hold acquires the stream of a ticket, even from its current holder. It returns nil if the ticket
// does not open this path. The caller keeps the Hold for the life of the stream.
func (t *Tickets) Hold(text, path string) *Hold {
	t.mu.Lock()
	defer t.mu.Unlock()
	k := t.find(text, path)
	if k == nil {
		return nil
	}
	if k.hold != nil {
		close(k.hold.lost)
	}
	k.hold = &Hold{tickets: t, ticket: k, lost: make(chan struct{})}
	return k.hold
}

// Revoke ends all tickets of a token, and the streams that they opened.
func (t *Tickets) Revoke(namespace, token string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for key, k := range t.all {
		if k.principal.Namespace == namespace && k.principal.Token == token {
			t.drop(key, k)
		}
	}
}

// find returns the ticket if it is still alive and is for this path. The caller must hold the lock.
func (t *Tickets) find(text, path string) *ticket {
	if !strings.HasPrefix(text, TicketPrefix) {
		return nil
	}
	key := sha256.Sum256([]byte(text))
	k := t.all[key]
	switch {
	case k == nil || k.path != path:
		return nil
	case k.isDead(t.now()):
		t.drop(key, k)
		return nil
	}
	return k
}

func (k *ticket) isDead(now time.Time) bool {
	return !now.Before(k.expires) || !now.Before(k.idleUntil)
}

// sweep drops dead tickets, at most once a second: excessive requests for tickets do not cause
// extra work.
func (t *Tickets) sweep(now time.Time) {
	if now.Sub(t.swept) < time.Second && !now.Before(t.swept) {
		return
	}
	t.swept = now
	for key, k := range t.all {
		if k.isDead(now) {
			t.drop(key, k)
		}
	}
}

func (t *Tickets) drop(key [sha256.Size]byte, k *ticket) {
	delete(t.all, key)
	who := holder{k.principal.Namespace, k.principal.Token}
	if t.of[who]--; t.of[who] <= 0 {
		delete(t.of, who)
	}
	if k.hold != nil {
		close(k.hold.lost)
		k.hold = nil
	}
}

func (t *Tickets) now() time.Time {
	if t.Now != nil {
		return t.Now()
	}
	return time.Now()
}

// Hold is a stream opened by a ticket. It is safe for concurrent use.
type Hold struct {
	tickets *Tickets
	ticket  *ticket
	lost    chan struct{}
}

// Lost returns a channel that is closed when the stream no longer belongs to h: the ticket was used
// again, revoked, or found expired. A nil Hold is never lost.
func (h *Hold) Lost() <-chan struct{} {
	if h == nil {
		return nil
	}
	return h.lost
}

// Keep extends the life of the ticket to TicketLife from now. It must be called more often than
// that. It reports whether the stream still belongs to h.
func (h *Hold) Keep() bool {
	if h == nil {
		return true
	}
	h.tickets.mu.Lock()
	defer h.tickets.mu.Unlock()
	now := h.tickets.now()
	if h.ticket.hold != h || !now.Before(h.ticket.expires) {
		return false
	}
	h.ticket.idleUntil = now.Add(TicketLife)
	return true
}

// Leave reports the end of the stream. The ticket waits for a reconnection.
func (h *Hold) Leave() {
	if h == nil {
		return
	}
	h.tickets.mu.Lock()
	defer h.tickets.mu.Unlock()
	if h.ticket.hold == h {
		h.ticket.hold = nil
	}
}
