package conformance_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/errcode"
	"github.com/hocket-run/hocket/internal/expr"
	"github.com/hocket-run/hocket/internal/format"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/workflow"
)

// bounded returns a document of each format that supports `concurrency`, with the given value for
// it; their runs wait for a person.
func bounded(concurrency string) map[string]string {
	c := `"concurrency": ` + concurrency + `, `
	return map[string]string{
		"steps": `{` + c + `"workflow": [{"type": "ask", "prompt": "go on?"}]}`,
		"canvas": `{"name": "c", ` + c + `"nodes": [{"id": "s", "type": "start", "data": {}}, {"id": "a", "type": ` +
			`"ask", "data": {"prompt": "go on?"}}], "connections": [{"source": "s", "target": "a"}]}`,
		"rounds": `{"name": "r", ` + c + `"nodes": [{"id": "n", "type": "ask", "config": {"prompt": "go on?"}}], ` +
			`"edges": []}`,
	}
}

// begins starts a run and checks whether it waits for a person or for its turn.
func (w *world) begins(doc, input string, want journal.Status) string {
	w.t.Helper()
	definition, _ := load(w.t, doc)
	id, err := w.Start(w.t.Context(), service.StartRequest{Workflow: definition, Input: input})
	if err != nil {
		w.t.Fatal(err)
	}
	w.is(id, want)
	return id
}

func (w *world) is(id string, want journal.Status) {
	w.t.Helper()
	var got journal.Status
	if want == journal.StatusPending {
		h, err := w.Head(w.t.Context(), id)
		if err != nil {
			w.t.Fatal(err)
		}
		got = h.Status
	} else {
		st, err := w.Wait(w.t.Context(), id)
		if err != nil {
			w.t.Fatal(err)
		}
		got = st.Status
	}
	if got != want {
		w.t.Errorf("run %s is %s, want %s", id, got, want)
	}
}

func (w *world) tells(id, text string) {
	w.t.Helper()
	if err := w.Answer(w.t.Context(), id,
		service.AnswerRequest{Value: expr.Quote(text), By: event.LocalBy(event.ChannelProgram)}); err != nil {
		w.t.Fatal(err)
	}
}

