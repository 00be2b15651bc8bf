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

// TicketPrefix begins every ticket.
const TicketPrefix = "hkt_"

const (
	// TicketLife is how long a ticket may lie unused: from when it was issued, and again from when the stream that it opened was last seen alive.
	TicketLife = time.Minute
	// TicketSpan is how long a ticket lasts at the very most, whatever its stream does.
	TicketSpan = 12 * time.Hour
	// MaxTickets bounds those of one token, maxTickets all that are in memory (SEC17).
	MaxTickets = 1024
	maxTickets = 16384
)

// ErrTickets says that there are too many tickets.
var ErrTickets = errors.New("too many open tickets; a ticket expires after a minute")

// Tickets let callers in that cannot send a token, such as the EventSource of a browser: a random word in the address that opens one stream.
//
// A ticket opens the one path that it was issued for, with the rights of the principal who asked for it. It opens one stream: its next use takes the
// stream over, and [Hold.Lost] tells the former one. It must be used again, because an EventSource comes back with the same address when a connection breaks;
// ADR 25 says why this is no ticket for a second reader.
//
// Tickets are kept in memory, as hashes; those of a server that was started anew are gone. The zero value is ready. Safe for concurrent use.
type Tickets struct {
	// Now is the clock; nil: time.Now. It must not be changed once the tickets are used.
	Now func() time.Time

	mu    sync.Mutex
	all   map[[sha256.Size]byte]*ticket
	of    map[holder]int
	swept time.Time
}

// holder is whose tickets are counted together.
type holder struct{ namespace, token string }

type ticket struct {
	principal Principal
	path      string
	dies      time.Time // at the latest
	idle      time.Time // unless it is used or kept before
	hold      *Hold     // of the stream that it opened last; nil: none
}

// Issue makes a ticket for a path and tells until when it must be used. Errors: ErrTickets.
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
	t.all[sha256.Sum256([]byte(text))] = &ticket{principal: p, path: path, dies: now.Add(TicketSpan), idle: until}
	t.of[who]++
	return text, until, nil
}

// Redeem gives the principal of a ticket that opens this path. Tickets are found by their hash, so that the time it takes tells nothing of those there are.
func (t *Tickets) Redeem(text, path string) (Principal, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	k := t.find(text, path)
	if k == nil {
		return Principal{}, false
	}
	k.idle = t.now().Add(TicketLife)
	return k.principal, true
}

// Hold takes the stream of a ticket, from its present holder too. Nil: the ticket opens nothing here. The caller keeps it while the stream lives.
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

// find gives the ticket if it still lives and is for this path. The caller holds the lock.
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

func (k *ticket) isDead(now time.Time) bool { return !now.Before(k.dies) || !now.Before(k.idle) }

// sweep drops what is dead, once a second at most: who asks for too many tickets makes no work.
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

// Hold is a stream that a ticket opened. Safe for concurrent use.
type Hold struct {
	tickets *Tickets
	ticket  *ticket
	lost    chan struct{}
}

// Lost is closed when the stream is not this one's any more: the ticket was used again, revoked, or found dead. A nil Hold never loses anything.
func (h *Hold) Lost() <-chan struct{} {
	if h == nil {
		return nil
	}
	return h.lost
}

// Keep says that the stream lives: its ticket lasts for TicketLife from now. To be called more often than that. False: it is not this one's any more.
func (h *Hold) Keep() bool {
	if h == nil {
		return true
	}
	h.tickets.mu.Lock()
	defer h.tickets.mu.Unlock()
	now := h.tickets.now()
	if h.ticket.hold != h || !now.Before(h.ticket.dies) {
		return false
	}
	h.ticket.idle = now.Add(TicketLife)
	return true
}

// Leave says that the stream is over. The ticket waits for a reconnection.
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
