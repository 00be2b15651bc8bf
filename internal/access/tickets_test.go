package access_test

import (
	"errors"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/access"
)

// clock is a clock that a test advances.
type clock struct{ now time.Time }

func newTickets() (*access.Tickets, *clock) {
	c := &clock{time.Unix(1_800_000_000, 0)}
	return &access.Tickets{Now: func() time.Time { return c.now }}, c
}

func issue(t *testing.T, tickets *access.Tickets, p access.Principal, path string) string {
	t.Helper()
	text, _, err := tickets.Issue(p, path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func isLost(h *access.Hold) bool {
	select {
	case <-h.Lost():
		return true
	default:
		return false
	}
}

var ann = access.Principal{Token: "t1", Name: "ann", Namespace: "acme", Role: access.RoleRun}

// TestTicketRedeem checks that a ticket opens only its own path, with the permissions of the
// requester, and that nothing else opens anything (SEC1, SEC10).
func TestTicketRedeem(t *testing.T) {
	t.Parallel()
	tickets, _ := newTickets()
	text := issue(t, tickets, ann, "/a")
	if len(text) != len(access.TicketPrefix)+43 {
		t.Errorf("a ticket has %d characters, want 32 random bytes: %q", len(text), text)
	}
	for _, c := range []struct {
		text, path string
		want       bool
	}{
		{text, "/a", true}, {text, "/a", true}, {text, "/b", false}, {text, "", false}, {text + "x", "/a", false},
		{text[:10], "/a", false},
		{"", "/a", false}, {access.TicketPrefix, "/a", false},
	} {
		p, ok := tickets.Redeem(c.text, c.path)
		if ok != c.want || ok && p != ann || !ok && p != (access.Principal{}) {
			t.Errorf("redeem %q at %q: %+v, %t", c.text, c.path, p, ok)
		}
	}
	if other := issue(t, tickets, ann, "/a"); other == text {
		t.Error("two tickets are the same")
	}
}

// TestTicketLife checks that a ticket expires a minute after it was issued or after its stream was
// last alive, and twelve hours after it was issued.
func TestTicketLife(t *testing.T) {
	t.Parallel()
	tickets, c := newTickets()
	unused, used := issue(t, tickets, ann, "/a"), issue(t, tickets, ann, "/a")
	c.now = c.now.Add(access.TicketLife - time.Second)
	h := tickets.Hold(used, "/a")
	if !h.Keep() {
		t.Fatal("a stream that was just opened is lost")
	}
	c.now = c.now.Add(time.Second)
	if _, ok := tickets.Redeem(unused, "/a"); ok {
		t.Error("an unused ticket outlived its minute")
	}
	alive := 0
	for h.Keep() {
		c.now = c.now.Add(access.TicketLife / 4)
		alive++
	}
	if want := int(access.TicketSpan/(access.TicketLife/4)) - 3; alive < want-4 || alive > want+4 {
		t.Errorf("a ticket whose stream lives was kept %d times, want about %d", alive, want)
	}
	if _, ok := tickets.Redeem(used, "/a"); ok {
		t.Error("a ticket outlived its twelve hours")
	}
	again := issue(t, tickets, ann, "/a")
	tickets.Hold(again, "/a").Leave()
	c.now = c.now.Add(access.TicketLife - time.Second)
	if _, ok := tickets.Redeem(again, "/a"); !ok {
		t.Error("a ticket does not wait for a client that comes back")
	}
}

// TestTicketTakeover checks that one ticket opens one stream: the next use takes it over, and the
// previous stream is notified.
func TestTicketTakeover(t *testing.T) {
	t.Parallel()
	tickets, _ := newTickets()
	text := issue(t, tickets, ann, "/a")
	first := tickets.Hold(text, "/a")
	second := tickets.Hold(text, "/a")
	if !isLost(first) || first.Keep() || isLost(second) || !second.Keep() {
		t.Error("the second stream did not take the first one's place")
	}
	first.Leave() // no longer has any effect
	if !second.Keep() {
		t.Error("who lost the stream ended it for the other")
	}
	tickets.Revoke("acme", "other")
	tickets.Revoke("other", ann.Token)
	if isLost(second) {
		t.Error("tickets of others were revoked, and this one went too")
	}
	tickets.Revoke("acme", ann.Token)
	if _, ok := tickets.Redeem(text, "/a"); ok || !isLost(second) || tickets.Hold(text, "/a") != nil {
		t.Error("a revoked ticket opens something")
	}
	var none *access.Hold
	if none.Leave(); !none.Keep() || none.Lost() != nil {
		t.Error("a stream without ticket can be lost")
	}
}

// TestTicketLimits checks that one principal can neither fill the memory nor keep others from
// getting a ticket, and that expired tickets make room (SEC17).
func TestTicketLimits(t *testing.T) {
	t.Parallel()
	tickets, c := newTickets()
	n := 0
	for ; n < 5000; n++ {
		if _, _, err := tickets.Issue(ann, "/a"); errors.Is(err, access.ErrTickets) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if n != access.MaxTickets {
		t.Errorf("one principal got %d tickets", n)
	}
	bob := ann
	bob.Token = "t2"
	issue(t, tickets, bob, "/a")
	c.now = c.now.Add(access.TicketLife)
	issue(t, tickets, ann, "/a")
	all := 0
	for i := range 32 {
		p := access.Principal{Namespace: "n", Token: string(rune('a' + i))}
		for range 1024 {
			if _, _, err := tickets.Issue(p, "/a"); err == nil {
				all++
			}
		}
	}
	if all+2 < 16384-1 || all+2 > 16384+1 {
		t.Errorf("there are %d tickets", all+2)
	}
}
