package journaltest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket/internal/journal"
)

func testHead(t *testing.T, m Medium) {
	h := handle(t, m)
	definition := journal.NewBlob([]byte("nodes: []"))
	a := create("r1", 1)
	a.Create.Parent = "r0"
	a.Create.Definition = definition.Hash
	a.Create.Meta = map[string]string{"branch": "b'1\"", "": "x"}
	a.Create.Created = at(1).Add(1500 * time.Nanosecond).In(time.FixedZone("", 3600))
	a.Blobs = []journal.Blob{definition}
	a.At, a.Waiting, a.Status = at(2), 2, journal.StatusPaused
	mustAppend(t, h, a)
	want := journal.Head{
		Run: "r1",
		NewRun: journal.NewRun{
			Workflow: "flow", WorkflowName: "Flow", Format: "steps", Parent: "r0", Kind: journal.KindRun,
			Definition: definition.Hash,
			Created:    at(1).Add(time.Microsecond), Meta: a.Create.Meta,
		},
		Status: journal.StatusPaused, Waiting: 2, Updated: at(2), LastSeq: 1, Epoch: 1, Owner: h.Owner().ID,
		By: h.Owner(),
	}
	check := func() {
		t.Helper()
		if diff := cmp.Diff(head(t, h, "r1"), want); diff != "" {
			t.Errorf("head (-got +want):\n%s", diff)
		}
		page, _, err := h.List(t.Context(), journal.Query{})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(page, []journal.Head{want}); diff != "" {
			t.Errorf("list (-got +want):\n%s", diff)
		}
	}
	check()

	end := next("r1", 2)
	end.At, end.Status = at(5), journal.StatusFailed
	mustAppend(t, h, end)
	want.Status, want.Waiting, want.LastSeq, want.Updated, want.Ended = journal.StatusFailed, 0, 2, at(5), at(5)
	check()

	// A run that ended because of a limit may be reopened (D20).
	again := next("r1", 3)
	again.At = at(6)
	mustAppend(t, h, again)
	want.Status, want.LastSeq, want.Updated, want.Ended = journal.StatusRunning, 3, at(6), time.Time{}
	check()

	_, err := h.Head(t.Context(), "r9")
	checkRejected(t, "head of no run", err, journal.ErrNotFound)
}

// seedList creates eight runs, the n-th of them n minutes after epoch0.
func seedList(t *testing.T, m Medium) journal.Backend {
	t.Helper()
	h := handle(t, m)
	for i, s := range []struct {
		status           journal.Status
		workflow, parent string
		kind             journal.Kind
	}{
		{journal.StatusCompleted, "a", "", journal.KindRun},
		{journal.StatusFailed, "b", "r0", journal.KindServe},
		{journal.StatusPaused, "a", "", journal.KindServe},
		{journal.StatusRunning, "b", "r0", journal.KindRun},
		{journal.StatusCompleted, "a", "r1", journal.KindServe},
		{journal.StatusCancelled, "c", "", journal.KindScheduler},
		{journal.StatusPending, "a", "", journal.KindServe},
		{journal.StatusCompleted, "a", "r0", journal.KindRun},
	} {
		a := create(fmt.Sprintf("r%d", i), i)
		a.Status = s.status
		a.Create.Workflow, a.Create.Parent, a.Create.Kind = s.workflow, s.parent, s.kind
		mustAppend(t, h, a)
	}
	return h
}

