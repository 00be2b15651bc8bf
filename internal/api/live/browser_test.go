package live_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/api/live"
	"github.com/hocket-run/hocket/internal/api/transport"
	"github.com/hocket-run/hocket/internal/browsertest"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/model"
)

// page handles an event stream as the server's own page does: it requests a ticket, opens the
// stream, and reports the messages that it received when the run has ended.
const page = `<!doctype html><meta charset="utf-8"><title>run</title><script type="module">
const path = location.pathname.replace('/page/', '/api/v1/runs/') + '/events'
const {ticket} = await (await fetch(path + '/ticket', {method: 'POST', headers: {Authorization: 'Bearer ` +
	`token'}})).json()
const source = new EventSource(path + '?ticket=' + ticket)
const got = []
let opened = 0
source.onopen = () => opened++
source.onerror = () => { if (source.readyState === EventSource.CLOSED) report({got, opened, closed: true}) }
for (const type of TYPES) source.addEventListener(type, e => got.push({id: e.lastEventId, kind: type, data: e.data}))
source.addEventListener('end', () => { source.close(); report({got, opened, closed: false}) })
</script>`

// flakyWriter closes the connection in the middle of a write, a few times.
type flakyWriter struct {
	http.ResponseWriter
	left  *atomic.Int32
	wrote int
}

func (c *flakyWriter) Unwrap() http.ResponseWriter { return c.ResponseWriter }

func (c *flakyWriter) Write(b []byte) (int, error) {
	if c.wrote++; c.wrote >= 2 && c.left.Add(-1) >= 0 {
		_, _ = c.ResponseWriter.Write(b[:len(b)*2/3])
		_ = http.NewResponseController(c.ResponseWriter).Flush()
		panic(http.ErrAbortHandler)
	}
	return c.ResponseWriter.Write(b)
}

// TestBrowser checks P22 with the EventSource of a real browser: the server repeatedly closes the
// connection in the middle of messages, and the page's list equals the journal, in order, each
// event once. The browser connects with a ticket and also reconnects with it.
func TestBrowser(t *testing.T) {
	t.Parallel()
	node, script, chromium := browsertest.Find(t, "eventsource.mjs")
	gate := make(chan struct{})
	s := open(t, ":memory:", func(ctx context.Context, _ model.Request, say func(model.Delta)) (string, error) {
		for _, p := range []string{"wörds ", "and ", "more"} {
			select {
			case <-gate:
			case <-ctx.Done():
				return "", ctx.Err()
			}
			say(model.Delta{Text: p})
		}
		return "wörds and more", nil
	})
	run := start(t, s, chain(6))
	tickets := &access.Tickets{}
	h := live.New(live.Config{Tickets: tickets, Retry: 10 * time.Millisecond})
	var cuts, refused atomic.Int32
	cuts.Store(7)
	m := http.NewServeMux()
	m.HandleFunc("GET /page/{id}", func(w http.ResponseWriter, _ *http.Request) {
		types, _ := json.Marshal(engine.Types())
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write(bytes.Replace([]byte(page), []byte("TYPES"), types, 1))
	})
	m.HandleFunc("POST /api/v1/runs/{id}/events/ticket", func(w http.ResponseWriter, r *http.Request) {
		issued, err := h.IssueTicket(r.Context(), &transport.Caller{Principal: watcher, Service: s}, r.PathValue("id"))
		if err != nil || r.Header.Get("Authorization") != "Bearer token" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		_ = json.NewEncoder(w).Encode(issued)
	})
	m.HandleFunc("GET /api/v1/runs/{id}/events", func(w http.ResponseWriter, r *http.Request) {
		p, ok := tickets.Redeem(r.URL.Query().Get("ticket"), r.URL.Path)
		if !ok {
			refused.Add(1)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		h.ServeHTTP(&flakyWriter{ResponseWriter: w, left: &cuts},
			r.WithContext(transport.With(r.Context(), &transport.Caller{Principal: p, Service: s})))
	})
	srv := httptest.NewServer(m)
	defer srv.Close()
	defer h.Close()
	go func() {
		for {
			select {
			case gate <- struct{}{}:
			case <-t.Context().Done():
				return
			}
		}
	}()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, node, script, chromium, srv.URL+"/page/"+run)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s %s", err, out, errs.String())
	}
	var said struct {
		Said struct {
			Got []struct {
				ID, Kind, Data string
			}
			Opened int
			Closed bool
		}
		Origins []string
	}
	if err := json.Unmarshal(out, &said); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var got []message
	for _, e := range said.Said.Got {
		got = append(got, message{e.ID, e.Kind, e.Data})
	}
	want := stored(t, s, run)
	if diff := cmp.Diff(got, want, sameMessages); diff != "" {
		t.Errorf("(-got +want):\n%s", diff)
	}
	if n := 7 - max(0, cuts.Load()); said.Said.Opened < int(n) || n < 2 || refused.Load() != 0 || said.Said.Closed {
		t.Errorf("%d cuts, opened %d times, refused %d times, closed %t", n, said.Said.Opened, refused.Load(),
			said.Said.Closed)
	}
	if diff := cmp.Diff(said.Origins, []string{srv.URL}); diff != "" || errs.Len() > 0 {
		t.Errorf("the page asked others, or broke: %s %s", diff, errs.String())
	}
}
