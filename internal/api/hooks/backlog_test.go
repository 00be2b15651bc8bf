package hooks_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/api/hooks"
	"github.com/hocket-run/hocket/internal/outbound"
)

// local returns a client that reaches receivers on this machine.
func local(t *testing.T, receivers ...*receiver) *http.Client {
	var allow []string
	for _, r := range receivers {
		allow = append(allow, r.URL)
	}
	c := outbound.New(outbound.Config{Allow: allow})
	t.Cleanup(c.CloseIdleConnections)
	return c
}

// TestBacklog checks that for an endpoint that does not respond, only as much is loaded from the
// store as can be sent in a round or two, however much is due; that other endpoints are notified
// meanwhile; and that the endpoint gets everything once it responds again (SEC17).
func TestBacklog(t *testing.T) {
	t.Parallel()
	const backlog = 400
	slow, quick := newReceiver(t), newReceiver(t)
	answers := make(chan struct{})
	slow.answer = func(int) int {
		<-answers
		return 204
	}
	q := operator(t, slow, hooks.Endpoint{})
	other := operator(t, quick, hooks.Endpoint{})
	other.Endpoints[0].ID, other.Endpoints[0].Name = "quick", "quick"
	q.Endpoints, q.Operator = append(q.Endpoints, other.Endpoints...), local(t, slow, quick)
	w := newWorld(t, setup{config: q})
	w.env["NOTIFY"] = operatorSecret
	store := w.hooks.StoreForTest(t.Context(), "default")
	due := time.Now().UTC().Add(-time.Minute).Truncate(time.Microsecond)
	message := func(endpoint string, i int, due time.Time) hooks.Notification {
		return hooks.Notification{
			ID: fmt.Sprintf("msg_%s_%d", endpoint, i), Endpoint: endpoint, Type: hooks.TypeRunCompleted, Run: "r",
			State: hooks.StatePending,
			Body:  []byte(`{"type": "run.completed", "timestamp": "2026-01-01T00:00:00Z", "data": {}}`), Made: due,
			Due: due,
		}
	}
	var all []hooks.Notification
	for i := range backlog {
		all = append(all, message(q.Endpoints[0].ID, i, due))
	}
	for i := range 10 {
		all = append(all, message("quick", i, due.Add(time.Second)))
	}
	if err := store.Post(t.Context(), 0, 0, all); err != nil {
		t.Fatal(err)
	}
	stop := w.serve(t)
	defer stop()
	quick.wait(10)
	taken := 0
	for before := int64(0); ; {
		page, next, err := store.Notifications(t.Context(), hooks.NotificationQuery{State: hooks.StatePending,
			Limit: 200, Before: before})
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range page {
			if n.Endpoint != "quick" && !n.Due.Equal(due) {
				taken++
			}
		}
		if before = next; next == 0 {
			break
		}
	}
	if taken == 0 || taken > 128 {
		t.Errorf("%d of %d notifications of an endpoint that does not answer were taken", taken, backlog)
	}
	close(answers)
	if got := slow.wait(backlog); len(got) != backlog {
		t.Errorf("%d messages came", len(got))
	}
}
