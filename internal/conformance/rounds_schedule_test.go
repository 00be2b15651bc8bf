package conformance_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/service"
)

// withScheduler configures the world as a process that runs schedules.
func withScheduler(c *service.Config) { c.Kind = journal.KindScheduler }

// scheduled returns a rounds document with one agent `a` and with keys next to its graph.
func scheduled(keys string) string {
	return `{"id": "news", "agents": [{"id": "a", "name": "a"}], "nodes": [{"id": "n", "type": "agent", "config": ` +
		`{"agentId": "a"}}], "edges": [], ` + keys + `}`
}

// branched returns a rounds document with these branches, each written `id: keys`; its main graph
// has the agent `main`.
func branched(keys string, branches ...string) string {
	list := make([]string, len(branches))
	for i, b := range branches {
		id, own, _ := strings.Cut(b, ": ")
		list[i] = fmt.Sprintf(`{"id": %q, "nodes": [{"id": "n", "type": "agent", "config": {"agentId": %q}}], `+
			`"edges": [], %s}`, id, id, own)
		list[i] = strings.Replace(list[i], ", }", "}", 1)
	}
	agents := []string{`{"id": "main", "name": "main"}`}
	for _, b := range branches {
		id, _, _ := strings.Cut(b, ": ")
		agents = append(agents, fmt.Sprintf(`{"id": %q, "name": %q}`, id, id))
	}
	return fmt.Sprintf(`{"id": "news", "agents": [%s], "nodes": [{"id": "n", "type": "agent", "config": {"agentId": `+
		`"main"}}], "edges": [], "branches": [%s]%s}`,
		strings.Join(agents, ", "), strings.Join(list, ", "), keys)
}

// applyDocument applies a document and returns its problems.
func (w *world) applyDocument(doc string) diag.List {
	w.t.Helper()
	_, problems, err := w.Apply(w.t.Context(),
		service.ApplyRequest{Documents: []service.Document{{File: "news.json", Data: []byte(doc)}}})
	if err != nil {
		w.t.Fatal(err)
	}
	return problems
}

// runSchedules runs the schedules of the stored documents for d in the bubble's time.
func (w *world) runSchedules(d time.Duration) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), d)
	defer cancel()
	if err := w.Schedule(ctx, service.ScheduleRequest{Zone: time.UTC}); err != nil {
		w.t.Fatal(err)
	}
}

// planned returns the planned times of all runs as `branch offset`, in start order.
func (w *world) planned(from time.Time) string {
	w.t.Helper()
	heads, _, err := w.List(w.t.Context(), journal.Query{Limit: 1000})
	if err != nil {
		w.t.Fatal(err)
	}
	var out []string
	for _, h := range slices.Backward(heads) {
		at, err := time.Parse(time.RFC3339Nano, h.Meta["planned"])
		if err != nil {
			continue // started by hand
		}
		out = append(out, strings.TrimSpace(h.Meta["targetBranchId"]+" "+at.Sub(from).String()))
	}
	return strings.Join(out, ", ")
}

// atSave checks that documents are rejected with this message when they are stored, and that
// nothing is stored.
func atSave(t *testing.T, want map[string]string) {
	t.Helper()
	for keys, message := range want {
		w := newWorld(t, withScheduler)
		problems := w.applyDocument(scheduled(keys))
		if got := messages(problems, diag.Error); len(got) != 1 || got[0] != message {
			t.Errorf("%s: %q, want %q", keys, got, message)
		}
		if entries, err := w.Entries(t.Context()); err != nil || len(entries) > 0 {
			t.Errorf("%s is stored: %v, %v", keys, entries, err)
		}
	}
}

// runDocumentSchedules runs the schedules of one document from the start of the bubble's time.
func runDocumentSchedules(t *testing.T, doc string, d time.Duration, lines ...line) (*world, string) {
	t.Helper()
	w := newWorld(t, withScheduler)
	if len(lines) > 0 {
		w.plays("a", lines...)
	}
	if problems := w.applyDocument(doc); problems.HasErrors() {
		t.Fatal(problems)
	}
	from := time.Now()
	// Of more than a day, the middle is not played, second by second: a planned time in it would be
	// caught up with.
	const begin, end = time.Hour, 90 * time.Minute
	if d > 24*time.Hour {
		w.runSchedules(begin)
		time.Sleep(d - begin - end)
		d = end
	}
	w.runSchedules(d)
	return w, w.planned(from)
}

