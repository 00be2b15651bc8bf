package server_test

import (
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/server"
)

// SEC17: an address that sent too many wrong tokens must wait a minute before sending more, and is
// told how long. Valid tokens and tickets of the same address are accepted, even if they were not
// seen before, and other addresses are not delayed.
func TestFailedAuthentications(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := open(t, server.Config{Limits: server.Limits{Failures: 3}})
		late, _ := w.create(t, access.Grant{Name: "late", Role: access.RoleAdmin})
		check := func(remote, token string, want int) {
			t.Helper()
			rec := w.ask(t, "GET", "/test/who", "", func(r *http.Request) {
				r.RemoteAddr = remote
				r.Header.Set("Authorization", "Bearer "+token)
			})
			if rec.Code != want {
				t.Errorf("%s: status %d, want %d", remote, rec.Code, want)
			}
			if after := rec.Header().Get("Retry-After"); want == 429 &&
				(problem(t, rec).Code != "limit" || after != "60") {
				t.Errorf("%s: after %q, %s", remote, after, rec.Body)
			}
		}
		const one, same, neighbour, other = "[2001:db8::1]:1", "[2001:db8::2]:9", "[2001:db8:0:1::1]:1", "192.0.2.7:1"
		check(one, token, 200)
		for i := range 3 {
			check(same, "wrong", 401)
			if rec := w.ask(t, "GET", "/test/who", "", func(r *http.Request) {
				r.RemoteAddr = one
				r.Header.Del("Authorization")
			}); rec.Code != 401 {
				t.Errorf("without a token, %d: status %d", i, rec.Code) // a missing token is not a wrong one
			}
		}
		check(one, "wrong", 429)
		check(one, late, 200)
		check(one, token, 200)
		ticket, _, err := w.Tickets().Issue(access.Principal{Namespace: "default", Role: access.RoleAdmin}, "/test/who")
		if err != nil {
			t.Fatal(err)
		}
		if rec := w.ask(t, "GET", "/test/who?ticket="+ticket, "", func(r *http.Request) {
			r.RemoteAddr = one
			r.Header.Del("Authorization")
		}); rec.Code != 200 {
			t.Errorf("a right ticket: status %d", rec.Code)
		}
		for _, remote := range []string{neighbour, other} {
			check(remote, "wrong", 401)
			check(remote, late, 200)
		}
		check(one, late, 200)
		check(one, "wrong", 429)
		if rec := w.ask(t, "GET", "/api/v1/runs/r/events?ticket=hkt_x", "", func(r *http.Request) {
			r.RemoteAddr = one
			r.Header.Del("Authorization")
		}); rec.Code != 429 {
			t.Errorf("a ticket: status %d", rec.Code)
		}
		time.Sleep(time.Minute) // the bubble's clock
		check(one, "wrong", 401)
	})
}

// SEC17: concurrent requests beyond the limit are told to retry later; probes and event streams are
// not counted.
func TestAdmission_MaxRequests(t *testing.T) {
	t.Parallel()
	s := serve(t, server.Config{Limits: server.Limits{Requests: 1}})
	stream := s.get(t, "/wait/stream", "text/event-stream")
	long := s.get(t, "/wait/plain", "application/json")
	<-s.entered
	<-s.entered
	rec := s.ask(t, "GET", "/test/who", "", nil)
	if rec.Code != 429 || problem(t, rec).Code != "limit" || !strings.Contains(rec.Body.String(), "requests: ") ||
		rec.Header().Get("Retry-After") != "1" {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
	if rec := s.ask(t, "GET", "/healthz", "", nil); rec.Code != 200 {
		t.Errorf("a probe: %d", rec.Code)
	}
	close(s.release)
	if text, err := long.read(); err != nil || text != "whole" {
		t.Errorf("%q, %v", text, err)
	}
	until(t, "the request that ended is not counted", func() bool {
		return s.ask(t, "GET", "/test/who", "", nil).Code == 200
	})
	s.stop()
	if text, err := stream.read(); err != nil || text != "whole" {
		t.Errorf("%q, %v", text, err)
	}
}

// SEC17: event streams of runs are limited by the server's configuration.
func TestAdmission_MaxStreams(t *testing.T) {
	t.Parallel()
	for says, limits := range map[string]server.Limits{"of this server": {Streams: 1, NamespaceStreams: 2},
		"of this namespace": {Streams: 2, NamespaceStreams: 1}} {
		s := serve(t, server.Config{Limits: limits})
		s.fill(t, "default", token)
		const at = "/api/v1/runs/run-of-b/events"
		if first := s.with(t, token, "GET", at, "", "Accept", "text/event-stream"); first.StatusCode != http.StatusOK {
			t.Fatal(first.Status)
		}
		rec := s.ask(t, "GET", at, "", func(r *http.Request) { r.Header.Set("Accept", "text/event-stream") })
		if rec.Code != 429 || !strings.Contains(rec.Body.String(), says) || rec.Header().Get("Retry-After") == "" {
			t.Errorf("%+v: %d %s", limits, rec.Code, rec.Body)
		}
	}
}

// endless is a listener that always has a connection.
type endless struct {
	net.Listener
	accepted int
}

func (l *endless) Accept() (net.Conn, error) {
	l.accepted++
	c, _ := net.Pipe()
	return c, nil
}

func (l *endless) Close() error { return nil }

// SEC17: no more connections are accepted than the limit until one closes; a connection closed
// twice counts once.
func TestAdmission_MaxConnections(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		from := &endless{}
		ln := server.Bound(from, 2)
		conns := make(chan net.Conn, 10)
		end := make(chan error, 1)
		go func() {
			for {
				c, err := ln.Accept()
				if err != nil {
					end <- err
					return
				}
				conns <- c
			}
		}()
		for want := 2; want <= 4; want++ {
			synctest.Wait()
			if from.accepted != want {
				t.Errorf("%d connections were accepted, want %d", from.accepted, want)
			}
			c := <-conns
			_, _ = c.Close(), c.Close()
		}
		synctest.Wait()
		if err := ln.Close(); err != nil {
			t.Error(err)
		}
		if err := <-end; err == nil {
			t.Error("a closed listener accepts")
		}
	})
}
