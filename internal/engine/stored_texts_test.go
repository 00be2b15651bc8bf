package engine_test

import (
	"bytes"
	"errors"
	"testing"

	"pgregory.net/rapid"

	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/enginetest"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/text"
)

// TestStoredText_MatchesText checks that a run whose texts leave memory produces the same events
// and commands, byte for byte, as one that keeps them. If a text cannot be loaded, an activation
// and a fold return that error and nothing is decided: the run, folded again, continues as if
// nothing had happened.
func TestStoredText_MatchesText(t *testing.T) {
	t.Parallel()
	loads, failed := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		w := newWild(t, rt, 4, drawPrompts(rt))
		w.crash, w.SkipLaws = false, true
		for n := 0; n < 100 && w.step(); n++ {
		}
		var events []event.Event
		store, broken := enginetest.Store{}, false
		release := func(r *engine.Run) {
			for _, s := range r.TakeStored() {
				kept := s.Text().String()
				store[s.Text().Sum()] = kept
				s.Release(func() (string, error) {
					if loads++; broken {
						return "", errors.New("no disk")
					}
					return kept, nil
				})
			}
		}
		fold := func() (*engine.Run, error) {
			r := engine.New(w.Plan, "run1")
			r.StoreTexts(0)
			for _, e := range events {
				if err := r.Apply([]event.Event{e}); err != nil {
					return nil, err
				}
				release(r)
			}
			return r, nil
		}
		plain := engine.New(w.Plan, "run1")
		r, err := fold()
		if err != nil {
			rt.Fatal(err)
		}
		for _, in := range w.Inputs {
			want, err := plain.Activate(in)
			if err != nil {
				rt.Fatalf("a run that keeps its texts: %v", err)
			}
			broken = true
			got, err := r.Activate(in)
			if broken && err != nil {
				if _, ok := errors.AsType[*text.LoadError](err); !ok || len(got.Events)+len(got.Commands) > 0 {
					rt.Fatalf("got %d events and %v", len(got.Events), err)
				}
				failed++
				if _, err = fold(); err != nil {
					if _, ok := errors.AsType[*text.LoadError](err); !ok {
						rt.Fatalf("a fold gives %v", err)
					}
				}
				broken = false
				if r, err = fold(); err != nil {
					rt.Fatal(err)
				}
				got, err = r.Activate(in)
			}
			broken = false
			if err != nil {
				rt.Fatal(err)
			}
			events = append(events, got.Events...)
			release(r)
			if a, b := enginetest.Print(want.Events), enginetest.Print(got.Events); a != b {
				rt.Fatalf("kept gives\n%s\nstored gives\n%s", a, b)
			}
			if a, b := enginetest.Show(want.Commands), enginetest.Show(got.Commands); a != b {
				rt.Fatalf("kept asks\n%s\nstored asks\n%s", a, b)
			}
			if !bytes.Equal(enginetest.State(plain), enginetest.State(r)) {
				rt.Fatalf("kept is\n%s\nstored is\n%s", enginetest.State(plain), enginetest.State(r))
			}
		}
	})
	if (loads == 0 || failed == 0) && !testing.Short() { // make check draws a fifth of the cases
		t.Errorf("%d loads, of which %d failed: nothing was tried", loads, failed)
	}
}
