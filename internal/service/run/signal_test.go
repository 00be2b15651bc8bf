package run_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/waits"
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
			return err == nil && o.Status == event.StatusPaused && len(o.Waiting) == 1 && o.Waiting[0].Node == node
		}
	}
	await(t, waitsAt("c"))
	q := service.SignalRequest{Name: "go", Value: event.Value(`{"a":1}`), Key: "k",
		By: service.Actor{Channel: event.ChannelProgram}}
	first, err := s.Signal(t.Context(), "r", q)
	if err != nil || first.Run == "r" || first.Node != "s" {
		t.Fatalf("the run below did not take the signal: %+v, %v", first, err)
	}
	await(t, waitsAt("q"))
	if again, err := s.Signal(t.Context(), "r", q); err != nil || again != first {
		t.Errorf("the same signal again gives %+v, %v, want %+v", again, err, first)
	}
	q.Value = event.Value("2")
	if _, err := s.Signal(t.Context(), "r", q); !errors.Is(err, waits.ErrSignal) {
		t.Errorf("another value with the key: %v, want a refusal", err)
	}
	q.Key = "other"
	if _, err := s.Signal(t.Context(), "r", q); !errors.Is(err, waits.ErrSignalName) {
		t.Errorf("a signal that nothing waits for: %v, want a refusal", err)
	}
}

// of the steps of a run and of its child runs that wait for a signal, the one whose
// filter accepts it takes it, whichever has waited longest.
func TestSignal_TakenByFilter(t *testing.T) {
	t.Parallel()
	const (
		inner  = "workflow: [{type: signal, id: s, signal: go, filter: '{{ $signal.id == $input }}'}]\n"
		middle = "workflow: [{type: workflow, id: c, workflow: inner, input: '{{ $input }}'}]\n"
		child  = "{type: workflow, id: %s, workflow: %s, input: %[1]s}"
		own    = "{type: signal, id: %s, signal: go, filter: \"{{ $signal.id == '%[1]s' }}\"}"
	)
	below := func(id, workflow string) string { return fmt.Sprintf(child, id, workflow) }
	for name, c := range map[string]struct {
		steps []string
		order string // ids that the signals name
	}{
		"two children":        {[]string{below("a", "inner"), below("b", "inner")}, "b a"},
		"two levels":          {[]string{below("a", "middle"), below("b", "middle"), below("c", "inner")}, "c b a"},
		"an own step first":   {[]string{fmt.Sprintf(own, "x"), below("a", "inner")}, "a x"},
		"an own step last":    {[]string{below("a", "inner"), fmt.Sprintf(own, "x")}, "x a"},
		"own steps and child": {[]string{fmt.Sprintf(own, "x"), below("a", "inner"), fmt.Sprintf(own, "y")}, "y a x"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := inMemory(t)
			storeAs(t, s, "inner", inner)
			storeAs(t, s, "middle", middle)
			startText(t, s, "r", "workflow:\n  - {id: p, type: parallel, steps: ["+strings.Join(c.steps, ", ")+"]}\n",
				"replies: []\n")
			await(t, func() bool {
				o, err := s.Show(t.Context(), "r")
				return err == nil && o.Status == event.StatusPaused && len(o.Waiting) == len(c.steps)
			})
			for id := range strings.FieldsSeq(c.order) {
				q := service.SignalRequest{Name: "go", Value: event.Value(`{"id":"` + id + `"}`), Key: id,
					By: service.Actor{Channel: event.ChannelProgram}}
				first, err := s.Signal(t.Context(), "r", q)
				if err != nil || first.Wait == "" {
					t.Fatalf("no step took the signal of %s: %+v, %v", id, first, err)
				}
				if again, err := s.Signal(t.Context(), "r", q); err != nil || again != first {
					t.Errorf("the same signal again gives %+v, %v, want %+v", again, err, first)
				}
			}
			if o := ended(t, s, "r"); o.Status != event.StatusCompleted {
				t.Errorf("the run is %s", o.Status)
			}
		})
	}
}
