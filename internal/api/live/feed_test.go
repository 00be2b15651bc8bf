package live_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/api/live"
	"github.com/hocket-run/hocket/internal/api/transport"
	"github.com/hocket-run/hocket/internal/engine/enginetest"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/pgtest"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/workflow"
)

// serveFeed serves the feed of a service on loopback.
func serveFeed(t testing.TB, s *service.Service, cfg live.Config) (string, *live.Handler) {
	t.Helper()
	h := live.New(cfg)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		who := watcher
		if strings.HasPrefix(r.URL.Path, "/edit") {
			who.Role = access.RoleEdit
		}
		h.Feed(w, r.WithContext(transport.With(r.Context(), &transport.Caller{Principal: who, Service: s})))
	}))
	t.Cleanup(func() {
		h.Close()
		srv.Close()
	})
	return srv.URL + live.FeedPath, h
}

// until reads the messages of a run up to one of the given kind.
func (s *stream) until(t *testing.T, run, kind string) (got []message) {
	t.Helper()
	for {
		m, ok := s.next()
		if !ok {
			t.Fatalf("the feed ended after %s", kinds(got))
		}
		var told live.Told
		if err := json.Unmarshal([]byte(m.data), &told); err != nil || told.Type != m.kind {
			t.Fatalf("%v: %+v", err, m)
		}
		if told.Run != run {
			continue
		}
		if got = append(got, m); m.kind == kind {
			return got
		}
	}
}

// TestFeed checks that the feed of one process reports that runs of another process on the same
// store start, wait and end. A client that was cut off receives what it missed, once.
func TestFeed(t *testing.T) {
	t.Parallel()
	db := onDisk(t)
	for name, open := range map[string]func(t *testing.T) (drives, looks *service.Service){
		"files": func(t *testing.T) (_, _ *service.Service) { return open(t, db, plain), open(t, db, plain) },
		"postgresql": func(t *testing.T) (_, _ *service.Service) {
			url := pgtest.URL(t)
			return openPostgres(t, url, plain), openPostgres(t, url, plain)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			drives, looks := open(t)
			finished(t, drives, chain(1)) // earlier runs are not reported
			at, _ := serveFeed(t, looks, live.Config{})
			st := connect(t, at, "")
			ready, ok := st.next()
			if !ok || ready.kind != live.TypeReady || ready.id == "" {
				t.Fatalf("the first message is %+v", ready)
			}
			run := start(t, drives, enginetest.Graph([]workflow.Node{enginetest.Approval("ok"), enginetest.Agent("b")},
				"ok:approve -> b"))
			begun := map[string]message{}
			for len(begun) < 2 { // new runs are polled for, waits are signalled
				m, ok := st.next()
				if !ok || !strings.Contains(m.data, run) {
					t.Fatalf("the feed says %+v", m)
				}
				begun[m.kind] = m
			}
			opened := begun["wait.opened"]
			if begun[live.TypeStarted].id != "" || opened.id == "" ||
				!strings.Contains(opened.data, `"status":"paused"`) {
				t.Errorf("the run begins with %+v", begun)
			}
			st.cut()
			answer(t, drives, run)
			if s, err := drives.Wait(t.Context(), run); err != nil || s.Status != event.StatusCompleted {
				t.Fatal(s.Status, err)
			}
			again := connect(t, at, opened.id)
			got := again.until(t, run, "run.completed")
			if kinds(got) != "wait.answered run.completed" {
				t.Errorf("after the connection was cut: %s", kinds(got))
			}
			// A client that names a notice that does not exist, or that missed too many, starts
			// over.
			far := connect(t, at, "99999999")
			if m, ok := far.next(); !ok || m.kind != live.TypeReady || m.id != got[1].id {
				t.Errorf("from another store: %+v, want %s", m, got[1].id)
			}
		})
	}
}

func TestFeed_BadRequests(t *testing.T) {
	t.Parallel()
	s := open(t, ":memory:", plain)
	at, h := serveFeed(t, s, live.Config{MaxWatchers: 1})
	for query, want := range map[string]int{"?types=x": 400, "?after=x": 400, "?after=-1": 400} {
		if st := connect(t, at+query, ""); st.status != want {
			t.Errorf("%s: %d %s", query, st.status, st.body)
		}
	}
	first := connect(t, at, "")
	if m, ok := first.next(); !ok || m.id != "0" {
		t.Errorf("an empty store: %+v", m)
	}
	if second := connect(t, at, ""); second.status != http.StatusTooManyRequests {
		t.Errorf("one more stream than there may be: %d", second.status)
	}
	h.Close()
	if rest := first.rest(); slices.ContainsFunc(rest, func(m message) bool { return m.kind == "" }) ||
		h.Watchers() != 0 {
		t.Errorf("a server that ends: %+v, %d streams", rest, h.Watchers())
	}
}
