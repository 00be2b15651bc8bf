package live_test

import (
	"database/sql"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/api/live"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/service"
)

// storeWorkflow stores a workflow whose agent has the instruction what, as a draft if draft is set.
func storeWorkflow(t *testing.T, s *service.Service, id, what string, draft bool) {
	t.Helper()
	text := "agents:\n  a: {model: fake/one, instruction: " + what + "}\nworkflow:\n  - {type: agent, name: a}\n"
	_, problems, err := s.Apply(t.Context(),
		service.ApplyRequest{ID: id, Documents: []service.Document{{Data: []byte(text)}}, Draft: draft})
	if err != nil || problems.HasErrors() {
		t.Fatal(err, problems)
	}
}

// nextMessages returns the next n messages as `type run-or-workflow`.
func (s *stream) nextMessages(t *testing.T, n int) string {
	t.Helper()
	var all []string
	for range n {
		m, ok := s.next()
		if !ok {
			t.Fatalf("the feed ended after %s", all)
		}
		var told live.Told
		if err := json.Unmarshal([]byte(m.data), &told); err != nil {
			t.Fatalf("%v: %+v", err, m)
		}
		all = append(all, strings.TrimSpace(told.Type+" "+told.Workflow))
	}
	return strings.Join(all, ", ")
}

// TestFeedOneReader checks that one tap serves all streams of a process, that each stream receives
// every message once and in order, whenever it joined, and that the tap ends with the last stream.
func TestFeedOneReader(t *testing.T) {
	t.Parallel()
	s := open(t, onDisk(t), plain)
	at, h := serveFeed(t, s, live.Config{})
	var all []*stream
	const rounds, each = 4, 4
	for range rounds {
		for range each {
			st := connect(t, at, "")
			if m, ok := st.next(); !ok || m.kind != live.TypeReady {
				t.Fatalf("%+v", m)
			}
			all = append(all, st)
		}
		run := finished(t, s, chain(1))
		for i, st := range all {
			got := map[string]int{}
			for got["run.completed"] == 0 || got[live.TypeStarted] == 0 {
				m, ok := st.next()
				if !ok || !strings.Contains(m.data, run) {
					t.Fatalf("stream %d: %+v, want run %s alone", i, m, run)
				}
				got[m.kind]++
			}
			if len(got) != 2 || got["run.completed"] != 1 || got[live.TypeStarted] != 1 {
				t.Errorf("stream %d: %v", i, got)
			}
		}
		if n := h.Taps(); n != 1 {
			t.Errorf("%d streams have %d readers", len(all), n)
		}
	}
	for _, st := range all {
		st.cut()
	}
	h.Idle(rounds * each)
	if n := h.Taps(); n != 0 {
		t.Errorf("%d readers without a stream", n)
	}
	if m, ok := connect(t, at, "").next(); !ok || m.kind != live.TypeReady {
		t.Errorf("a stream after all others: %+v", m)
	}
}

// TestFeedDamagedRun checks that a run whose head is damaged is reported without details, that the
// feed continues, and that new streams are served.
func TestFeedDamagedRun(t *testing.T) {
	t.Parallel()
	db, gate := onDisk(t), make(chan struct{})
	s := open(t, db, gated(gate))
	at, _ := serveFeed(t, s, live.Config{})
	st := connect(t, at, "")
	bad := start(t, s, chain(1))
	st.until(t, bad, live.TypeStarted)
	other, err := sql.Open("sqlite", "file:"+db+"?_pragma=busy_timeout(10000)")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if _, err := other.ExecContext(t.Context(), `UPDATE runs SET labels = '{' WHERE run = ?`, bad); err != nil {
		t.Fatal(err)
	}
	close(gate)
	got := st.until(t, bad, "run.completed")
	if told := got[len(got)-1].data; strings.Contains(told, `"status"`) {
		t.Errorf("the damaged run is told as %s", told)
	}
	late := connect(t, at, "")
	if m, ok := late.next(); !ok || m.kind != live.TypeReady {
		t.Fatalf("%+v", m)
	}
	good := finished(t, s, chain(1))
	for _, st := range []*stream{st, late} {
		anew, completed := false, false
		for !anew || !completed {
			m, ok := st.next()
			if !ok {
				t.Fatalf("the feed ended; ready %t, completed %t", anew, completed)
			}
			// the list with the damaged run cannot be read, so clients read their lists again
			anew = anew || m.kind == live.TypeReady
			completed = completed || m.kind == "run.completed" && strings.Contains(m.data, good)
		}
	}
}

