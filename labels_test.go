package hocket_test

import (
	"strings"
	"testing"

	"github.com/hocket-run/hocket"

	"github.com/hocket-run/hocket/documents"
)

// TestLabels: runs of documents are found by their labels and words, and what is no filter is refused.
func TestLabels(t *testing.T) {
	t.Parallel()
	e, err := hocket.Open(t.Context(), hocket.Config{DB: hocket.Memory}, documents.All())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	w, err := e.Parse("poet.yaml", []byte("agents:\n  poet: {model: openai/gpt-6.1-terra, instruction: Write.}\nworkflow:\n  - {type: agent, name: poet}\n"))
	if err != nil {
		t.Fatal(err)
	}
	for _, team := range []string{"news", "sport"} {
		o := hocket.StartOptions{Input: "about " + team, Replies: hocket.Replies("Köln"), Labels: map[string]string{"team": team}}
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
	if _, _, err := e.List(t.Context(), hocket.Filter{Search: "!"}); err == nil || !strings.Contains(err.Error(), "letter or digit") {
		t.Errorf("a search without words: %v", err)
	}
	if _, err := e.Start(t.Context(), w, hocket.StartOptions{Replies: hocket.Replies("x"), Labels: map[string]string{"a b": ""}}); err == nil || !strings.Contains(err.Error(), "a b") {
		t.Errorf("a label that is none: %v", err)
	}
}
