package live_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/api/live"
	"github.com/hocket-run/hocket/internal/api/transport"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/service"
)

// recorder is a client in the test's fake time. While it is stuck it reads nothing, until its write
// deadline.
type recorder struct {
	mu       sync.Mutex
	header   http.Header
	got      strings.Builder
	deadline time.Time
	stuck    bool
}

func (r *recorder) Header() http.Header { return r.header }
func (r *recorder) WriteHeader(int)     {}
func (r *recorder) Flush()              {}

func (r *recorder) SetWriteDeadline(t time.Time) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.deadline = t
	return nil
}

func (r *recorder) Write(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stuck {
		time.Sleep(time.Until(r.deadline)) // fake time
		return 0, context.DeadlineExceeded
	}
	return r.got.Write(b)
}

func (r *recorder) text() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.got.String()
}

// watch makes a handler stream a run to a recorder, or to the ResponseWriter that wraps it.
func watch(ctx context.Context, s *service.Service, h http.Handler, run string, rec *recorder,
	around ...http.ResponseWriter) {
	rec.header = http.Header{}
	out := http.ResponseWriter(rec)
	for _, w := range around {
		out = w
	}
	req, err := http.NewRequestWithContext(transport.With(ctx, &transport.Caller{Principal: watcher, Service: s}),
		http.MethodGet, live.Path(run), http.NoBody)
	if err != nil {
		panic(err)
	}
	req.SetPathValue("id", run)
	h.ServeHTTP(out, req)
}

// TestHeartbeat checks P22: a comment is written every 15 seconds if nothing happens, and none if
// something does.
func TestHeartbeat(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		s := open(t, ":memory:", gated(gate))
		run := start(t, s, chain(2))
		h := live.New(live.Config{})
		defer h.Close()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		rec := &recorder{}
		go watch(ctx, s, h, run, rec)
		time.Sleep(14 * time.Second)
		synctest.Wait()
		if n := strings.Count(rec.text(), ": heartbeat\n\n"); n != 0 {
			t.Fatalf("%d heartbeats in 14 seconds", n)
		}
		gate <- struct{}{}
		time.Sleep(14 * time.Second)
		synctest.Wait()
		if n := strings.Count(rec.text(), ": heartbeat\n\n"); n != 0 {
			t.Fatalf("%d heartbeats beside events", n)
		}
		time.Sleep(80 * time.Second)
		synctest.Wait()
		if n := strings.Count(rec.text(), ": heartbeat\n\n"); n != 6 {
			t.Errorf("%d heartbeats in 94 seconds", n)
		}
	})
}

// TestSlowClient_Dropped checks that a client that does not read is dropped at its write deadline,
// and that the run does not wait for it.
func TestSlowClient_Dropped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := open(t, ":memory:", plain)
		run := finished(t, s, chain(2))
		h := live.New(live.Config{WriteTimeout: 20 * time.Second})
		defer h.Close()
		began := time.Now()
		rec := &recorder{stuck: true}
		watch(t.Context(), s, h, run, rec)
		if took := time.Since(began); took != 20*time.Second || h.Watchers() != 0 {
			t.Errorf("dropped after %s, %d streams are left", took, h.Watchers())
		}
	})
}

