package hooks_test

import (
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/api/hooks"
)

// TestReplay checks that a repeated delivery gets the first response and starts nothing, even if it
// is received many times concurrently, at two servers (SEC18).
func TestReplay(t *testing.T) {
	t.Parallel()
	db := onDisk(t)
	one := newWorld(t, setup{db: db})
	two := newWorld(t, setup{db: db})
	c := one.create(hooks.CreateRequest{})
	path := hooks.Path("default", c.Of)
	now := time.Now()
	var (
		wg    sync.WaitGroup
		mu    sync.Mutex
		found = map[string]int{}
	)
	for i := range 40 {
		w := one
		if i%2 == 1 {
			w = two
		}
		wg.Go(func() {
			// A sender that retries signs again, with another time.
			rec := send(w.hooks.Receive(), "POST", path, "hello",
				signed(t, c.Secret, "m1", now.Add(time.Duration(i)*time.Second), "hello")...)
			mu.Lock()
			defer mu.Unlock()
			found[rec.Body.String()]++
			if rec.Code != http.StatusAccepted {
				t.Errorf("%d %s", rec.Code, rec.Body)
			}
		})
	}
	wg.Wait()
	if len(found) != 1 || len(one.runs()) != 1 {
		t.Fatalf("%d answers, %d runs", len(found), len(one.runs()))
	}
	runOf(t, send(two.hooks.Receive(), "POST", path, "hello", signed(t, c.Secret, "m2", now, "hello")...))
	if n := len(one.runs()); n != 2 {
		t.Errorf("another delivery: %d runs", n)
	}
	// Deliveries of senders without ids are identified by their content.
	gh := one.create(hooks.CreateRequest{Mode: hooks.ModeGitHub})
	for range 3 {
		h := github(gh.Secret, "", "{}")
		rec := send(one.hooks.Receive(), "POST", hooks.Path("default", gh.Of), "{}", append(h[:2:2], h[4:]...)...)
		runOf(t, rec)
	}
	if n := len(one.runs()); n != 3 {
		t.Errorf("without ids: %d runs", n)
	}
}

// TestReceive_ReplayOtherDeliveryID checks deliveries of GitHub, which does not sign the id. A
// captured delivery starts nothing under another id, without an id, or with additional unsigned
// headers; sent again by GitHub later, it is still the same delivery; and another body under a
// known id is a separate delivery (SEC18).
func TestReceive_ReplayOtherDeliveryID(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{})
	gh := w.create(hooks.CreateRequest{Mode: hooks.ModeGitHub})
	h, path := w.hooks.Receive(), hooks.Path("default", gh.Of)
	deliver := func(id, body string, more ...string) string {
		t.Helper()
		headers := github(gh.Secret, id, body)
		if id == "" {
			headers = append(headers[:2:2], headers[4:]...)
		}
		return runOf(t, send(h, "POST", path, body, append(headers, more...)...))
	}
	first := deliver("d1", `{"n": 1}`)
	second := deliver("d2", `{"n": 2}`)
	for _, again := range []string{
		deliver("d1", `{"n": 1}`), deliver("d9", `{"n": 1}`), deliver("d2", `{"n": 1}`), deliver("", `{"n": 1}`),
		deliver("", `{"n": 1}`, "webhook-timestamp", "5", "webhook-signature", "v1,x"),
	} {
		if again != first {
			t.Errorf("the first delivery is the run %s once more, not %s", again, first)
		}
	}
	if third := deliver("d1", `{"n": 3}`); third == first || third == second {
		t.Errorf("another body is run %s", third)
	}
	if n := len(w.runs()); n != 3 {
		t.Errorf("%d runs", n)
	}
	// Once the body has expired, the id still identifies the delivery.
	store := w.hooks.StoreForTest(t.Context(), "default")
	if err := store.Sweep(t.Context(), time.Now().Add(hooks.Tolerance+time.Minute), time.Time{}); err != nil {
		t.Fatal(err)
	}
	if again := deliver("d2", `{"n": 2}`); again != second {
		t.Errorf("a late repetition is run %s, not %s", again, second)
	}
	if again := deliver("d2", `{"n": 2}`); again != second || len(w.runs()) != 3 {
		t.Errorf("a later one is run %s, not %s; %d runs", again, second, len(w.runs()))
	}
}
