package live_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket/internal/api/live"
	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/engine/enginetest"
	"github.com/hocket-run/hocket/internal/expr/celexpr"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/project"
	"github.com/hocket-run/hocket/workflow"
)

// parrot outputs Hel and fails, then outputs Hello in two pieces. It waits for the gate before each
// call.
func parrot(gate <-chan struct{}) fakeModel {
	calls := 0
	return func(ctx context.Context, _ model.Request, say func(model.Delta)) (string, error) {
		select {
		case <-gate:
		case <-ctx.Done():
			return "", ctx.Err()
		}
		calls++
		say(model.Delta{Text: "Hel"})
		if calls == 1 {
			return "", &model.Error{Kind: model.KindServer, Message: "try again"}
		}
		say(model.Delta{Text: "lo"})
		return "Hello", nil
	}
}

func retried() *workflow.Workflow {
	n := enginetest.Agent("a")
	n.Retry = &workflow.Retry{MaxRetries: 2}
	return enginetest.Graph([]workflow.Node{n}, "")
}

// TestDeltas checks P22: pieces carry the attempt, a retry emits a reset before the output of the
// later attempt, and neither message has an id.
func TestDeltas(t *testing.T) {
	t.Parallel()
	gate := make(chan struct{})
	s := open(t, ":memory:", parrot(gate))
	run := start(t, s, retried())
	srv, _ := serve(t, s, live.Config{})
	st := connect(t, srv.URL+live.Path(run), "")
	filtered := connect(t, srv.URL+live.Path(run)+"?types=model.delta", "")
	silent := connect(t, srv.URL+live.Path(run)+"?types=model.replied", "")
	for m, ok := st.next(); m.kind != "model.called"; m, ok = st.next() {
		if !ok {
			t.Fatal("the stream ended")
		}
	}
	gate <- struct{}{}
	gate <- struct{}{}
	rest := st.rest()
	said := ""
	for _, m := range rest {
		switch m.kind {
		case live.TypeDelta, live.TypeReset:
			var d driver.Delta
			if err := json.Unmarshal([]byte(m.data), &d); err != nil {
				t.Fatal(err)
			}
			if m.id != "" || d.Node != "a" || d.Step != 1 || d.Call == "" ||
				!strings.Contains(m.data, fmt.Sprintf(`"run":%q`, run)) {
				t.Errorf("%+v", m)
			}
			said += fmt.Sprintf("%s %d@%d:%s, ", strings.TrimPrefix(m.kind, "model."), d.Attempt, d.Offset, d.Text)
		case "model.failed", "model.called", "model.replied":
			said += m.kind + ", "
		}
	}
	const want = "delta 1@0:Hel, model.failed, model.called, reset 2@0:, delta 2@0:Hel, delta 2@3:lo, model.replied, "
	if said != want {
		t.Errorf("got  %s\nwant %s", said, want)
	}
	if got := kinds(filtered.rest()); got != "model.delta model.reset model.delta model.delta end" {
		t.Errorf("with types=model.delta: %s", got)
	}
	if got := kinds(silent.rest()); got != "model.replied end" {
		t.Errorf("with types=model.replied: %s", got)
	}
}

// TestDeltas_LateWatcher checks that a client that joins late can tell from the offset that it
// missed output, and that a client that joins while others watch receives what the ring still has.
func TestDeltas_LateWatcher(t *testing.T) {
	t.Parallel()
	gate, said := make(chan struct{}), make(chan struct{}, 1)
	s := open(t, ":memory:", func(ctx context.Context, _ model.Request, say func(model.Delta)) (string, error) {
		for _, p := range []string{"one ", "two ", "three"} {
			say(model.Delta{Text: p})
			said <- struct{}{}
			select {
			case <-gate:
			case <-ctx.Done():
				return "", ctx.Err()
			}
		}
		return "one two three", nil
	})
	run := start(t, s, chain(1))
	srv, _ := serve(t, s, live.Config{})
	deltas := func(st *stream, n int) string {
		out := ""
		for n > 0 {
			m, ok := st.next()
			if !ok {
				t.Fatalf("the stream ended after %q", out)
			}
			if m.kind == live.TypeDelta {
				var d driver.Delta
				if err := json.Unmarshal([]byte(m.data), &d); err != nil {
					t.Fatal(err)
				}
				out += fmt.Sprintf("%d:%s", d.Offset, d.Text)
				n--
			}
		}
		return out
	}
	<-said // one delta had no watcher
	first := connect(t, srv.URL+live.Path(run), "")
	for m, ok := first.next(); m.kind != "model.called"; m, ok = first.next() {
		if !ok {
			t.Fatal("the stream ended")
		}
	}
	gate <- struct{}{}
	<-said
	if got := deltas(first, 1); got != "4:two " {
		t.Errorf("who joined after `one` got %q", got)
	}
	second := connect(t, srv.URL+live.Path(run), "")
	if got := deltas(second, 1); got != "4:two " {
		t.Errorf("who joined the first got %q", got)
	}
	gate <- struct{}{}
	<-said
	if got := deltas(second, 1) + deltas(first, 1); got != "8:three8:three" {
		t.Errorf("live: %q", got)
	}
	gate <- struct{}{}
	if a, b := first.rest(), second.rest(); kinds(a) != kinds(b) {
		t.Errorf("they do not see the same: %s; %s", kinds(a), kinds(b))
	}
}