// TestSlowClient_Reconnect checks over a real connection that a client that does not read is
// dropped, and receives everything when it reconnects.
func TestSlowClient_Reconnect(t *testing.T) {
	t.Parallel()
	s := open(t, ":memory:", func(context.Context, model.Request, func(model.Delta)) (string, error) {
		return strings.Repeat("much to read ", 2500), nil // a longer value would be a reference
	})
	run := finished(t, s, chain(150))
	srv, h := serve(t, s, live.Config{WriteTimeout: 50 * time.Millisecond})
	conn, err := net.Dial("tcp", srv.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.(*net.TCPConn).SetReadBuffer(4096); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, "GET "+live.Path(run)+" HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	h.Idle(1) // the stream has started and ended
	patient, _ := serve(t, s, live.Config{})
	if diff := cmp.Diff(events(connect(t, patient.URL+live.Path(run), "").rest()), stored(t, s, run),
		sameMessages); diff != "" {
		t.Error("who comes back does not get everything")
	}
}

// TestLongReplay checks that a long journal is read once for a client that keeps up, and chunk by
// chunk if other clients already read in one pass or if the client is slow: every client receives
// all of it, and no client holds it in memory (P22, SEC17).
func TestLongReplay(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("much to read ", 2500)
	s := open(t, ":memory:", func(context.Context, model.Request, func(model.Delta)) (string, error) {
		return text, nil
	})
	run := finished(t, s, chain(40))
	want := stored(t, s, run)
	for name, tc := range map[string]struct {
		crowd       bool
		least, most int64
	}{"alone": {false, 1, 1}, "in a crowd": {true, 5, 40}} {
		srv, h := serve(t, s, live.Config{RingBytes: 1})
		if tc.crowd {
			h.Crowd()
		}
		if diff := cmp.Diff(events(connect(t, srv.URL+live.Path(run), "").rest()), want, sameMessages); diff != "" {
			t.Errorf("%s: not everything came", name)
		}
		if n := h.Reads(); n < tc.least || n > tc.most {
			t.Errorf("%s: the journal was read %d times", name, n)
		}
	}
}

// slowClient is a client that takes a while to read each chunk, in the test's fake time.
type slowClient struct{ recorder }

func (s *slowClient) Write(b []byte) (int, error) {
	if len(b) > 1<<18 {
		time.Sleep(5 * time.Second)
	}
	return s.recorder.Write(b)
}

// TestSlowClient_ReplayContinues checks that a slow client releases its slot among the watchers
// that write while they read, and still receives everything.
func TestSlowClient_ReplayContinues(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		text := strings.Repeat("much to read ", 2500)
		s := open(t, ":memory:", func(context.Context, model.Request, func(model.Delta)) (string, error) {
			return text, nil
		})
		run := finished(t, s, chain(40))
		h := live.New(live.Config{RingBytes: 1})
		defer h.Close()
		rec := &slowClient{}
		watch(t.Context(), s, h, run, &rec.recorder, rec)
		// and the end message
		if n, events := h.Reads(), strings.Count(rec.text(), "\nid: "); n < 4 || events != len(stored(t, s, run))+1 {
			t.Errorf("the journal was read %d times; %d events came", n, events)
		}
	})
}

// TestSlowClient_DropsDeltasOnly checks that a client that is too slow for the ring loses pieces of
// model output, but no event (P22).
func TestSlowClient_DropsDeltasOnly(t *testing.T) {
	t.Parallel()
	s := open(t, ":memory:", func(_ context.Context, _ model.Request, say func(model.Delta)) (string, error) {
		for range 400 {
			say(model.Delta{Text: "a piece of what is said"})
		}
		return "fine", nil
	})
	srv, _ := serve(t, s, live.Config{RingBytes: 2000})
	run := start(t, s, chain(20))
	got := connect(t, srv.URL+live.Path(run), "").rest()
	if diff := cmp.Diff(events(got), stored(t, s, run), sameMessages); diff != "" {
		t.Errorf("(-got +want):\n%s", diff)
	}
}

// TestLimits checks the limits on streams per server and per namespace (SEC17), and that a released
// slot can be used again.
func TestLimits(t *testing.T) {
	t.Parallel()
	s := open(t, ":memory:", gated(nil))
	run := start(t, s, chain(1))
	for name, cfg := range map[string]live.Config{
		"this server": {MaxWatchers: 2, MaxOfNamespace: 5}, "this namespace": {MaxWatchers: 4},
	} {
		srv, h := serve(t, s, cfg)
		a, b := connect(t, srv.URL+live.Path(run), ""), connect(t, srv.URL+live.Path(run), "")
		c := connect(t, srv.URL+live.Path(run), "")
		if a.status != 200 || b.status != 200 || c.status != http.StatusTooManyRequests ||
			!strings.Contains(c.body, "2 event streams of "+name) ||
			!strings.Contains(c.body, `"code":"limit"`) {
			t.Errorf("%s: %d %d %d %s", name, a.status, b.status, c.status, c.body)
		}
		a.cut()
		b.cut()
		h.Idle(2)
		if again := connect(t, srv.URL+live.Path(run), ""); again.status != 200 {
			t.Errorf("%s: a place that is free again is not given: %d", name, again.status)
		}
	}
}

