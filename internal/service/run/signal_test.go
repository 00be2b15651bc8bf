package run_test

import (
	"errors"
	"testing"

	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/service"
)

// a signal that a child run consumed is recognized as the same when it is sent again while
// the run to which it was sent does something else.
func TestSignal_RepeatedInChildRun(t *testing.T) {
	t.Parallel()
	s := onDisk(t, t.TempDir())
	defer s.Close()
	storeAs(t, s, "inner", "workflow: [{type: signal, id: s, signal: go}]\n")
	startText(t, s, "r", "workflow:\n  - {type: workflow, id: c, workflow: inner}\n  - {type: ask, id: q, prompt: "+
		"Well?}\n", "replies: []\n")
	waitsAt := func(node string) func() bool {
		return func() bool {
			o, err := s.Show(t.Context(), "r")
			return err == nil && o.Status == engine.StatusPaused && len(o.Waiting) == 1 && o.Waiting[0].Node == node
		}
	}
	await(t, waitsAt("c"))
	q := service.SignalRequest{Name: "go", Value: engine.Value(`{"a":1}`), Key: "k",
		By: service.Actor{Channel: engine.ChannelProgram}}
	first, err := s.Signal(t.Context(), "r", q)
	if err != nil || first.Run == "r" || first.Node != "s" {
		t.Fatalf("the run below did not take the signal: %+v, %v", first, err)
	}
	await(t, waitsAt("q"))
	if again, err := s.Signal(t.Context(), "r", q); err != nil || again != first {
		t.Errorf("the same signal again gives %+v, %v, want %+v", again, err, first)
	}
	q.Value = engine.Value("2")
	if _, err := s.Signal(t.Context(), "r", q); !errors.Is(err, engine.ErrSignal) {
		t.Errorf("another value with the key: %v, want a refusal", err)
	}
	q.Key = "other"
	if _, err := s.Signal(t.Context(), "r", q); !errors.Is(err, engine.ErrSignalName) {
		t.Errorf("a signal that nothing waits for: %v, want a refusal", err)
	}
}
