package journaltest

import (
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/hocket-run/hocket/internal/journal"
)

func mustPost(t *testing.T, b journal.Inbox, r journal.Request) journal.Request {
	t.Helper()
	id, err := b.Post(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	r.ID = id
	return r
}

func took(t *testing.T, b journal.Inbox, want ...journal.Request) {
	t.Helper()
	got, err := b.Take(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("take (-got +want):\n%s", diff)
	}
}

// testUnclaimed checks that requests to runs without a living owner are listed in arrival order
// until they are settled; listing takes none of them (D29).
func testUnclaimed(t *testing.T, m Medium) {
	a, b := handle(t, m), handle(t, m)
	unclaimed := func(run string, want ...journal.Request) {
		t.Helper()
		got, err := b.Unclaimed(t.Context(), run)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(got, want, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("unclaimed of %q (-got +want):\n%s", run, diff)
		}
	}
	bare := func(q journal.Request) journal.Request {
		q.Data = nil
		return q
	}
	mustAppend(t, a, create("r1", 0), create("r2", 1))
	one := mustPost(t, b, journal.Request{Run: "r1", Kind: "answer", Data: []byte("yes"), At: at(1)})
	unclaimed("r1") // it has an owner
	if err := a.Release(t.Context(), "r1", 1); err != nil {
		t.Fatal(err)
	}
	two := mustPost(t, b, journal.Request{Run: "r1", Kind: "answer", Data: []byte("no"), At: at(2)})
	unclaimed("r1", one, two)
	unclaimed("r1", one, two)
	unclaimed("r2")
	unclaimed("", bare(one), bare(two))
	took(t, b)
	mustClaim(t, b, "r1")
	unclaimed("r1")
	took(t, b, one, two)
	if err := b.Settle(t.Context(), one.ID, []byte("done")); err != nil {
		t.Fatal(err)
	}
	if err := b.Release(t.Context(), "r1", 2); err != nil {
		t.Fatal(err)
	}
	unclaimed("r1", two)
	three := mustPost(t, b, journal.Request{Run: "r2", Kind: "answer", Data: []byte("yes"), At: at(3)})
	unclaimed("", bare(two))
	mustClose(t, a) // it dies while it owns r2
	unclaimed("r2", three)
	unclaimed("", bare(two), bare(three))
	// No matter how many requests wait for programs that do not return, the other requests are
	// listed.
	for range 1001 {
		mustPost(t, b, journal.Request{Run: "r1", Kind: "answer"})
	}
	last := mustPost(t, b, journal.Request{Run: "r2", Kind: "answer", Data: []byte("no"), At: at(4)})
	unclaimed("r2", three, last)
	if all, err := b.Unclaimed(t.Context(), ""); err != nil || len(all) != 1004 {
		t.Errorf("%d unclaimed, %v, want 1004", len(all), err)
	}
}

func testInbox(t *testing.T, m Medium) {
	a, b, c := handle(t, m), handle(t, m), handle(t, m)
	mustAppend(t, a, create("r1", 0))
	mustAppend(t, b, create("r2", 0))
	took(t, a)
	took(t, c)
	one := mustPost(t, c, journal.Request{Run: "r1", Kind: "answer", Data: []byte("yes"), At: at(1)})
	two := mustPost(t, b, journal.Request{Run: "r1", Kind: "cancel", Data: []byte("{}"), At: at(2)})
	three := mustPost(t, c, journal.Request{Run: "r2", Kind: "cancel", Data: []byte("{}"), At: at(3)})
	_, err := c.Post(t.Context(), journal.Request{Run: "r9"})
	checkRejected(t, "post to no run", err, journal.ErrNotFound)

	took(t, c)
	took(t, a, one, two)
	took(t, a) // each once
	took(t, b, three)

	if result, done, err := c.Result(t.Context(), one.ID); done || result != nil || err != nil {
		t.Errorf("open request: %q, %v, %v", result, done, err)
	}
	for _, result := range []string{"first", "second"} {
		if err := a.Settle(t.Context(), one.ID, []byte(result)); err != nil {
			t.Fatal(err)
		}
		if result, done, err := c.Result(t.Context(), one.ID); string(result) != "first" || !done || err != nil {
			t.Errorf("settled request: %q, %v, %v", result, done, err)
		}
	}
	checkRejected(t, "settle of no request", a.Settle(t.Context(), 999, nil), journal.ErrNotFound)
	_, _, err = c.Result(t.Context(), 999)
	checkRejected(t, "result of no request", err, journal.ErrNotFound)

	if err := a.Release(t.Context(), "r1", 1); err != nil {
		t.Fatal(err)
	}
	mustPrune(t, c, journal.PruneQuery{Runs: []string{"r1"}})
	_, _, err = c.Result(t.Context(), one.ID)
	checkRejected(t, "result after prune", err, journal.ErrNotFound)

	// Many callers take the owner's requests concurrently: each request is returned once.
	const n = 20
	for i := range n {
		mustPost(t, c, journal.Request{Run: "r2", Kind: fmt.Sprint(i)})
	}
	var (
		wg    sync.WaitGroup
		mu    sync.Mutex
		count int
	)
	for range 5 {
		wg.Go(func() {
			got, err := b.Take(t.Context())
			mu.Lock()
			defer mu.Unlock()
			count += len(got)
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if count != n {
		t.Errorf("handed out %d times, want %d", count, n)
	}
}

// testInboxDeadOwner checks that requests that a dead owner had taken but not settled go to the
// next owner (D16).
func testInboxDeadOwner(t *testing.T, m Medium) {
	a, b := handle(t, m), handle(t, m)
	mustAppend(t, a, create("r1", 0))
	settled := mustPost(t, b, journal.Request{Run: "r1", Kind: "answer", Data: []byte("1"), At: at(1)})
	open := mustPost(t, b, journal.Request{Run: "r1", Kind: "answer", Data: []byte("2"), At: at(2)})
	took(t, a, settled, open)
	if err := a.Settle(t.Context(), settled.ID, []byte("ok")); err != nil {
		t.Fatal(err)
	}
	mustClose(t, a)
	took(t, b)
	mustClaim(t, b, "r1")
	took(t, b, open)
	took(t, b)
	// A poster that claims the run itself settles its own request.
	if err := b.Settle(t.Context(), open.ID, nil); err != nil {
		t.Fatal(err)
	}
	if _, done, err := b.Result(t.Context(), open.ID); !done || err != nil {
		t.Errorf("got %v, %v", done, err)
	}
}
