// Package memorytest provides the conformance suite that all memory stores pass.
package memorytest

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket/internal/tool/memory"
)

// Run checks the contract of [memory.Store]. open returns an empty store; again opens the same
// store as another process would, and may return the same value as open.
func Run(t *testing.T, open func(t *testing.T) (s memory.Store, again func() memory.Store)) {
	t.Helper()
	at := time.Date(2026, 11, 22, 1, 2, 3, 0, time.UTC)
	t.Run("life", func(t *testing.T) {
		t.Parallel()
		s, again := open(t)
		ctx := t.Context()
		add := func(space, key, text string) string {
			t.Helper()
			id, err := s.Add(ctx, space, key, memory.Entry{Category: "fact", Text: text, At: at})
			if err != nil || id == "" {
				t.Fatalf("Add: %q, %v", id, err)
			}
			return id
		}
		one, two, other := add("a", "k1", "one"), add("a", "k2", "it's; two"), add("b", "k1", "other")
		if one == two || one == other || two == other {
			t.Errorf("ids %s, %s, %s are not unique", one, two, other)
		}
		if id := add("a", "k1", "one again"); id != one { // P12
			t.Errorf("the same key gave %s, want %s", id, one)
		}
		s = again()
		if id := add("a", "k1", "one again"); id != one {
			t.Errorf("the same key in another process gave %s, want %s", id, one)
		}
		if err := s.Change(ctx, "a", memory.Entry{ID: two, Text: "2", At: at.Add(time.Hour)}); err != nil {
			t.Error(err)
		}
		// No call reaches another space (SEC10).
		for what, err := range map[string]error{
			"change": s.Change(ctx, "b", memory.Entry{ID: one, Text: "x", At: at}), "remove": s.Remove(ctx, "b", one),
			"change of nothing": s.Change(ctx, "a", memory.Entry{ID: "99", At: at}), "no id": s.Remove(ctx, "a",
				"x' OR 1=1"), "empty id": s.Remove(ctx, "a", ""), "other form": s.Remove(ctx, "a", "0"+one),
		} {
			if !errors.Is(err, memory.ErrNone) {
				t.Errorf("%s: %v, want ErrNone", what, err)
			}
		}
		check := func(space string, want ...memory.Entry) {
			t.Helper()
			got, err := s.All(ctx, space)
			if d := cmp.Diff(want, got); d != "" || err != nil {
				t.Errorf("%s: %v (-want +got)\n%s", space, err, d)
			}
		}
		check("a", memory.Entry{ID: one, Category: "fact", Text: "one", At: at},
			memory.Entry{ID: two, Text: "2", At: at.Add(time.Hour)})
		check("b", memory.Entry{ID: other, Category: "fact", Text: "other", At: at})
		check("none")
		if err := s.Remove(ctx, "a", two); err != nil {
			t.Error(err)
		}
		if id := add("a", "k3", "three"); id == two || id == other {
			t.Errorf("id %s is used again", id)
		}
	})
	t.Run("at once", func(t *testing.T) {
		t.Parallel()
		s, _ := open(t)
		var wg sync.WaitGroup
		for i := range 40 {
			wg.Go(func() {
				if _, err := s.Add(t.Context(), "a", fmt.Sprint(i%20), memory.Entry{Text: "x", At: at}); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if all, err := s.All(t.Context(), "a"); err != nil || len(all) != 20 {
			t.Errorf("%d entries, %v; want one for each of 20 keys", len(all), err)
		}
	})
	t.Run("full", func(t *testing.T) {
		t.Parallel()
		s, _ := open(t)
		var wg sync.WaitGroup
		for w := range 50 {
			wg.Go(func() {
				for i := range memory.MaxEntries / 50 {
					if _, err := s.Add(t.Context(), "a", fmt.Sprint(w, i), memory.Entry{At: at}); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		wg.Wait()
		if _, err := s.Add(t.Context(), "a", "more", memory.Entry{At: at}); !errors.Is(err, memory.ErrFull) {
			t.Errorf("one more: %v, want ErrFull", err)
		}
		if _, err := s.Add(t.Context(), "b", "more", memory.Entry{At: at}); err != nil {
			t.Errorf("another space: %v", err)
		}
	})
}