var concurrencyRules = []rule{
	{name: "X-106 runs of a key go on as far as the bound allows, and conversions keep it", test: func(t *testing.T) {
		docs := bounded(`{"key": "{{ $input }}", "max": 2, "if_busy": "queue"}`)
		want := &workflow.Concurrency{Key: "{{ $input }}", Max: 2, IfBusy: "queue"}
		for name, doc := range docs {
			w, _ := withTools(t)
			w.begins(doc, "a", journal.StatusPaused)
			w.begins(doc, "a", journal.StatusPaused)
			w.begins(doc, "a", journal.StatusPending)
			w.begins(doc, "b", journal.StatusPaused)
			definition, _ := load(t, doc)
			for to := range docs {
				out, err := format.Convert(definition, to)
				if err != nil {
					t.Errorf("%s as %s: %v", name, to, err)
					continue
				}
				if back, _ := load(t, string(out.Document)); !cmp.Equal(back.Concurrency, want) {
					t.Errorf("%s as %s has %+v\n%s", name, to, back.Concurrency, out.Document)
				}
			}
			for bad, want := range map[string]string{
				`{"max": 0}`:                "concurrency: max must be a number from 1 to 1000",
				`1001`:                      "concurrency: max must be a number from 1 to 1000",
				`{"max": "many"}`:           "concurrency: max must be a number from 1 to 1000",
				`["a"]`:                     "concurrency: it must be a map or a number, got a list",
				`{"limit": 1}`:              `concurrency: unknown key "limit"`,
				`{"if_busy": "drop"}`:       "concurrency: if_busy must be queue, skip or cancel",
				`{"key": "$input.a"}`:       "concurrency: the key has no expression: write it between {{ and }}",
				`{"key": "{{ $input"}`:      "concurrency: key: {{ is never closed",
				`{"key": {"a": "{{ 1 }}"}}`: "concurrency: key must be a text, got a map",
			} {
				if got := refused(t, bounded(bad)[name], service.LoadOptions{}); len(got) != 1 || got[0] != want {
					t.Errorf("%s with %s: %q, want %q", name, bad, got, want)
				}
			}
			wf, _ := load(t, bounded(`3`)[name])
			same(t, "a number", wf.Concurrency.Runs(), 3)
			failing, _ := load(t, bounded(`{"key": "{{ $input.none.at.all }}"}`)[name])
			_, err := w.Start(t.Context(), service.StartRequest{Workflow: failing, Input: "a", RunID: "failing"})
			if code, _ := errcode.Of(err); code != errcode.InvalidConcurrency {
				t.Errorf("%s: a key that fails: %v", name, err)
			}
		}
	}},
	{name: "X-107 others wait in their order, and can be cancelled", test: func(t *testing.T) {
		for name, doc := range bounded(`{}`) {
			w, _ := withTools(t)
			first := w.begins(doc, name, journal.StatusPaused)
			second, third, fourth := w.begins(doc, "2", journal.StatusPending),
				w.begins(doc, "3", journal.StatusPending), w.begins(doc, "4", journal.StatusPending)
			if err := w.Cancel(t.Context(), second, ""); err != nil {
				t.Fatal(err)
			}
			w.is(second, journal.StatusCancelled)
			w.tells(first, "yes")
			w.is(third, journal.StatusPaused)
			w.is(fourth, journal.StatusPending)
			w.tells(third, "yes")
			w.is(fourth, journal.StatusPaused)
		}
	}},
	{name: "X-108 skip starts no run, cancel cancels the oldest", test: func(t *testing.T) {
		for name, doc := range bounded(`{"max": 2, "if_busy": "skip"}`) {
			w, _ := withTools(t)
			first, second := w.begins(doc, "1", journal.StatusPaused), w.begins(doc, "2", journal.StatusPaused)
			definition, _ := load(t, doc)
			_, err := w.Start(t.Context(), service.StartRequest{Workflow: definition, Input: "3", RunID: "third"})
			if code, fields := errcode.Of(err); code != errcode.ConcurrencyBusy || fields["run"] != first ||
				!errors.Is(err, journal.ErrBusy) {
				t.Errorf("%s: error %v with %v, want one that names run %s", name, err, fields, first)
			}
			if _, err := w.Head(t.Context(), "third"); !errors.Is(err, journal.ErrNotFound) {
				t.Errorf("%s: the run that was skipped: %v", name, err)
			}
			third := w.begins(strings.Replace(doc, "skip", "cancel", 1), "3", journal.StatusPaused)
			w.is(first, journal.StatusCancelled)
			w.is(second, journal.StatusPaused)
			w.is(third, journal.StatusPaused)
		}
	}},
	{name: "X-109 forks count and do not wait", test: func(t *testing.T) {
		for name, doc := range bounded(`1`) {
			w, _ := withTools(t)
			first := w.begins(doc, "1", journal.StatusPaused)
			_, err := w.Fork(t.Context(), first, 2, service.ForkRights{})
			if code, fields := errcode.Of(err); code != errcode.ConcurrencyBusy || fields["run"] != first {
				t.Errorf("%s: a fork beside its run: %v", name, err)
			}
			w.tells(first, "yes")
			w.is(first, journal.StatusCompleted)
			if _, err := w.Fork(t.Context(), first, 2, service.ForkRights{}); err != nil {
				t.Errorf("%s: a fork: %v", name, err)
			}
			w.begins(doc, "2", journal.StatusPending)
		}
	}},
}

func TestConcurrency(t *testing.T) { check(t, concurrencyRules) }

func TestConcurrencyCovered(t *testing.T) {
	covered(t, concurrencyRules, "X-106", "X-107", "X-108", "X-109")
}
