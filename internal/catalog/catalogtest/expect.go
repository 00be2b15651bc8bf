package catalogtest

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/hocket-run/hocket/internal/catalog"
)

// tagOf returns the tag of a stored workflow.
func tagOf(t *testing.T, s catalog.Store, id string) string {
	t.Helper()
	e, err := s.Entry(t.Context(), id)
	if errors.Is(err, catalog.ErrNotFound) {
		return catalog.TagAbsent
	}
	if err != nil {
		t.Fatal(err)
	}
	if !e.HasRows {
		return catalog.Tag(e, nil)
	}
	rows, err := s.Rows(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return catalog.Tag(e, &rows)
}

// testExpected checks that every change to a workflow changes its tag and returns the new one, and
// that nothing happens if the tag differs from the expected one (P39).
func testExpected(t *testing.T, s catalog.Store) {
	ctx := t.Context()
	put := func(p catalog.Put, tag string) (catalog.Stored, error) {
		p.Expect = tag
		out, err := s.Put(ctx, []catalog.Put{p}, nil)
		if err != nil {
			return catalog.Stored{}, err
		}
		return out[0], nil
	}
	expecting := func(p catalog.Put, tag string) []catalog.Put {
		p.Expect = tag
		return []catalog.Put{p}
	}
	routes := doc("w", "routes")
	routes.Format = catalog.FormatRoutes
	routes.Rows = &catalog.Rows{Workflow: catalog.Row{"w", "Name", nil, int64(0), "n", nil, nil, int64(0), nil, nil}}
	other := routes
	other.Rows = &catalog.Rows{Workflow: catalog.Row{"w", "Another name", nil, int64(0), "n", nil, nil, int64(0),
		nil, nil}}
	seen := map[string]string{}
	for _, step := range []struct {
		name string
		do   func(expect string) (catalog.Stored, error)
	}{
		{"make", func(x string) (catalog.Stored, error) { return put(doc("w", "one"), x) }},
		{"change", func(x string) (catalog.Stored, error) { return put(doc("w", "two"), x) }},
		{"draft", func(x string) (catalog.Stored, error) { return put(draft(doc("w", "three")), x) }},
		{"publish", func(x string) (catalog.Stored, error) {
			return s.Publish(ctx, catalog.Publication{ID: "w", Version: 3, At: noon, Expect: x})
		}},
		{"rows", func(x string) (catalog.Stored, error) { return put(routes, x) }},
		{"other rows of the same text", func(x string) (catalog.Stored, error) { return put(other, x) }},
		{"delete", func(x string) (catalog.Stored, error) {
			return catalog.Stored{Tag: catalog.TagAbsent}, s.Delete(ctx, "w", x)
		}},
	} {
		now := tagOf(t, s, "w")
		if before, ok := seen[now]; ok {
			t.Errorf("before %s the tag is that of before %s", step.name, before)
		}
		seen[now] = step.name
		if _, err := step.do("another"); !errors.Is(err, catalog.ErrChanged) {
			t.Errorf("%s with another tag: %v, want ErrChanged", step.name, err)
		}
		if still := tagOf(t, s, "w"); still != now {
			t.Errorf("%s was refused and changed the workflow", step.name)
		}
		if st, err := step.do(now); err != nil || st.Tag != tagOf(t, s, "w") {
			t.Errorf("%s: %v, answered with the tag %s, and has %s", step.name, err, st.Tag, tagOf(t, s, "w"))
		}
	}
	if now := tagOf(t, s, "w"); now != catalog.TagAbsent {
		t.Errorf("tag %s after delete", now)
	}
	if _, err := s.Put(ctx, append(expecting(doc("x", "x"), catalog.TagAbsent), expecting(doc("y", "y"), "another")...),
		nil); !errors.Is(err, catalog.ErrChanged) {
		t.Errorf("one of two: %v, want ErrChanged", err)
	}
	if now := tagOf(t, s, "x"); now != catalog.TagAbsent {
		t.Error("of two documents one was stored, though the other was refused")
	}
}

// testExpectedAgents is testExpected for agents.
func testExpectedAgents(t *testing.T, s catalog.Store) {
	ctx := t.Context()
	tag := func() string {
		list, err := s.Agents(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if len(list) == 0 {
			return catalog.TagAbsent
		}
		return catalog.AgentTag(list[0])
	}
	row := func(name string) []catalog.Row { return []catalog.Row{{"a", name, nil, nil, nil, `["t"]`, `{"n":1}`}} }
	for _, step := range []struct {
		name string
		do   func(expect string) error
	}{
		{"make", func(x string) error { return s.PutAgents(ctx, row("A"), false, map[string]string{"a": x}) }},
		{"change", func(x string) error { return s.PutAgents(ctx, row("B"), true, map[string]string{"a": x}) }},
		{"delete", func(x string) error { return s.DeleteAgent(ctx, "a", x, nil) }},
	} {
		now := tag()
		if err := step.do("another"); !errors.Is(err, catalog.ErrChanged) || tag() != now {
			t.Errorf("%s with another tag: %v, want ErrChanged and no change", step.name, err)
		}
		if err := step.do(now); err != nil || tag() == now {
			t.Errorf("%s: %v, the tag is as before: %t", step.name, err, tag() == now)
		}
	}
}

// testExpectedOnce checks that when several writers read the same state and concurrently store
// different ones, one succeeds (P39).
func testExpectedOnce(t *testing.T, s catalog.Store) {
	for round := range 5 {
		now, won := tagOf(t, s, "w"), atomic.Int32{}
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				p := doc("w", fmt.Sprintf("%d by %d", round, i))
				p.Expect = now
				switch _, err := s.Put(t.Context(), []catalog.Put{p}, nil); {
				case err == nil:
					won.Add(1)
				case !errors.Is(err, catalog.ErrChanged):
					t.Errorf("round %d: %v", round, err)
				}
			})
		}
		all.Wait()
		if won.Load() != 1 {
			t.Errorf("round %d: %d were stored", round, won.Load())
		}
	}
}
