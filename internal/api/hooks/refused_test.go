package hooks_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/api/hooks"
	"github.com/hocket-run/hocket/internal/journal"
)

// TestNotifications_Refused checks that a refused schedule is notified once for each reason, to the
// endpoints that want it, and by any process.
func TestNotifications_Refused(t *testing.T) {
	t.Parallel()
	for _, db := range []string{"", onDisk(t)} {
		r := newReceiver(t)
		w := newWorld(t, setup{db: db, config: operator(t, r, hooks.Endpoint{Workflows: []string{"daily"}})})
		w.env["NOTIFY"] = operatorSecret
		book := w.service.Home().Journal
		refuse := func(workflow, reason string, at time.Time) {
			t.Helper()
			if err := book.Register(t.Context(), journal.Registration{
				ScheduleKey: journal.ScheduleKey{Workflow: workflow, Branch: "b", Schedule: "s"},
				Refused:     at, Refusal: reason}); err != nil {
				t.Fatal(err)
			}
		}
		began := time.Now().UTC().Truncate(time.Microsecond)
		refuse("other", "not for this endpoint", began)
		refuse("daily", "no key", began)
		stop := w.serve(t)
		first := r.wait(1)[0]
		for _, part := range []string{`"type":"schedule.refused"`, `"workflow":"daily"`, `"message":"no key"`,
			`"schedule":{"branch":"b","id":"s"}`, `"code":"schedule-refused"`} {
			if !strings.Contains(first.Body, part) {
				t.Errorf("%s lacks %s", first.Body, part)
			}
		}
		if strings.Contains(first.Body, `"run"`) || strings.Contains(first.Body, "links") {
			t.Errorf("a run that does not exist: %s", first.Body)
		}
		w.settled(t)
		stop()
		stop = w.serve(t) // as another process, which has seen nothing
		refuse("daily", "no model", began.Add(time.Second))
		if got := r.wait(2); got[1].Data.Error.Message != "no model" {
			t.Errorf("%s", got[1].Body)
		}
		if list := w.settled(t); len(list) != 2 {
			t.Errorf("%+v", list)
		}
		stop()
	}
}

// TestReceive_Failure checks that the list of webhooks says since when and why a webhook starts no
// runs: its sender is not told.
func TestReceive_Failure(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{})
	made := w.create(hooks.CreateRequest{Workflow: "echo"})
	path, n := hooks.Path("default", made.Of), 0
	deliver := func(want int) hooks.Webhook {
		t.Helper()
		n++
		id := "d" + string(rune('0'+n))
		if rec := send(w.hooks.Receive(), "POST", path, "hi",
			signed(t, made.Secret, id, time.Now(), "hi")...); rec.Code != want {
			t.Fatal(rec.Code, rec.Body)
		}
		list, err := w.hooks.Webhooks(t.Context(), "default", w.service)
		i := slices.IndexFunc(list, func(one hooks.Webhook) bool { return one.ID == made.Of.ID })
		if err != nil || i < 0 {
			t.Fatal(list, err)
		}
		return list[i]
	}
	if one := deliver(http.StatusAccepted); !one.Failed.IsZero() || one.Error != "" {
		t.Errorf("at first: %+v", one)
	}
	w.apply("echo", strings.Replace(echo, "fake/echo", "openai/gpt-6.1-terra", 1), "yaml")
	first := deliver(http.StatusConflict)
	if first.Failed.IsZero() || !strings.Contains(first.Error, "openai") {
		t.Errorf("no key: %+v", first)
	}
	if again := deliver(http.StatusConflict); !again.Failed.Equal(first.Failed) {
		t.Errorf("the same reason again: %v, want %v", again.Failed, first.Failed)
	}
	w.apply("echo", echo, "yaml")
	if one := deliver(http.StatusAccepted); !one.Failed.IsZero() || one.Error != "" {
		t.Errorf("repaired: %+v", one)
	}
}