// previews returns the next times of a document with this schedule.
func previews(t *testing.T, spec, zone, from string, count int) string {
	t.Helper()
	wf, _ := load(t, scheduled(fmt.Sprintf(`"executionMode": "interval", "schedule": %q, "timeZone": %q`, spec, zone)))
	at, err := time.Parse(time.RFC3339, from)
	if err != nil {
		t.Fatal(err)
	}
	p, err := service.PreviewOf(wf, service.PreviewRequest{From: at, Count: count})
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, next := range p.Times {
		out = append(out, next.Format("01-02 15:04-07:00"))
	}
	return strings.Join(out, ", ")
}

var roundsSchedule = []rule{
	{name: "S1-22 only what asks for it is started, and an interval without a schedule is refused when it is stored",
		test: func(t *testing.T) {
			w, got := runDocumentSchedules(t, branched("", `one: "executionMode": "one_time"`, `none: "name": "x"`),
				time.Hour)
			same(t, "runs", got, "")
			same(t, "model calls", len(w.asked()), 0)
			atSave(t, map[string]string{`"executionMode": "interval"`: "the mode interval needs a schedule"})
		}},
	{name: "S1-23 the next run of a continuous branch follows the end of the former, a failed one too",
		test: func(t *testing.T) {
			doc := scheduled(`"executionMode": "continuous"`)
			w, got := runDocumentSchedules(t, doc, 4*time.Second, say("one").slow(), fail(model.KindServer, "no"),
				say("three").slow())
			same(t, "after a second", got, "0s, 2s, 3s")
			heads, _, err := w.List(t.Context(), journal.Query{Statuses: []journal.Status{journal.StatusFailed}})
			same(t, "failed runs", fmt.Sprint(len(heads), err), "1 <nil>")
			_, got = runDocumentSchedules(t, scheduled(`"executionMode": "continuous", "schedule": "5"`),
				12*time.Second)
			same(t, "after five seconds", got, "0s, 5s, 10s")
		}},
	{name: "S1-27 a document is scheduled by its own mode, with branches by theirs alone", test: func(t *testing.T) {
		_, got := runDocumentSchedules(t, scheduled(`"executionMode": "interval", "schedule": "60"`), 150*time.Second)
		same(t, "without branches", got, "1m0s, 2m0s")
		w, got := runDocumentSchedules(t, branched("", `b: "executionMode": "interval", "schedule": "60"`,
			`c: "executionMode": "one_time"`), 150*time.Second)
		same(t, "with branches", got, "b 1m0s, b 2m0s")
		same(t, "model calls", w.asked(), []string{"b", "b"})
		atSave(t, map[string]string{`"executionMode": "cron", "schedule": "60"`: `unknown execution mode "cron"`})
	}},
	{name: "S1-30 seconds are a whole positive number", test: func(t *testing.T) {
		_, got := runDocumentSchedules(t, scheduled(`"executionMode": "interval", "schedule": " 60 "`), 130*time.Second)
		same(t, "runs", got, "1m0s, 2m0s")
		atSave(t, map[string]string{
			`"executionMode": "interval", "schedule": "0"`:     `schedule "0": seconds must be 1 or more`,
			`"executionMode": "interval", "schedule": "-1"`:    `schedule "-1": seconds must be 1 or more`,
			`"executionMode": "interval", "schedule": ""`:      "the mode interval needs a schedule",
			`"executionMode": "interval", "schedule": "abc"`:   `invalid schedule "abc"`,
			`"executionMode": "interval", "schedule": "60abc"`: `schedule "60abc" is not a whole number of seconds`,
			`"executionMode": "interval", "schedule": "1.5"`:   `schedule "1.5" is not a whole number of seconds`,
		})
	}},
	{name: "S1-31 a time of day has an hour of one or two digits and is in the day", test: func(t *testing.T) {
		_, got := runDocumentSchedules(t, scheduled(`"executionMode": "interval", "schedule": " daily@1:05 "`),
			2*time.Hour)
		same(t, "runs", got, "1h5m0s")
		atSave(t, map[string]string{
			`"executionMode": "interval", "schedule": "daily@99:00"`: `schedule "daily@99:00": the hour is 99, the ` +
				`last one of a day is 23`,
			`"executionMode": "interval", "schedule": "daily@0:99"`: `schedule "daily@0:99": the minute is 99, the ` +
				`last one of an hour is 59`,
			`"executionMode": "interval", "schedule": "daily@"`: `schedule "daily@" has no time of day`,
		})
	}},
	{name: "S1-32 days are 0 for Sunday to 6", test: func(t *testing.T) {
		same(t, "days", previews(t, "weekly@1,3,5", "UTC", "2026-11-21T12:00:00Z", 4),
			"11-23 00:00+00:00, 11-25 00:00+00:00, 11-27 00:00+00:00, 11-30 00:00+00:00")
		same(t, "Sunday", previews(t, "weekly@0", "UTC", "2026-11-21T12:00:00Z", 1), "11-22 00:00+00:00")
		atSave(t, map[string]string{
			`"executionMode": "interval", "schedule": "weekly@7"`: `schedule "weekly@7": "7" is not a day`,
			`"executionMode": "interval", "schedule": "weekly@monday"`: `schedule "weekly@monday": "monday" is ` +
				`not a day`,
			`"executionMode": "interval", "schedule": "weekly@"`: `schedule "weekly@" lists no day`,
		})
	}},
	{name: "S1-33 weekly fires at local midnight, strictly after now", test: func(t *testing.T) {
		// The bubble's time starts on Saturday at midnight UTC.
		_, got := runDocumentSchedules(t, scheduled(`"executionMode": "interval", "schedule": "weekly@0,6"`),
			25*time.Hour)
		same(t, "not this midnight", got, "24h0m0s")
		// It is now Sunday, 01:00 UTC, and still Saturday in New York.
		_, got = runDocumentSchedules(t,
			scheduled(`"executionMode": "interval", "schedule": "weekly@0", "timeZone": "America/New_York"`),
			5*time.Hour)
		same(t, "midnight there", got, "4h0m0s")
		same(t, "a week away", previews(t, "weekly@1", "UTC", "2026-11-23T00:00:00Z", 1), "11-30 00:00+00:00")
	}},
	{name: "S1-34 daily fires strictly after now", test: func(t *testing.T) {
		_, got := runDocumentSchedules(t, scheduled(`"executionMode": "interval", "schedule": "daily@00:00"`),
			25*time.Hour)
		same(t, "runs", got, "24h0m0s")
		same(t, "at the minute", previews(t, "daily@12:00", "UTC", "2026-11-23T12:00:00Z", 1), "11-24 12:00+00:00")
	}},
	{name: "S1-35 every occurrence fires", test: func(t *testing.T) {
		_, got := runDocumentSchedules(t, scheduled(`"executionMode": "interval", "schedule": "daily@00:30"`),
			25*time.Hour)
		same(t, "runs", got, "30m0s, 24h30m0s")
	}},
	{name: "S1-36 once for each local day, over changes of the clock", test: func(t *testing.T) {
		for _, c := range []struct{ spec, zone, from, want string }{
			{"daily@02:30", "America/New_York", "2026-03-07T12:00:00Z", "03-08 03:00-04:00, 03-09 02:30-04:00"},
			{"daily@01:30", "America/New_York", "2026-10-31T12:00:00Z", "11-01 01:30-04:00, 11-02 01:30-05:00"},
			{"weekly@0", "America/Havana", "2026-03-07T12:00:00Z", "03-08 01:00-04:00, 03-15 00:00-04:00"},
			{"weekly@0", "America/Santiago", "2026-09-02T12:00:00Z", "09-06 01:00-03:00, 09-13 00:00-03:00"},
			{"daily@02:15", "Australia/Lord_Howe", "2026-10-03T00:00:00Z", "10-04 02:30+11:00, 10-05 02:15+11:00"},
			{"daily@12:00", "Pacific/Apia", "2011-12-29T12:00:00Z", "12-29 12:00-10:00, 12-31 12:00+14:00"},
			{"daily@02:30", "Africa/Casablanca", "2026-03-21T12:00:00Z", "03-22 03:00+01:00, 03-23 02:30+01:00"},
		} {
			same(t, c.spec+" in "+c.zone, previews(t, c.spec, c.zone, c.from, 2), c.want)
		}
		_, problems := read(t, scheduled(`"executionMode": "interval", "schedule": "60", "timeZone": "Europe/Berln"`))
		same(t, "an unknown zone", messages(problems, diag.Error), []string{`unknown time zone "Europe/Berln"`})
	}},
	{name: "S1-37 the first run comes after a period, and no two runs of a branch go on at once",
		test: func(t *testing.T) {
			long := say("done")
			long.delay = 90 * time.Second
			_, got := runDocumentSchedules(t, scheduled(`"executionMode": "interval", "schedule": "60"`),
				5*time.Minute+30*time.Second, long, say("b"), long)
			same(t, "the tick at 2m is skipped, and that at 5m", got, "1m0s, 3m0s, 4m0s")
			w, got := runDocumentSchedules(t, branched("", `b: "executionMode": "interval", "schedule": "60"`,
				`c: "executionMode": "interval", "schedule": "60"`), 61*time.Second)
			if got != "b 1m0s, c 1m0s" && got != "c 1m0s, b 1m0s" {
				t.Errorf("branches are independent: %s", got)
			}
			same(t, "model calls", len(w.asked()), 2)
		}},
	{name: "S1-38 a new version of a workflow registers its schedules anew", test: func(t *testing.T) {
		w := newWorld(t, withScheduler)
		w.applyDocument(scheduled(`"executionMode": "interval", "schedule": "60"`))
		from := time.Now()
		w.runSchedules(40*time.Second + 500*time.Millisecond)
		w.applyDocument(scheduled(`"executionMode": "interval", "schedule": "60", "name": "another"`))
		w.runSchedules(70 * time.Second)
		same(t, "runs", w.planned(from), "1m40.5s")
		if err := w.DeleteWorkflow(t.Context(), "news"); err != nil {
			t.Fatal(err)
		}
		w.runSchedules(5 * time.Minute)
		same(t, "a workflow that is gone starts nothing", w.planned(from), "1m40.5s")
	}},
	{name: "S1-39 a continuous branch starts at once; a paused run ends when it is answered", test: func(t *testing.T) {
		_, got := runDocumentSchedules(t, branched("", `b: "executionMode": "continuous", "schedule": "5"`),
			4*time.Second)
		same(t, "at once", got, "b 0s")
		atSave(t, map[string]string{
			`"executionMode": "continuous", "schedule": "daily@09:00"`: `schedule "daily@09:00": a continuous branch ` +
				`has no calendar`,
			`"executionMode": "continuous", "schedule": "0.5"`: `schedule "0.5" is not a whole number ` +
				`of seconds`,
		})
		// A run of the same workflow, started by hand, waits for a person.
		w := newWorld(t, withScheduler)
		w.applyDocument(scheduled(`"executionMode": "continuous"`))
		paused, _ := load(t, `{"nodes": [{"id": "s", "type": "start"}, {"id": "ok", "type": "approval"}], `+
			`"connections": [{"source": "s", "target": "ok"}]}`)
		paused.ID = "news"
		r := w.beginWorkflow(paused, "")
		r.is(event.StatusPaused)
		from := time.Now()
		w.runSchedules(time.Hour)
		same(t, "while it is paused", w.planned(from), "")
		ctx, cancel := context.WithCancel(t.Context())
		go func() { _ = w.Schedule(ctx, service.ScheduleRequest{Zone: time.UTC}) }()
		time.Sleep(time.Minute)
		r.answers("approve")
		time.Sleep(3 * time.Second)
		cancel()
		synctest.Wait()
		if got := w.planned(from.Add(time.Hour + time.Minute)); !strings.HasPrefix(got, "1") &&
			!strings.HasPrefix(got, "2") {
			t.Errorf("a second after its end: %q", got)
		}
	}},
}

func TestRoundsSchedule(t *testing.T) { check(t, roundsSchedule) }

func TestRoundsScheduleCovered(t *testing.T) {
	covered(t, roundsSchedule, "S1-22", "S1-23", "S1-27", "S1-30", "S1-31", "S1-32", "S1-33", "S1-34", "S1-35", "S1-36",
		"S1-37", "S1-38", "S1-39")
}
