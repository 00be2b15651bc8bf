package hocket_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/hocket-run/hocket"

	"github.com/hocket-run/hocket/documents"
)

// TestLabels checks that runs of documents are found by their labels and words, and that an invalid
// filter is rejected.
func TestLabels(t *testing.T) {
	t.Parallel()
	e, err := hocket.Open(t.Context(), hocket.Config{DB: hocket.Memory}, documents.All())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	w, err := e.Parse("poet.yaml",
		[]byte("agents:\n  poet: {model: openai/gpt-6.1-terra, instruction: Write.}\nworkflow:\n  - {type: agent, "+
			"name: poet}\n"))
	if err != nil {
		t.Fatal(err)
	}
	for _, team := range []string{"news", "sport"} {
		o := hocket.StartOptions{Input: "about " + team, Replies: hocket.Replies("Köln"),
			Labels: map[string]string{"team": team}}
		if _, err := e.Run(t.Context(), w, o); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		f    hocket.Filter
		want string
	}{
		{hocket.Filter{Labels: []string{"team=news"}}, "about news"},
		{hocket.Filter{Labels: []string{"team!=news"}}, "about sport"},
		{hocket.Filter{Search: "koln spo*"}, "about sport"},
		{hocket.Filter{Search: "nothing"}, ""},
		{hocket.Filter{MinCostUSD: new(1.0)}, ""},
	} {
		runs, _, err := e.List(t.Context(), tt.f)
		got := ""
		for _, r := range runs {
			got += r.Input
		}
		if err != nil || got != tt.want {
			t.Errorf("%+v: %q, %v; want %q", tt.f, got, err, tt.want)
		}
	}
	full := map[string]string{}
	for i := range 32 {
		full["k"+strconv.Itoa(i)] = "x"
	}
	full["hocket/test-run"] = "true"
	if _, err := e.Run(t.Context(), w, hocket.StartOptions{ID: "full", Replies: hocket.Replies("x"),
		Labels: full}); err != nil {
		t.Errorf("as many labels as a run has, and one of Hocket: %v", err)
	}
	if runs, _, err := e.List(t.Context(), hocket.Filter{Labels: []string{"hocket/test-run"}}); err != nil ||
		len(runs) != 1 || len(runs[0].Labels) != 33 {
		t.Errorf("runs with the label of Hocket: %+v, %v", runs, err)
	}
	full["k32"] = "x"
	if _, err := e.Start(t.Context(), w, hocket.StartOptions{Replies: hocket.Replies("x"), Labels: full}); err == nil ||
		!strings.Contains(err.Error(), "33 labels, at most 32") {
		t.Errorf("a label too many: %v", err)
	}
	if _, _, err := e.List(t.Context(), hocket.Filter{Search: "!"}); err == nil ||
		!strings.Contains(err.Error(), "letter or digit") {
		t.Errorf("a search without words: %v", err)
	}
	if _, err := e.Start(t.Context(), w, hocket.StartOptions{Replies: hocket.Replies("x"),
		Labels: map[string]string{"a b": ""}}); err == nil || !strings.Contains(err.Error(), "a b") {
		t.Errorf("a label that is none: %v", err)
	}
}