// TestFeedStarts checks that a new run is reported when it starts, not by the next poll.
func TestFeedStarts(t *testing.T) {
	t.Parallel()
	s := open(t, onDisk(t), plain)
	at, _ := serveFeed(t, s, live.Config{})
	st := connect(t, at, "")
	if m, ok := st.next(); !ok || m.kind != live.TypeReady {
		t.Fatalf("%+v", m)
	}
	const runs = 10
	began := time.Now()
	for range runs {
		st.until(t, start(t, s, chain(1)), live.TypeStarted)
	}
	if took := time.Since(began); took > runs*journal.SafetyPoll/2 {
		t.Errorf("%d runs were told after %s", runs, took)
	}
}

// TestFeedWorkflows checks that workflow changes are reported, whichever process made them, and
// changes to drafts only to callers who may see drafts.
func TestFeedWorkflows(t *testing.T) {
	t.Parallel()
	db := onDisk(t)
	s, other := open(t, db, plain), open(t, db, plain)
	storeWorkflow(t, s, "old", "Write.", false)
	at, _ := serveFeed(t, s, live.Config{})
	runs, edits := connect(t, at, ""), connect(t, strings.Replace(at, "/api", "/edit", 1), "")
	for _, st := range []*stream{runs, edits} {
		if m, ok := st.next(); !ok || m.kind != live.TypeReady {
			t.Fatalf("%+v", m)
		}
	}
	for _, step := range []struct {
		do       func()
		by, seen string // for callers who may see drafts, and for all others
	}{
		{func() { storeWorkflow(t, s, "new", "Write.", true) }, "workflow.changed new", ""},
		{func() { storeWorkflow(t, s, "new", "Write.", false) }, "workflow.changed new", "workflow.changed new"},
		{func() { storeWorkflow(t, s, "old", "Write well.", true) }, "workflow.changed old", ""},
		{func() { storeWorkflow(t, s, "gone", "Write.", true) }, "workflow.changed gone", ""},
		{func() {
			if err := s.DeleteWorkflow(t.Context(), "gone"); err != nil {
				t.Fatal(err)
			}
		}, "workflow.deleted gone", ""},
		{func() { storeWorkflow(t, other, "old", "Write well.", false) }, "workflow.changed old",
			"workflow.changed old"},
		{func() {
			if err := other.DeleteWorkflow(t.Context(), "old"); err != nil {
				t.Fatal(err)
			}
		}, "workflow.deleted old", "workflow.deleted old"},
	} {
		step.do()
		if got := edits.nextMessages(t, 1); got != step.by {
			t.Errorf("who sees drafts is told %s, want %s", got, step.by)
		}
		if step.seen == "" {
			continue // the next message belongs to the next step
		}
		if got := runs.nextMessages(t, 1); got != step.seen {
			t.Errorf("who sees no drafts is told %s, want %s", got, step.seen)
		}
	}
}

// TestFeedOverrun checks that a stream that was too slow is told to read its lists again, and
// continues.
func TestFeedOverrun(t *testing.T) {
	t.Parallel()
	s := open(t, onDisk(t), plain)
	at, h := serveFeed(t, s, live.Config{})
	st := connect(t, at, "")
	if m, ok := st.next(); !ok || m.kind != live.TypeReady {
		t.Fatalf("%+v", m)
	}
	done := st.until(t, finished(t, s, chain(1)), "run.completed")
	last := done[len(done)-1].id
	h.Flood(s)
	m, ok := st.next()
	for ok && m.kind == live.TypeStarted {
		m, ok = st.next()
	}
	if m.kind != live.TypeReady || m.id != last {
		t.Errorf("after too many messages: %+v, want %s with id %s", m, live.TypeReady, last)
	}
	if got := kinds(st.until(t, finished(t, s, chain(1)), "run.completed")); strings.Count(got, "run.completed") != 1 {
		t.Errorf("goes on with %s", got)
	}
}

// TestFeedSchedules checks that a feed reports a schedule whose runs are refused, once for each
// reason, with the schedule and the reason.
func TestFeedSchedules(t *testing.T) {
	t.Parallel()
	s := open(t, onDisk(t), plain)
	refuse := func(reason string, at time.Time) {
		t.Helper()
		key := journal.ScheduleKey{Workflow: "w", Branch: "b", Schedule: "s"}
		if err := s.Home().Journal.Register(t.Context(), journal.Registration{ScheduleKey: key, Refused: at,
			Refusal: reason}); err != nil {
			t.Fatal(err)
		}
	}
	now := time.Now()
	refuse("known before", now)
	at, _ := serveFeed(t, s, live.Config{})
	st := connect(t, at, "")
	if got := st.nextMessages(t, 1); got != live.TypeReady {
		t.Fatal(got)
	}
	for i, reason := range []string{"no key", "no model"} {
		refuse(reason, now.Add(time.Duration(i+1)*time.Second))
		m, ok := st.next()
		if !ok || m.kind != live.TypeScheduleRefused || m.id != "" || !strings.Contains(m.data,
			`"workflow":"w","branch":"b","schedule":"s","reason":"`+reason+`"`) {
			t.Errorf("%+v", m)
		}
	}
}