// TestViews checks that views are projections of the stored events: the log equals that of the run,
// the modes are those of 2-graph, and each message belongs to one event.
func TestViews(t *testing.T) {
	t.Parallel()
	s := open(t, ":memory:", plain)
	run := finished(t, s, chain(3))
	rec, err := s.Read(t.Context(), run)
	if err != nil {
		t.Fatal(err)
	}
	events, err := s.Events(t.Context(), run, 0)
	if err != nil {
		t.Fatal(err)
	}
	srv, _ := serve(t, s, live.Config{})
	var log []project.LogEntry
	for _, m := range connect(t, srv.URL+live.Path(run)+"?view=logs", "").rest() {
		var some []project.LogEntry
		if m.kind == live.TypeEnd {
			break
		}
		if err := json.Unmarshal([]byte(m.data), &some); err != nil || m.kind != live.TypeLog || m.id == "" {
			t.Fatalf("%+v: %v", m, err)
		}
		log = append(log, some...)
	}
	if diff := cmp.Diff(log, project.Logs(rec.Workflow, events)); diff != "" || len(log) == 0 {
		t.Errorf("log (-got +want):\n%s", diff)
	}
	for _, modes := range []string{"values", "updates", "events", "debug", "debug,values",
		"values&mode=debug&mode=values"} {
		var names []project.Mode
		for name := range strings.FieldsFuncSeq(modes, func(r rune) bool { return r == ',' || r == '&' }) {
			names = append(names, project.Mode(strings.TrimPrefix(name, "mode=")))
		}
		f, err := project.NewModeFolder(run, rec.Workflow, celexpr.Compiler{}, names...)
		if err != nil {
			t.Fatal(err)
		}
		var want []message
		for _, e := range events {
			steps, err := f.Add(e)
			if err != nil {
				t.Fatal(err)
			}
			if len(steps) > 0 {
				b, _ := json.Marshal(steps)
				want = append(want, message{fmt.Sprint(e.Seq), live.TypeStep, string(b)})
			}
		}
		got := connect(t, srv.URL+live.Path(run)+"?mode="+modes, "").rest()
		if diff := cmp.Diff(got[:len(got)-1], want, sameMessages, cmp.Transformer("", func(m []message) []message {
			return append([]message{}, m...)
		})); diff != "" || len(want) == 0 && modes != "events" {
			t.Errorf("mode %s (-got +want):\n%s", modes, diff)
		}
	}
}

// TestLongValues checks that a value above 32 KiB is a reference in the stream, live and from the
// journal, in events and in the log (SEC17).
func TestLongValues(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("much to read ", 40_000)
	s := open(t, ":memory:", func(context.Context, model.Request, func(model.Delta)) (string, error) {
		return text, nil
	})
	run := finished(t, s, chain(2))
	for _, cfg := range []live.Config{{}, {RingBytes: 1}} {
		srv, _ := serve(t, s, cfg)
		for _, query := range []string{"", "?view=logs"} {
			refs := 0
			for _, m := range connect(t, srv.URL+live.Path(run)+query, "").rest() {
				if len(m.data) > 4000 {
					t.Errorf("%s: %s has %d bytes", query, m.kind, len(m.data))
				}
				refs += strings.Count(m.data, `{"$value":{"bytes":520000,"sha256":"`)
			}
			if refs < 2 {
				t.Errorf("%s: %d references", query, refs)
			}
		}
	}
}

// TestBadQueries checks that unknown parameters and impossible values are rejected with a 400
// problem (SEC7).
func TestBadQueries(t *testing.T) {
	t.Parallel()
	s := open(t, ":memory:", plain)
	run := finished(t, s, chain(1))
	srv, _ := serve(t, s, live.Config{})
	for _, c := range []struct {
		query, last string
		status      int
		says        string
	}{
		{"?mode=value", "", 400, `unknown mode \"value\"; known: values, updates, events, debug`},
		{"?mode=values,", "", 400, `unknown mode \"\"`},
		{"?mode=", "", 400, `unknown mode`},
		{"?view=log", "", 400, `unknown view \"log\"; known: logs`},
		{"?view=", "", 400, `unknown view`},
		{"?types=step.done", "", 400, `unknown event type \"step.done\"; known:`},
		{"?types=", "", 400, `unknown event type \"\"`},
		{"?Mode=values", "", 400, `unknown query parameter \"Mode\"`},
		{"?mode=values&view=logs", "", 400, `mode, view and types exclude each other`},
		{"?types=run.created&view=logs", "", 400, `mode, view and types exclude each other`},
		{"?expand=yes", "", 400, `expand is true or false, not \"yes\"`},
		{"?expand=", "", 400, `expand is true or false`},
		{"?expand=1&view=logs", "", 400, `expand is for events`},
		{"?expand=1&expand=1", "", 400, `\"expand\" is given more than once`},
		{"?after=1&after=2", "", 400, `\"after\" is given more than once`},
		{"?after=x", "", 400, `after \"x\" is not an event number`},
		{"?after=-1", "", 400, `not an event number`},
		{"?after=", "", 400, `not an event number`},
		{"?after=1", "0x1", 400, `Last-Event-ID \"0x1\" is not an event number`},
		{"?after=99", "", 400, `events, not 99`},
		{"?after=18446744073709551615", "", 400, `not an event number`},
		{"?a=%zz", "", 400, `malformed query`},
	} {
		st := connect(t, srv.URL+live.Path(run)+c.query, c.last)
		if st.status != c.status || !strings.Contains(st.body, c.says) ||
			!strings.Contains(st.body, `"code":"invalid"`) {
			t.Errorf("%s %s: %d %s", c.query, c.last, st.status, st.body)
		}
	}
	if st := connect(t, srv.URL+live.Path("missing"), ""); st.status != http.StatusNotFound ||
		!strings.Contains(st.body, `"code":"not_found"`) {
		t.Errorf("a run that is not there: %d %s", st.status, st.body)
	}
}