func testListFilters(t *testing.T, m Medium) {
	h := seedList(t, m)
	for _, tt := range []struct {
		name string
		q    journal.Query
		want string
	}{
		{"all", journal.Query{}, "r7 r6 r5 r4 r3 r2 r1 r0"},
		{"status", journal.Query{Statuses: []journal.Status{"completed"}}, "r7 r4 r0"},
		{"statuses", journal.Query{Statuses: []journal.Status{"failed", "pending", "completed", "failed"}},
			"r7 r6 r4 r1 r0"},
		{"every status", journal.Query{Statuses: journal.Statuses()}, "r7 r6 r5 r4 r3 r2 r1 r0"},
		{"no such status", journal.Query{Statuses: []journal.Status{"' OR 1=1 --"}}, ""},
		{"workflow", journal.Query{Workflow: "a"}, "r7 r6 r4 r2 r0"},
		{"workflow and status", journal.Query{Workflow: "a", Statuses: []journal.Status{"completed", "paused"}},
			"r7 r4 r2 r0"},
		{"parent", journal.Query{Parent: "r0"}, "r7 r3 r1"},
		{"parent, workflow, status", journal.Query{Parent: "r0", Workflow: "b", Statuses: []journal.Status{"running"}},
			"r3"},
		{"kind", journal.Query{Kind: journal.KindServe}, "r6 r4 r2 r1"},
		{"kind and status", journal.Query{Kind: journal.KindServe, Statuses: []journal.Status{"paused", "failed"}},
			"r2 r1"},
		{"kind and workflow", journal.Query{Kind: journal.KindServe, Workflow: "a"}, "r6 r4 r2"},
		{"kind and parent", journal.Query{Kind: journal.KindRun, Parent: "r0"}, "r7 r3"},
		{"from", journal.Query{CreatedFrom: at(6)}, "r7 r6"},
		{"from just after", journal.Query{CreatedFrom: at(6).Add(1)}, "r7"},
		{"before", journal.Query{CreatedBefore: at(2)}, "r1 r0"},
		{"before just after", journal.Query{CreatedBefore: at(2).Add(1)}, "r2 r1 r0"},
		{"between, of a workflow", journal.Query{Workflow: "a", CreatedFrom: at(1), CreatedBefore: at(5)}, "r4 r2"},
		{"prefix", journal.Query{Prefix: "r"}, "r7 r6 r5 r4 r3 r2 r1 r0"},
		{"prefix that is an id", journal.Query{Prefix: "r3"}, "r3"},
		{"prefix of none", journal.Query{Prefix: "r33"}, ""},
		{"prefix with a wild card", journal.Query{Prefix: "%"}, ""},
		{"prefix and the rest", journal.Query{Prefix: "r", Workflow: "a", Parent: "r0",
			Statuses: []journal.Status{"completed"}, Kind: journal.KindRun}, "r7"},
		{"interrupted, with a living owner", journal.Query{Interrupted: true}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			page, next, err := h.List(t.Context(), tt.q)
			if got := ids(page); err != nil || got != tt.want || next != "" {
				t.Errorf("got %s, next %q, %v, want %s", got, next, err, tt.want)
			}
			// The same query, in pages of two.
			var walked []journal.Head
			q := tt.q
			q.Limit = 2
			for range 10 {
				page, next, err := h.List(t.Context(), q)
				if err != nil || len(page) > 2 {
					t.Fatalf("page of %d, %v", len(page), err)
				}
				walked = append(walked, page...)
				if q.Cursor = next; next == "" {
					break
				}
			}
			if got := ids(walked); got != tt.want {
				t.Errorf("in pages: got %s, want %s", got, tt.want)
			}
		})
	}
}

// testListPages checks that runs added or removed between two pages neither repeat nor hide other
// runs, and that runs with equal times keep a fixed order.
func testListPages(t *testing.T, m Medium) {
	h := handle(t, m)
	var want []string
	for i := range 60 {
		run := fmt.Sprintf("r%02d", i)
		a := create(run, 7) // all at the same instant
		a.Status, a.Release = journal.StatusCompleted, true
		mustAppend(t, h, a)
		want = append([]string{run}, want...)
	}
	first, cursor, err := h.List(t.Context(), journal.Query{})
	if err != nil || ids(first) != strings.Join(want[:50], " ") || cursor == "" {
		t.Fatalf("first page of the default size: %s, %q, %v", ids(first), cursor, err)
	}
	mustAppend(t, h, create("new", 8))
	if _, err := h.Prune(t.Context(), journal.PruneQuery{Runs: []string{first[49].Run, want[55]}}); err != nil {
		t.Fatal(err)
	}
	second, end, err := h.List(t.Context(), journal.Query{Cursor: cursor})
	wanted := strings.Join(append(want[50:55:55], want[56:]...), " ")
	if err != nil || ids(second) != wanted || end != "" {
		t.Errorf("second page: got %s, %q, %v, want %s", ids(second), end, err, wanted)
	}
	for _, bad := range []string{"x", "r10", cursor + "A", cursor[1:], "' OR 1=1 --"} {
		_, _, err := h.List(t.Context(), journal.Query{Cursor: bad})
		checkRejected(t, "cursor "+bad, err, journal.ErrCursor)
	}
}

// testListText checks that the text of a filter is never part of an SQL statement (SEC7).
func testListText(t *testing.T, m Medium) {
	h := handle(t, m)
	for i, text := range []string{`'`, `"`, `'; DROP TABLE runs; --`, `\`, `%`, `?`, "line\nbreak", "\x00", "é\u0301",
		`$.a['b']`, `[]`, `null`} {
		run := "run " + text
		a := create(run, i)
		a.Create.Workflow, a.Create.Parent, a.Create.Kind = text, text, journal.Kind(text)
		a.Create.Meta = map[string]string{text: text}
		mustAppend(t, h, a)
		for _, q := range []journal.Query{{Workflow: text}, {Parent: text}, {Kind: journal.Kind(text)},
			{Workflow: text, Parent: text}} {
			page, _, err := h.List(t.Context(), q)
			if err != nil || len(page) != 1 || page[0].Run != run || page[0].Meta[text] != text {
				t.Errorf("%+v: got %v, %v", q, page, err)
			}
		}
		if got, err := dump(t.Context(), h, run, 0); err != nil || got == "" {
			t.Errorf("run %q: got %s, %v", run, got, err)
		}
	}
}
