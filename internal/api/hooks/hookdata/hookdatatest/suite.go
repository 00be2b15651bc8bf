// Package hookdatatest is the conformance suite for all stores of hooks.
package hookdatatest

import (
	"crypto/sha256"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket/internal/api/hooks/hookdata"
)

var zero = time.Date(2026, 11, 22, 4, 0, 0, 123456000, time.UTC)

func after(d time.Duration) time.Time { return zero.Add(d) }

// Run checks an implementation against the contract of hookdata.Store. open returns a store and a
// function that returns another handle on the same store.
func Run(t *testing.T, open func(t *testing.T) (hookdata.Store, func() hookdata.Store)) {
	t.Helper()
	for name, test := range map[string]func(*testing.T, hookdata.Store, func() hookdata.Store){
		"webhooks": testWebhooks, "deliveries (SEC18)": testDeliveries, "deliveries at once (SEC18)": testDeliverOnce,
		"endpoints": testEndpoints,
		"outbox":    testOutbox, "backlog": testBacklog, "pages": testPages, "taken once": testTakeOnce,
		"links": testLinks, "sweep": testSweep,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, again := open(t)
			test(t, s, again)
		})
	}
}

func same[T any](t *testing.T, what string, got, want T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func fine(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func testWebhooks(t *testing.T, s hookdata.Store, again func() hookdata.Store) {
	ctx := t.Context()
	one := hookdata.Webhook{ID: "wh_1", Path: "aaaaaaaaaaaaaaaaaaaaaa", Workflow: "w", Mode: "standard", Created: zero,
		Secrets: []hookdata.Secret{{Sealed: []byte("x")}}}
	two := hookdata.Webhook{ID: "wh_0", Path: "bbbbbbbbbbbbbbbbbbbbbb", Workflow: "v", Branch: "b", Mode: "token",
		Header: "X-T", Created: after(time.Second), Secrets: []hookdata.Secret{{Ref: "${env.T}"}}}
	for _, w := range []hookdata.Webhook{two, one} {
		got, err := s.SetWebhook(ctx, w.ID, func(have *hookdata.Webhook) error {
			same(t, "what is not there", *have, hookdata.Webhook{})
			*have = w
			return nil
		})
		fine(t, err)
		same(t, "added", got, w)
	}
	all, err := again().Webhooks(ctx)
	fine(t, err)
	same(t, "all, the oldest first", all, []hookdata.Webhook{one, two})
	got, err := s.Webhook(ctx, two.Digest())
	fine(t, err)
	same(t, "by path", got, two)
	if _, err := s.Webhook(ctx, sha256.Sum256(nil)); !errors.Is(err, hookdata.ErrNone) {
		t.Errorf("unknown path: %v", err)
	}
	stop := errors.New("no")
	if _, err := s.SetWebhook(ctx, "wh_1", func(w *hookdata.Webhook) error {
		w.Workflow = "other"
		return stop
	}); !errors.Is(err, stop) {
		t.Errorf("refused change: %v", err)
	}
	got, err = s.Webhook(ctx, one.Digest())
	fine(t, err)
	same(t, "after a refused change", got, one)
	fine(t, s.DeleteWebhook(ctx, "wh_1"))
	if err := s.DeleteWebhook(ctx, "wh_1"); !errors.Is(err, hookdata.ErrNone) {
		t.Errorf("deleted twice: %v", err)
	}
	if _, err := s.Webhook(ctx, one.Digest()); !errors.Is(err, hookdata.ErrNone) {
		t.Errorf("deleted: %v", err)
	}
}

func testDeliveries(t *testing.T, s hookdata.Store, again func() hookdata.Store) {
	ctx := t.Context()
	d := hookdata.Delivery{Webhook: "wh_1", Key: sha256.Sum256([]byte("a")), At: zero, Until: after(time.Hour)}
	got, err := s.Deliver(ctx, d)
	fine(t, err)
	same(t, "first", got, d)
	later := d
	later.At, later.Until = after(time.Minute), after(2*time.Hour)
	got, err = again().Deliver(ctx, later)
	fine(t, err)
	same(t, "again", got, d)
	later.At = after(time.Hour)
	got, err = s.Deliver(ctx, later)
	fine(t, err)
	same(t, "after its time", got, later)
	other := d
	other.Webhook = "wh_2"
	got, err = s.Deliver(ctx, other)
	fine(t, err)
	same(t, "of another webhook", got, other)
}

func testDeliverOnce(t *testing.T, s hookdata.Store, again func() hookdata.Store) {
	stores := []hookdata.Store{s, again()}
	var (
		wg    sync.WaitGroup
		mu    sync.Mutex
		times = map[time.Time]int{}
	)
	for i := range 40 {
		wg.Go(func() {
			got, err := stores[i%2].Deliver(t.Context(),
				hookdata.Delivery{Webhook: "wh_1", At: after(time.Duration(i) * time.Second), Until: after(time.Hour)})
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			times[got.At]++
		})
	}
	wg.Wait()
	if len(times) != 1 {
		t.Errorf("one delivery was taken for several: %v", times)
	}
}

func testEndpoints(t *testing.T, s hookdata.Store, again func() hookdata.Store) {
	ctx := t.Context()
	e := hookdata.Endpoint{ID: "ep_1", URL: "https://example.com/x", Secrets: []hookdata.Secret{{Sealed: []byte("s")}},
		On: []hookdata.Type{"run.failed"}, Workflows: []string{"w"}, ApproveLinks: true, Created: zero}
	_, err := s.SetEndpoint(ctx, e.ID, func(have *hookdata.Endpoint) error {
		*have = e
		return nil
	})
	fine(t, err)
	all, err := again().Endpoints(ctx)
	fine(t, err)
	same(t, "all", all, []hookdata.Endpoint{e})
	fine(t, s.Post(ctx, 0, 1, []hookdata.Notification{notification("a", "ep_1", 0), notification("b", "ep_2", 0)}))
	fine(t, s.DeleteEndpoint(ctx, "ep_1"))
	if err := s.DeleteEndpoint(ctx, "ep_1"); !errors.Is(err, hookdata.ErrNone) {
		t.Errorf("deleted twice: %v", err)
	}
	left, _, err := s.Notifications(ctx, hookdata.NotificationQuery{})
	fine(t, err)
	same(t, "what is left to be told", ids(left), []string{"b"})
}

func notification(id, endpoint string, due time.Duration) hookdata.Notification {
	return hookdata.Notification{
		ID: id, Endpoint: endpoint, Type: "run.completed", Run: "r-" + id, Body: []byte(`{"a":1}`),
		State: hookdata.StatePending, Made: zero, Due: after(due),
	}
}

func ids(list []hookdata.Notification) []string {
	var out []string
	for _, n := range list {
		out = append(out, n.ID)
	}
	return out
}

func testOutbox(t *testing.T, s hookdata.Store, again func() hookdata.Store) {
	ctx := t.Context()
	if _, found, err := s.Cursor(ctx); found || err != nil {
		t.Fatalf("cursor of an empty store: %v, %v", found, err)
	}
	fine(t, s.Post(ctx, 0, 7, []hookdata.Notification{notification("a", "e", time.Second), notification("b", "e", 0)}))
	if err := again().Post(ctx, 0, 9, []hookdata.Notification{notification("c", "e", 0)}); !errors.Is(err,
		hookdata.ErrMoved) {
		t.Errorf("posted from where the cursor does not stand: %v", err)
	}
	fine(t, again().Post(ctx, 7, 9, []hookdata.Notification{notification("a", "other", 0),
		notification("d", "e", time.Hour)}))
	at, found, err := s.Cursor(ctx)
	fine(t, err)
	if at != 9 || !found {
		t.Errorf("cursor at %d, %v", at, found)
	}
	due, err := s.Take(ctx, after(time.Minute), after(2*time.Minute), 10, nil)
	fine(t, err)
	same(t, "due, the oldest first", due, []hookdata.Notification{notification("b", "e", 0),
		notification("a", "e", time.Second)})
	hidden, err := again().Take(ctx, after(time.Minute), after(2*time.Minute), 10, nil)
	fine(t, err)
	same(t, "while they are claimed", len(hidden), 0)
	done := due[0]
	done.State, done.Settled, done.Due = hookdata.StateDelivered, after(time.Minute), time.Time{}
	fine(t, s.Settle(ctx, done, notification("next", "e", 2*time.Hour)))
	got, err := s.Notification(ctx, "b")
	fine(t, err)
	same(t, "settled", got, done)
	others, err := s.Take(ctx, after(3*time.Minute), after(time.Hour), 10, []string{"x", "e"})
	fine(t, err)
	same(t, "but for those of an endpoint", len(others), 0)
	back, err := s.Take(ctx, after(3*time.Minute), after(time.Hour), 10, []string{"x"})
	fine(t, err)
	same(t, "left by its owner", ids(back), []string{"a"})
	fine(t, s.Settle(ctx, notification("never", "e", 0)))
	if _, err := s.Notification(ctx, "never"); !errors.Is(err, hookdata.ErrNone) {
		t.Errorf("unknown: %v", err)
	}
}

func testPages(t *testing.T, s hookdata.Store, _ func() hookdata.Store) {
	ctx := t.Context()
	var posted []hookdata.Notification
	var want []string
	for i := range 7 {
		n := notification(string(rune('a'+i)), "e", 0)
		if i%3 == 0 {
			n.State = hookdata.StateDead
			want = append(want, n.ID)
		}
		posted = append(posted, n)
	}
	slices.Reverse(want)
	fine(t, s.Post(ctx, 0, 1, posted))
	var all []string
	q := hookdata.NotificationQuery{Limit: 3}
	for pages := 1; ; pages++ {
		page, next, err := s.Notifications(ctx, q)
		fine(t, err)
		all = append(all, ids(page)...)
		if q.Before = next; next == 0 {
			same(t, "pages", pages, 3)
			break
		}
	}
	same(t, "the newest first, each once", all, []string{"g", "f", "e", "d", "c", "b", "a"})
	dead, next, err := s.Notifications(ctx, hookdata.NotificationQuery{State: hookdata.StateDead, Limit: 3})
	fine(t, err)
	same(t, "dead", ids(dead), want)
	same(t, "no further page", next, 0)
	of, _, err := s.Notifications(ctx, hookdata.NotificationQuery{Run: "r-c"})
	fine(t, err)
	same(t, "of a run", ids(of), []string{"c"})
}

func testTakeOnce(t *testing.T, s hookdata.Store, again func() hookdata.Store) {
	ctx := t.Context()
	var posted []hookdata.Notification
	for i := range 30 {
		posted = append(posted, notification(string(rune('A'+i)), "e", 0))
	}
	fine(t, s.Post(ctx, 0, 1, posted))
	stores := []hookdata.Store{s, again()}
	var (
		wg  sync.WaitGroup
		mu  sync.Mutex
		got []string
	)
	for i := range 10 {
		wg.Go(func() {
			due, err := stores[i%2].Take(ctx, after(time.Second), after(time.Hour), 5, nil)
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			got = append(got, ids(due)...)
		})
	}
	wg.Wait()
	if n := len(got); n != 30 {
		t.Errorf("30 were due, %d were taken", n)
	}
	slices.Sort(got)
	if n := len(slices.Compact(got)); n != 30 {
		t.Errorf("only %d different ones were taken", n)
	}
}

func testLinks(t *testing.T, s hookdata.Store, again func() hookdata.Store) {
	ctx := t.Context()
	u := hookdata.Use{Nonce: "n", Answer: `"approve"`, Note: "fine", At: zero, Until: after(time.Hour)}
	if _, err := s.Used(ctx, "n"); !errors.Is(err, hookdata.ErrNone) {
		t.Errorf("before: %v", err)
	}
	got, err := s.Use(ctx, u)
	fine(t, err)
	same(t, "first", got, u)
	other := u
	other.Answer, other.At = `"reject"`, after(time.Second)
	got, err = again().Use(ctx, other)
	fine(t, err)
	same(t, "second", got, u)
	got, err = s.Used(ctx, "n")
	fine(t, err)
	same(t, "used", got, u)
	fine(t, s.Unuse(ctx, "n"))
	got, err = s.Use(ctx, other)
	fine(t, err)
	same(t, "after it was taken back", got, other)
}

func testSweep(t *testing.T, s hookdata.Store, _ func() hookdata.Store) {
	ctx := t.Context()
	d := hookdata.Delivery{Webhook: "w", At: zero, Until: after(time.Hour)}
	_, err := s.Deliver(ctx, d)
	fine(t, err)
	_, err = s.Use(ctx, hookdata.Use{Nonce: "n", At: zero, Until: after(time.Hour)})
	fine(t, err)
	old := notification("old", "e", 0)
	old.State, old.Settled = hookdata.StateDelivered, after(time.Minute)
	fine(t, s.Post(ctx, 0, 1, []hookdata.Notification{old, notification("open", "e", 0)}))
	left := func() (n int) {
		t.Helper()
		list, _, err := s.Notifications(ctx, hookdata.NotificationQuery{})
		fine(t, err)
		n = len(list)
		if _, err := s.Used(ctx, "n"); err == nil {
			n += 10
		}
		return n
	}
	fine(t, s.Sweep(ctx, after(time.Minute), after(time.Minute)))
	same(t, "before its time", left(), 12)
	fine(t, s.Sweep(ctx, after(time.Hour), after(time.Minute+time.Microsecond)))
	same(t, "after its time", left(), 1)
}

func testBacklog(t *testing.T, s hookdata.Store, again func() hookdata.Store) {
	ctx := t.Context()
	counted := func(wantPending, wantDead int) {
		t.Helper()
		pending, dead, err := again().Backlog(ctx)
		fine(t, err)
		if pending != wantPending || dead != wantDead {
			t.Errorf("%d pending and %d dead, want %d and %d", pending, dead, wantPending, wantDead)
		}
	}
	counted(0, 0)
	all := []hookdata.Notification{notification("a", "e", 0), notification("b", "e", 0),
		notification("c", "e", time.Hour)}
	fine(t, s.Post(ctx, 0, 1, all))
	counted(3, 0)
	all[0].State, all[0].Settled, all[0].Due = hookdata.StateDead, after(time.Minute), time.Time{}
	all[1].State, all[1].Settled, all[1].Due = hookdata.StateDelivered, after(time.Minute), time.Time{}
	fine(t, s.Settle(ctx, all[0]))
	fine(t, s.Settle(ctx, all[1]))
	counted(1, 1)
}
