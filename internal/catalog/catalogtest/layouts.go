package catalogtest

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/hocket-run/hocket/internal/catalog"
)

// testLayouts checks that a layout is stored next to a workflow without a new version, only if the
// present layout is the expected one, and is deleted with the workflow.
func testLayouts(t *testing.T, s catalog.Store) {
	ctx := t.Context()
	layoutIs := func(want string) {
		t.Helper()
		got, err := s.Layout(ctx, "w")
		if err != nil || string(got) != want || (got == nil) != (want == "") {
			t.Errorf("the layout is %q, %v; want %q", got, err, want)
		}
	}
	if _, err := s.Layout(ctx, "w"); !errors.Is(err, catalog.ErrNotFound) {
		t.Errorf("no workflow: %v", err)
	}
	if err := s.PutLayout(ctx, "w", []byte("x"), ""); !errors.Is(err, catalog.ErrNotFound) {
		t.Errorf("no workflow: %v", err)
	}
	put(t, s, doc("w", "one"), "version 1: published 1, draft 0")
	tag := tagOf(t, s, "w")
	layoutIs("")
	none := catalog.LayoutTag(nil)
	if err := s.PutLayout(ctx, "w", []byte("first\x00\xff"), none); err != nil {
		t.Fatal(err)
	}
	layoutIs("first\x00\xff")
	if err := s.PutLayout(ctx, "w", []byte("second"), none); !errors.Is(err, catalog.ErrChanged) {
		t.Errorf("a lost update: %v", err)
	}
	layoutIs("first\x00\xff")
	if err := s.PutLayout(ctx, "w", []byte("second"), ""); err != nil {
		t.Fatal(err)
	}
	layoutIs("second")
	if now := tagOf(t, s, "w"); now != tag {
		t.Errorf("a layout changes the tag of its workflow: %s, then %s", tag, now)
	}
	put(t, s, doc("w", "two"), "version 2: published 2, draft 0")
	layoutIs("second")

	var wg sync.WaitGroup
	var stored atomic.Int32
	for i := range 8 {
		wg.Go(func() {
			switch err := s.PutLayout(ctx, "w", fmt.Append(nil, "of ", i), catalog.LayoutTag([]byte("second"))); {
			case err == nil:
				stored.Add(1)
			case !errors.Is(err, catalog.ErrChanged):
				t.Errorf("at the same time: %v", err)
			}
		})
	}
	wg.Wait()
	if n := stored.Load(); n != 1 {
		t.Errorf("%d of 8 who expected the same were stored", n)
	}

	if err := s.Delete(ctx, "w", ""); err != nil {
		t.Fatal(err)
	}
	put(t, s, doc("w", "three"), "version 3: published 3, draft 0")
	layoutIs("")
}
