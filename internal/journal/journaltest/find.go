package journaltest

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/randtest"
	"github.com/hocket-run/hocket/workflow"
)

// quote returns a string as an event value.
func quote(t *testing.T, v any) json.RawMessage {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func mustSelect(t *testing.T, text string) []journal.Selector {
	t.Helper()
	s, err := journal.ParseSelectors([]string{text})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func mustSearch(t *testing.T, text string) []journal.Term {
	t.Helper()
	terms, err := journal.ParseSearch(text)
	if err != nil {
		t.Fatal(err)
	}
	return terms
}

// foundRuns returns the runs of a list, separated by spaces, reading page by page.
func foundRuns(t *testing.T, s journal.Lists, q journal.Query) string {
	t.Helper()
	var all []string
	for {
		page, next, err := s.List(t.Context(), q)
		if err != nil {
			t.Fatalf("list %+v: %v", q, err)
		}
		for _, h := range page {
			all = append(all, h.Run)
		}
		if q.Cursor = next; next == "" {
			return strings.Join(all, " ")
		}
	}
}

// seedFind creates runs with labels and texts, the n-th of them n minutes after epoch0.
func seedFind(t *testing.T, h journal.Backend) {
	t.Helper()
	for i, s := range []struct {
		labels                 journal.Labels
		status                 journal.Status
		branch, trigger, code  string
		cost                   float64
		took                   int // minutes
		input, output, problem string
	}{
		{journal.Labels{"team": "news", "env": "prod"}, journal.StatusCompleted, "", "api", "", 0.5, 1,
			"Write about the harbour of Ulm", "The harbour is small.", ""},
		{journal.Labels{"team": "news"}, journal.StatusFailed, "draft", "schedule", "timeout", 0, 60,
			"Write about Köln", "", "the model did not answer in time"},
		{journal.Labels{"team": "sport", "env": "test"}, journal.StatusCompleted, "", "schedule", "", 2, 3,
			"say \"open-source\"\n東京タワー", "ok", ""},
		{nil, journal.StatusCompleted, "", "cli", "", 0.1, 2, "wRITE   about\tthe small harbours", "done: 42", ""},
		{journal.Labels{"env": "prod", "empty": ""}, journal.StatusRunning, "draft", "api", "", 0, 0, "Write", "", ""},
	} {
		a := create(fmt.Sprintf("r%d", i), i)
		a.Create.Labels, a.Create.Branch, a.Create.Trigger, a.Create.Preview = s.labels, s.branch, s.trigger, s.input
		a.Index = &journal.Index{Texts: &journal.Texts{Input: quote(t, s.input)}}
		mustAppend(t, h, a)
		if !s.status.Ended() {
			continue
		}
		end := next(a.Run, 2)
		end.At, end.Status, end.Release = a.Create.Created.Add(time.Duration(s.took)*time.Minute), s.status, i > 0
		end.Index = &journal.Index{
			Texts: &journal.Texts{Input: quote(t, s.input), Output: quote(t, s.output), Error: s.problem},
			Outcome: journal.Outcome{Tokens: int64(i), Calls: int64(10 * i), Cost: journal.Money(s.cost * 1e12),
				Code: s.code, Message: s.problem},
		}
		mustAppend(t, h, end)
	}
}

func testFindHeads(t *testing.T, m Medium) {
	h := handle(t, m)
	seedFind(t, h)
	got := head(t, h, "r1")
	if diff := cmp.Diff([]any{got.Labels, got.Branch, got.Trigger, got.Preview, got.Outcome}, []any{
		journal.Labels{"team": "news"}, "draft", "schedule", "Write about Köln",
		journal.Outcome{Tokens: 1, Calls: 10, Code: "timeout", Message: "the model did not answer in time"},
	}); diff != "" {
		t.Errorf("head (-got +want):\n%s", diff)
	}
	page, _, err := h.List(t.Context(), journal.Query{Code: "timeout"})
	if err != nil || len(page) != 1 {
		t.Fatalf("list gave %v, %v", page, err)
	}
	if diff := cmp.Diff(page[0], got); diff != "" {
		t.Errorf("list (-got +want):\n%s", diff)
	}
	full := create("full", 1)
	full.Create.Labels = journal.Labels{}
	for i := range workflow.MaxLabels {
		full.Create.Labels[fmt.Sprintf("k%0*d", workflow.MaxLabelKey-1, i)] = fmt.Sprintf("%0*d",
			workflow.MaxLabelValue, i)
	}
	for i := range workflow.MaxOwnLabels {
		full.Create.Labels[fmt.Sprintf("%s%0*d", workflow.OwnLabels, workflow.MaxLabelKey-len(workflow.OwnLabels),
			i)] = fmt.Sprintf("%0*d", workflow.MaxLabelValue, i)
	}
	mustAppend(t, h, full)
	if diff := cmp.Diff(head(t, h, "full").Labels, full.Create.Labels); diff != "" {
		t.Errorf("as many labels as there can be (-got +want):\n%s", diff)
	}
	bad := create("bad", 1)
	bad.Create.Labels = journal.Labels{"a b": ""}
	if err := h.Append(t.Context(), bad); err == nil {
		t.Error("a label that is none is stored")
	}
}

func testFind(t *testing.T, m Medium) {
	h := handle(t, m)
	seedFind(t, h)
	usd := func(v float64) *journal.Money { return new(journal.Money(v * 1e12)) }
	for _, tt := range []struct {
		name   string
		q      journal.Query
		search string
		want   string
	}{
		{"label", journal.Query{Labels: mustSelect(t, "team=news")}, "", "r1 r0"},
		{"labels", journal.Query{Labels: mustSelect(t, "team=news,env=prod")}, "", "r0"},
		{"label with another value", journal.Query{Labels: mustSelect(t, "team!=news")}, "", "r4 r3 r2"},
		{"label with any value", journal.Query{Labels: mustSelect(t, "env")}, "", "r4 r2 r0"},
		{"no label", journal.Query{Labels: mustSelect(t, "!env")}, "", "r3 r1"},
		{"empty label", journal.Query{Labels: mustSelect(t, "empty=")}, "", "r4"},
		{"label and not", journal.Query{Labels: mustSelect(t, "env,env!=prod")}, "", "r2"},
		{"label and status", journal.Query{Labels: mustSelect(t, "env=prod"),
			Statuses: []journal.Status{journal.StatusRunning}}, "", "r4"},
		{"label and time", journal.Query{Labels: mustSelect(t, "team"), CreatedFrom: at(1), CreatedBefore: at(2)}, "",
			"r1"},
		{"driving label and time", journal.Query{Labels: mustSelect(t, "team=news"), CreatedFrom: at(1),
			CreatedBefore: at(2)}, "", "r1"},
		{"format", journal.Query{Format: "steps"}, "", "r4 r3 r2 r1 r0"},
		{"other format", journal.Query{Format: "canvas"}, "", ""},
		{"branch", journal.Query{Branch: "draft"}, "", "r4 r1"},
		{"trigger", journal.Query{Trigger: "schedule"}, "", "r2 r1"},
		{"code", journal.Query{Code: "timeout"}, "", "r1"},
		{"least cost", journal.Query{MinCost: usd(0.5)}, "", "r2 r0"},
		{"most cost", journal.Query{MaxCost: usd(0)}, "", "r4 r1"},
		{"costs", journal.Query{MinCost: usd(0.1), MaxCost: usd(0.5)}, "", "r3 r0"},
		{"least duration", journal.Query{MinDuration: new(3 * time.Minute)}, "", "r2 r1"},
		{"most duration", journal.Query{MaxDuration: new(2 * time.Minute)}, "", "r3 r0"},
		{"interrupted", journal.Query{Interrupted: true, Trigger: "api"}, "", ""},
		{"prefix and trigger", journal.Query{Prefix: "r", Trigger: "api"}, "", "r4 r0"},
		{"text is bound", journal.Query{Trigger: "' OR 1=1 --", Labels: mustSelect(t, "team=' OR 1=1 --")}, "", ""},

		{"word", journal.Query{}, "harbour", "r0"},
		{"case", journal.Query{}, "WRITE", "r4 r3 r1 r0"},
		{"words", journal.Query{}, "small harbour", "r0"},
		{"beginning", journal.Query{}, "harb*", "r3 r0"},
		{"beginning of another", journal.Query{}, "arb*", ""},
		{"phrase", journal.Query{}, `"small harbours"`, "r3"},
		{"phrase in another order", journal.Query{}, `"harbours small"`, ""},
		{"phrase over two texts", journal.Query{}, `"Ulm the"`, ""},
		{"hyphen", journal.Query{}, "open-source", "r2"},
		{"hyphen in another order", journal.Query{}, "source-open", ""},
		{"accent", journal.Query{}, "koln", "r1"},
		{"accent asked for", journal.Query{}, "KÖLN", "r1"},
		{"accent as a mark", journal.Query{}, "ko\u0308ln", "r1"},
		{"script without spaces", journal.Query{}, "京タ", "r2"},
		{"script without spaces, in another order", journal.Query{}, "タ京", ""},
		{"number", journal.Query{}, "42", "r3"},
		{"output", journal.Query{}, "done", "r3"},
		{"error", journal.Query{}, "in time", "r1"},
		{"word that is an operator", journal.Query{}, "write NOT harbour", ""},
		{"syntax of queries", journal.Query{}, `write) OR ("a" NEAR( * ^ : & | ! <-> '`, ""},
		{"a quote without its end", journal.Query{}, `"write about`, "r3 r1 r0"},
		{"search and label", journal.Query{Labels: mustSelect(t, "team")}, "write", "r1 r0"},
		{"search and status", journal.Query{Statuses: []journal.Status{journal.StatusFailed}}, "write", "r1"},
		{"search and time", journal.Query{CreatedFrom: at(1), CreatedBefore: at(4)}, "write", "r3 r1"},
		{"search and workflow", journal.Query{Workflow: "other"}, "write", ""},
	} {
		if tt.search != "" {
			tt.q.Search = mustSearch(t, tt.search)
		}
		for _, limit := range []int{0, 1} {
			if tt.q.Limit = limit; foundRuns(t, h, tt.q) != tt.want {
				t.Errorf("%s, pages of %d: runs %q, want %q", tt.name, limit, foundRuns(t, h, tt.q), tt.want)
			}
		}
		n := 0
		tallies, err := h.Counts(t.Context(), tt.q)
		if err != nil {
			t.Fatalf("%s: counts: %v", tt.name, err)
		}
		for _, c := range tallies {
			n += c.Runs
		}
		if want := len(strings.Fields(tt.want)); n != want {
			t.Errorf("%s: %d runs counted, want %d", tt.name, n, want)
		}
	}
	got, err := h.Counts(t.Context(), journal.Query{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(got, []journal.Tally{
		{Status: "completed", Workflow: "flow", Trigger: "api", Format: "steps", Runs: 1},
		{Status: "completed", Workflow: "flow", Trigger: "cli", Format: "steps", Runs: 1},
		{Status: "completed", Workflow: "flow", Trigger: "schedule", Format: "steps", Runs: 1},
		{Status: "failed", Workflow: "flow", Trigger: "schedule", Format: "steps", Runs: 1},
		{Status: "running", Workflow: "flow", Trigger: "api", Format: "steps", Runs: 1},
	}); diff != "" {
		t.Errorf("counts (-got +want):\n%s", diff)
	}
}

// testFindChanges checks that search results follow the run: its final texts replace the earlier
// ones, and a deleted run is not found.
func testFindChanges(t *testing.T, m Medium) {
	h := handle(t, m)
	seedFind(t, h)
	again := next("r0", 3)
	again.At = at(50)
	again.Index = &journal.Index{Texts: &journal.Texts{Input: quote(t, "Write about the harbour of Ulm")}}
	mustAppend(t, h, again)
	if got := foundRuns(t, h, journal.Query{Search: mustSearch(t, "small")}); got != "r3" {
		t.Errorf("a run that was reopened is found by its former output: %q", got)
	}
	if got := head(t, h, "r0"); got.Outcome != (journal.Outcome{}) {
		t.Errorf("a run that was reopened has an outcome: %+v", got.Outcome)
	}
	paused := next("r0", 4)
	paused.Status, paused.Index = journal.StatusPaused, &journal.Index{Outcome: journal.Outcome{Tokens: 7}}
	mustAppend(t, h, paused)
	if got := foundRuns(t, h, journal.Query{Search: mustSearch(t, "ulm")}); got != "r0" {
		t.Errorf("texts are lost where an append has none: %q", got)
	}
	if got := head(t, h, "r0"); got.Outcome.Tokens != 7 || got.Status != journal.StatusPaused {
		t.Errorf("a paused run is %s and used %d tokens", got.Status, got.Outcome.Tokens)
	}
	refusedEnd := next("r0", 9)
	refusedEnd.Index = &journal.Index{Texts: &journal.Texts{Error: "elsewhere"}}
	checkRejected(t, "append out of order", h.Append(t.Context(), refusedEnd), journal.ErrConflict)
	if got := foundRuns(t, h, journal.Query{Search: mustSearch(t, "elsewhere")}); got != "" {
		t.Errorf("texts of an append that was refused are found: %q", got)
	}
	mustPrune(t, h, journal.PruneQuery{EndedBefore: at(10)})
	for _, q := range []journal.Query{{Search: mustSearch(t, "write")}, {Labels: mustSelect(t, "team!=none")}} {
		if got := foundRuns(t, h, q); got != "r4 r1 r0" {
			t.Errorf("after a prune: %q", got)
		}
	}
}

// testFindAsMemory compares random runs and queries with the in-memory store, which examines each
// run.
func testFindAsMemory(t *testing.T, m Medium) {
	h, plain := handle(t, m), journal.NewMemory().Open(journal.KindRun)
	t.Cleanup(func() { _ = plain.Close() })
	r := randtest.New(t)
	vocabulary := []string{"a", "b", "ab", "abc", "z", "zl", "z1", "zz", "Ä", "ä", "ß", "1", "12", "の", "字", "я", "𝔊",
		"🙂", "\"", "\\", "\n", "-", "'", "\x00", "\u0301", "\u200d", "\xff"}
	text := func(n int) string {
		var b strings.Builder
		for range r.IntN(n) {
			b.WriteString(vocabulary[r.IntN(len(vocabulary))])
			if r.IntN(2) == 0 {
				b.WriteByte(' ')
			}
		}
		return b.String()
	}
	for i := range 60 {
		a := create(fmt.Sprintf("r%d", i), r.IntN(10))
		a.Create.Labels = journal.Labels{"k": fmt.Sprint(r.IntN(3)), fmt.Sprint("l", r.IntN(2)): ""}
		var input = quote(t, text(12))
		if r.IntN(3) == 0 {
			input = quote(t, map[string]any{text(4): []string{text(4), text(4)}})
		}
		a.Index = &journal.Index{
			Texts: &journal.Texts{Input: input, Output: quote(t, strings.Repeat(text(5), r.IntN(400))), Error: text(6)},
		}
		mustAppend(t, h, a)
		mustAppend(t, plain, a)
	}
	found := 0
	for range 150 {
		q := journal.Query{Limit: 1 + r.IntN(60)}
		if r.IntN(2) == 0 {
			q.Labels = mustSelect(t, []string{"k=1", "k!=1", "l0", "!l0", "k=2,l1", "!l1,k!=0"}[r.IntN(6)])
		}
		search := text(5)
		if r.IntN(3) == 0 {
			search = `"` + search + `"`
		}
		if r.IntN(3) == 0 {
			search = strings.TrimSpace(search) + "*"
		}
		if terms, err := journal.ParseSearch(search); err == nil {
			q.Search = terms
		}
		got, want := foundRuns(t, h, q), foundRuns(t, plain, q)
		if got != want {
			t.Errorf("search %q, labels %v: %q, want %q", search, q.Labels, got, want)
		}
		if want != "" && q.Search != nil {
			found++
		}
	}
	if found < 20 {
		t.Errorf("%d searches found something: too few to tell", found)
	}
}