// TestClose checks that a server that shuts down ends all streams without an end message, so that
// their clients reconnect, and that new streams are rejected.
func TestClose(t *testing.T) {
	t.Parallel()
	s := open(t, ":memory:", gated(nil))
	run := start(t, s, chain(1))
	srv, h := serve(t, s, live.Config{})
	var all []*stream
	for range 20 {
		all = append(all, connect(t, srv.URL+live.Path(run), ""))
	}
	h.Close()
	for _, st := range all {
		if got := kinds(st.rest()); strings.HasSuffix(got, live.TypeEnd) {
			t.Errorf("the stream ended with %s", got)
		}
	}
	if st := connect(t, srv.URL+live.Path(run), ""); st.status != http.StatusServiceUnavailable {
		t.Errorf("a stream of a server that shuts down: %d", st.status)
	}
}

// TestTickets checks SEC1 and SEC10: without a caller nothing is visible; a ticket opens its run's
// stream, and its next use takes the stream over; revoking it ends the stream.
func TestTickets(t *testing.T) {
	t.Parallel()
	s := open(t, ":memory:", gated(nil))
	run := start(t, s, chain(1))
	tickets := &access.Tickets{}
	srv, h := serve(t, s, live.Config{Tickets: tickets})
	caller := &transport.Caller{Principal: watcher, Service: s}
	issued, err := h.IssueTicket(t.Context(), caller, run)
	if err != nil || issued.Path != live.Path(run) {
		t.Fatalf("%+v: %v", issued, err)
	}
	ticket := issued.Ticket
	if p, ok := tickets.Redeem(ticket, live.Path(run)); !ok || p != watcher {
		t.Fatalf("the ticket opens the stream for %+v: %t", p, ok)
	}
	first := connect(t, srv.URL+live.Path(run)+"?ticket="+ticket, "")
	second := connect(t, srv.URL+live.Path(run)+"?ticket="+ticket, "")
	if got := kinds(first.rest()); strings.Contains(got, "end") {
		t.Errorf("the first stream: %s", got)
	}
	if m, ok := second.next(); !ok || m.kind != "run.created" {
		t.Errorf("the second stream begins with %+v", m)
	}
	tickets.Revoke(watcher.Namespace, watcher.Token)
	if got := kinds(second.rest()); strings.Contains(got, "end") {
		t.Errorf("the second stream ends with %s", got)
	}
	h.Idle(2)
	if _, err := h.IssueTicket(t.Context(), caller, "missing"); !errors.Is(err, journal.ErrNotFound) {
		t.Errorf("a ticket for a run that is not there: %v", err)
	}
	for range access.MaxTickets {
		if _, err = h.IssueTicket(t.Context(), caller, run); err != nil {
			break
		}
	}
	for range 2 {
		_, err = h.IssueTicket(t.Context(), caller, run)
	}
	if _, ok := errors.AsType[*service.LimitError](err); !ok {
		t.Errorf("more tickets than there may be: %v", err)
	}
	rec := &status{recorder: recorder{header: http.Header{}}}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, live.Path(run), http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.SetPathValue("id", run)
	if h.ServeHTTP(rec, req); rec.code != http.StatusUnauthorized {
		t.Errorf("no caller gets %d", rec.code)
	}
}

// status is a recorder that records the status.
type status struct {
	recorder
	code int
}

func (s *status) WriteHeader(code int) { s.code = code }

// TestManyWatchers checks P22: all of many watchers of one run receive the same complete stream.
func TestManyWatchers(t *testing.T) {
	t.Parallel()
	gate := make(chan struct{})
	s := open(t, ":memory:", gated(gate))
	run := start(t, s, chain(5))
	srv, _ := serve(t, s, live.Config{})
	var wg sync.WaitGroup
	got := make([][]message, 60)
	for i := range got {
		st := connect(t, srv.URL+live.Path(run)+"?after="+strconv.Itoa(i%3), "")
		wg.Go(func() { got[i] = events(st.rest()) })
	}
	for range 5 {
		gate <- struct{}{}
	}
	wg.Wait()
	want := stored(t, s, run)
	for i, one := range got {
		if diff := cmp.Diff(one, want[i%3:], sameMessages); diff != "" {
			t.Fatalf("watcher %d (-got +want):\n%s", i, diff)
		}
	}
}
