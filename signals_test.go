package hocket_test

import (
	"errors"
	"testing"

	"github.com/hocket-run/hocket"

	"github.com/hocket-run/hocket/documents"
)

// TestSignal checks that a program can send signals to its runs, also to runs that wait in a child
// run, and that errors are reported.
func TestSignal(t *testing.T) {
	t.Parallel()
	e, err := hocket.Open(t.Context(), hocket.Config{}, documents.All())
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	w, err := e.Parse("order.yaml",
		[]byte("workflow:\n  - {id: p, type: signal, signal: paid, schema: {type: object}}\n  - {id: s, type: "+
			"signal, signal: sent}\n  - {type: end, output: \"{{ $steps.p.output.amount }} {{ $steps.s.output }}\"}\n"))
	if err != nil {
		t.Fatal(err)
	}
	r, err := e.Run(t.Context(), w, hocket.StartOptions{ID: "r"})
	if err != nil || r.Status != hocket.StatusPaused {
		t.Fatalf("%+v, %v", r, err)
	}
	for name, tt := range map[string]struct {
		run, signal string
		value       any
		want        error
	}{
		"another name":   {"r", "payd", 1, hocket.ErrAnswer},
		"a wrong value":  {"r", "paid", "much", hocket.ErrAnswer},
		"an unknown run": {"x", "paid", 1, hocket.ErrNotFound},
	} {
		if err := e.Signal(t.Context(), tt.run, tt.signal, tt.value, ""); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", name, err, tt.want)
		}
	}
	if err := e.Answer(t.Context(), "r", hocket.Answer{Value: "yes"}); !errors.Is(err, hocket.ErrAnswer) {
		t.Errorf("an answer in the place of a signal: %v", err)
	}
	if err := e.Signal(t.Context(), "r", "paid", func() {}, ""); err == nil {
		t.Error("a function was sent")
	}
	for range 2 { // the second repeats the first
		if err := e.Signal(t.Context(), "r", "sent", "by boat", "k1"); err != nil {
			t.Fatal(err)
		}
	}
	if err := e.Signal(t.Context(), "r", "paid", map[string]int{"amount": 120}, ""); err != nil {
		t.Fatal(err)
	}
	if r, err = e.Wait(t.Context(), "r"); err != nil || r.Text() != "120 by boat" {
		t.Errorf("%+v, %v", r, err)
	}
	if err := e.Signal(t.Context(), "r", "paid", 1, ""); !errors.Is(err, hocket.ErrEnded) {
		t.Errorf("after the end: %v", err)
	}
}
