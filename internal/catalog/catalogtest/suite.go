package catalogtest

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket/internal/catalog"
)

// Run checks that a store conforms to package catalog. open returns an empty store for each test.
// refuses reports whether the store rejects a string outside documents with a *catalog.TextError;
// nil means that it rejects none.
func Run(t *testing.T, refuses func(text string) bool, open func(t *testing.T) catalog.Store) {
	if refuses == nil {
		refuses = func(string) bool { return false }
	}
	for _, tt := range []struct {
		name string
		test func(t *testing.T, s catalog.Store)
	}{
		{"versions", testVersions},
		{"drafts and publishing", testDrafts},
		{"texts byte for byte", testTexts},
		{"several at once", testSeveral},
		{"not found", testNotFound},
		{"delete", testDelete},
		{"rows", testRows},
		{"rows in order", testRowOrder},
		{"rows of any text", func(t *testing.T, s catalog.Store) { testRowTexts(t, s, refuses) }},
		{"rows give way", testRowsGiveWay},
		{"agents", testAgents},
		{"expected tags", testExpected},
		{"expected tags of agents", testExpectedAgents},
		{"expected tags at the same time", testExpectedOnce},
		{"at the same time", testConcurrent},
		{"layouts", testLayouts},
		{"labels", testLabels},
		{"done context", testContext},
		{"slices", testSlices},
		{"law", func(t *testing.T, s catalog.Store) { testLaw(t, s, refuses) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.test(t, open(t))
		})
	}
}

var noon = time.Date(2026, 3, 1, 12, 0, 0, 123_000, time.UTC)

func doc(id, text string) catalog.Put {
	return catalog.Put{ID: id, Format: "steps", Name: "Name " + text, File: id + ".yaml", Digest: "d" + text,
		Text: []byte(text), At: noon}
}

func draft(p catalog.Put) catalog.Put {
	p.Draft = true
	return p
}

// put stores one document and compares the result: version, published, draft, unchanged.
func put(t *testing.T, s catalog.Store, p catalog.Put, want string) {
	t.Helper()
	got, err := s.Put(t.Context(), []catalog.Put{p}, nil)
	if err != nil {
		t.Fatal(err)
	}
	said := fmt.Sprintf("version %d: published %d, draft %d", got[0].Version, got[0].Entry.Published,
		got[0].Entry.Draft)
	if got[0].Unchanged {
		said += ", unchanged"
	}
	if said != want {
		t.Errorf("put %q: got %s, want %s", p.Text, said, want)
	}
	now, err := s.Entry(t.Context(), p.ID)
	if diff := cmp.Diff(got[0].Entry, now); err != nil || diff != "" {
		t.Errorf("the entry is another one afterwards (-put +now): %v\n%s", err, diff)
	}
}

func testVersions(t *testing.T, s catalog.Store) {
	put(t, s, doc("w", "one"), "version 1: published 1, draft 0")
	put(t, s, doc("w", "one"), "version 1: published 1, draft 0, unchanged")
	put(t, s, doc("w", "two"), "version 2: published 2, draft 0")
	put(t, s, doc("w", "one"), "version 3: published 3, draft 0")
	other := doc("w", "one")
	other.Format = "canvas"
	put(t, s, other, "version 4: published 4, draft 0")
	got, err := s.Versions(t.Context(), "w")
	if err != nil {
		t.Fatal(err)
	}
	want := []catalog.Version{
		{Workflow: "w", Number: 1, Format: "steps", Name: "Name one", File: "w.yaml", Digest: "done", Created: noon},
		{Workflow: "w", Number: 2, Format: "steps", Name: "Name two", File: "w.yaml", Digest: "dtwo", Created: noon},
		{Workflow: "w", Number: 3, Format: "steps", Name: "Name one", File: "w.yaml", Digest: "done", Created: noon},
		{Workflow: "w", Number: 4, Format: "canvas", Name: "Name one", File: "w.yaml", Digest: "done", Created: noon},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("versions (-want +got):\n%s", diff)
	}
	v, err := s.Version(t.Context(), "w", 2)
	want[1].Text = []byte("two")
	if diff := cmp.Diff(want[1], v); err != nil || diff != "" {
		t.Errorf("version 2 (-want +got): %v\n%s", err, diff)
	}
}

// testDrafts checks P38.
func testDrafts(t *testing.T, s catalog.Store) {
	put(t, s, draft(doc("w", "one")), "version 1: published 0, draft 1")
	put(t, s, draft(doc("w", "one")), "version 1: published 0, draft 1, unchanged")
	put(t, s, doc("w", "one"), "version 1: published 1, draft 0")
	put(t, s, draft(doc("w", "one")), "version 1: published 1, draft 0, unchanged")
	put(t, s, draft(doc("w", "two")), "version 2: published 1, draft 2")
	put(t, s, draft(doc("w", "three")), "version 3: published 1, draft 3")
	put(t, s, doc("w", "one"), "version 1: published 1, draft 3, unchanged")
	put(t, s, doc("w", "four"), "version 4: published 4, draft 3")
	put(t, s, draft(doc("w", "four")), "version 5: published 4, draft 5")
	later := noon.Add(time.Hour)
	st, err := s.Publish(t.Context(), catalog.Publication{ID: "w", Version: 5, At: later})
	want := catalog.Entry{ID: "w", Name: "Name four", Format: "steps", Published: 5, Updated: later}
	if diff := cmp.Diff(want, st.Entry); err != nil || diff != "" || st.Version != 5 {
		t.Errorf("published (-want +got): %v\n%s", err, diff)
	}
	put(t, s, draft(doc("w", "six")), "version 6: published 5, draft 6")
	if st, err = s.Publish(t.Context(), catalog.Publication{ID: "w", Version: 2, At: later}); err != nil ||
		st.Entry.Published != 2 || st.Entry.Draft != 6 {
		t.Errorf("published a former version: %+v, %v", st, err)
	}
}

// testTexts checks P29.
func testTexts(t *testing.T, s catalog.Store) {
	texts := []string{"", "a: 1 # why\r\nb: 2\r\n", "\xef\xbb\xbf{}", "\x00\x01\xff\xfe", "tail without end",
		strings.Repeat("long ", 300_000)}
	for i, text := range texts {
		p := doc("w", text)
		p.Name, p.Digest = "Name", "digest"
		put(t, s, p, fmt.Sprintf("version %d: published %d, draft 0", i+1, i+1))
	}
	for i, text := range texts {
		v, err := s.Version(t.Context(), "w", i+1)
		if err != nil || string(v.Text) != text {
			t.Errorf("text %d: got %d bytes of %d, %v", i, len(v.Text), len(text), err)
		}
	}
}

func testSeveral(t *testing.T, s catalog.Store) {
	got, err := s.Put(t.Context(), []catalog.Put{doc("b", "1"), draft(doc("a", "1")), doc("b", "2")},
		[]catalog.Row{agent("x", "X")})
	if err != nil || len(got) != 3 || got[2].Version != 2 {
		t.Fatalf("got %+v, %v", got, err)
	}
	entries, err := s.Entries(t.Context())
	want := []catalog.Entry{
		{ID: "a", Name: "Name 1", Format: "steps", Draft: 1, Updated: noon},
		{ID: "b", Name: "Name 2", Format: "steps", Published: 2, Updated: noon},
	}
	if diff := cmp.Diff(want, entries); err != nil || diff != "" {
		t.Errorf("entries (-want +got): %v\n%s", err, diff)
	}
	if rows, err := s.Agents(t.Context()); err != nil || len(rows) != 1 {
		t.Errorf("agents: %v, %v", rows, err)
	}
}

func testNotFound(t *testing.T, s catalog.Store) {
	ctx := t.Context()
	put(t, s, doc("w", "one"), "version 1: published 1, draft 0")
	for name, call := range map[string]func() error{
		"entry":           func() error { _, err := s.Entry(ctx, "ghost"); return err },
		"versions":        func() error { _, err := s.Versions(ctx, "ghost"); return err },
		"version":         func() error { _, err := s.Version(ctx, "ghost", 1); return err },
		"another version": func() error { _, err := s.Version(ctx, "w", 2); return err },
		"rows":            func() error { _, err := s.Rows(ctx, "ghost"); return err },
		"rows of a text":  func() error { _, err := s.Rows(ctx, "w"); return err },
		"delete":          func() error { return s.Delete(ctx, "ghost", "") },
		"publish": func() error {
			_, err := s.Publish(ctx, catalog.Publication{ID: "ghost", Version: 1})
			return err
		},
		"publish a number": func() error {
			_, err := s.Publish(ctx, catalog.Publication{ID: "w", Version: 2})
			return err
		},
		"delete agent": func() error { return s.DeleteAgent(ctx, "ghost", "", nil) },
	} {
		if err := call(); !errors.Is(err, catalog.ErrNotFound) {
			t.Errorf("%s: got error %v", name, err)
		}
	}
	put(t, s, doc("w", "one"), "version 1: published 1, draft 0, unchanged")
}

func testDelete(t *testing.T, s catalog.Store) {
	p := routes("w", "one")
	put(t, s, p, "version 1: published 1, draft 0")
	put(t, s, doc("v", "one"), "version 1: published 1, draft 0")
	put(t, s, draft(doc("w", "two")), "version 2: published 1, draft 2")
	if err := s.Delete(t.Context(), "w", ""); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Entry(t.Context(), "w"); !errors.Is(err, catalog.ErrNotFound) {
		t.Errorf("after delete: %v", err)
	}
	if entries, err := s.Entries(t.Context()); err != nil || len(entries) != 1 {
		t.Errorf("entries %v, %v", entries, err)
	}
	// A run may still show version 1 of the deleted workflow.
	put(t, s, doc("w", "one"), "version 3: published 3, draft 0")
	if err := s.Delete(t.Context(), "w", ""); err != nil {
		t.Fatal(err)
	}
	put(t, s, draft(doc("w", "one")), "version 4: published 0, draft 4")
}

func agent(id, name string) catalog.Row {
	return catalog.Row{id, name, nil, "You are " + name, nil, `["search"]`,
		`{"maxIterations":` + strconv.Itoa(len(name)) + `}`}
}

func testAgents(t *testing.T, s catalog.Store) {
	ctx := t.Context()
	if err := s.PutAgents(ctx, []catalog.Row{agent("b", "B"), agent("a", "A")}, false, nil); err != nil {
		t.Fatal(err)
	}
	for _, replace := range []bool{false, true} {
		name := fmt.Sprint("A", replace)
		if err := s.PutAgents(ctx, []catalog.Row{agent("a", name), agent("c", "C")}, replace, nil); err != nil {
			t.Fatal(err)
		}
		got, err := s.Agents(ctx)
		if diff := cmp.Diff([]catalog.Row{agent("a", name), agent("b", "B"), agent("c", "C")}, got); err != nil ||
			diff != "" {
			t.Errorf("agents (-want +got): %v\n%s", err, diff)
		}
	}
	put(t, s, doc("w", "one"), "version 1: published 1, draft 0")
	var seen []catalog.Entry
	for _, c := range []struct {
		may  func([]catalog.Entry) bool
		want error
		left int
	}{
		{func(list []catalog.Entry) bool { seen = list; return false }, catalog.ErrChanged, 3},
		{func([]catalog.Entry) bool { return true }, nil, 2},
	} {
		if err := s.DeleteAgent(ctx, "b", "", c.may); !errors.Is(err, c.want) {
			t.Errorf("delete: got %v, want %v", err, c.want)
		}
		if got, err := s.Agents(ctx); err != nil || len(got) != c.left {
			t.Errorf("after delete: %v, %v; want %d", got, err, c.left)
		}
	}
	if entries, err := s.Entries(ctx); err != nil || len(entries) != 1 || !cmp.Equal(entries, seen) {
		t.Errorf("delete was given %v, there are %v, %v", seen, entries, err)
	}
	if err := s.DeleteAgent(ctx, "c", "", nil); err != nil {
		t.Error(err)
	}
}

func testConcurrent(t *testing.T, s catalog.Store) {
	const writers, each = 8, 10
	var wg sync.WaitGroup
	for i := range writers {
		wg.Go(func() {
			for j := range each {
				if _, err := s.Put(t.Context(), []catalog.Put{doc("w", fmt.Sprintf("%d of %d", j, i))},
					nil); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	versions, err := s.Versions(t.Context(), "w")
	if err != nil || len(versions) != writers*each {
		t.Fatalf("%d versions, %v", len(versions), err)
	}
	for i, v := range versions {
		if v.Number != i+1 {
			t.Errorf("version %d has number %d", i+1, v.Number)
		}
	}
	if e, err := s.Entry(t.Context(), "w"); err != nil || e.Published != writers*each {
		t.Errorf("entry %+v, %v", e, err)
	}
}

func testContext(t *testing.T, s catalog.Store) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Put(ctx, []catalog.Put{doc("w", "one")}, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("put: %v", err)
	}
	if _, err := s.Entries(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("entries: %v", err)
	}
	if entries, err := s.Entries(t.Context()); err != nil || len(entries) != 0 {
		t.Errorf("something was stored: %v, %v", entries, err)
	}
}

// testSlices checks that the caller can modify its slices afterwards without affecting the store.
func testSlices(t *testing.T, s catalog.Store) {
	p := routes("w", "one")
	put(t, s, p, "version 1: published 1, draft 0")
	p.Text[0], p.Rows.Nodes[0][2] = 'X', "changed"
	v, err := s.Version(t.Context(), "w", 1)
	if err != nil || string(v.Text) != "one" {
		t.Fatalf("text %q, %v", v.Text, err)
	}
	v.Text[0] = 'Y'
	rows, err := s.Rows(t.Context(), "w")
	if err != nil || rows.Nodes[0].Text(2) != "AGENT" {
		t.Fatalf("rows %v, %v", rows, err)
	}
	rows.Nodes[0][2] = "changed"
	if v, err = s.Version(t.Context(), "w", 1); err != nil || string(v.Text) != "one" {
		t.Errorf("text %q, %v", v.Text, err)
	}
	if rows, err = s.Rows(t.Context(), "w"); err != nil || rows.Nodes[0].Text(2) != "AGENT" {
		t.Errorf("rows %v, %v", rows, err)
	}
}

// GoodIDs returns unusual but valid ids: every transport must be able to store, show and delete
// each of them.
func GoodIDs() []string {
	return []string{
		"a", "0", "007", "null", "true", "a b", "a.b", "a..b", "100%", "%2F", "%00", "a?b=c", "a#b", "a+b", "a&b",
		"a;b", "a:b", "a,b", "*", "~", "@me", `"quoted"`, "it's", "<b>", "{id}", "$HOME",
		"Ärger", "日本語", "👩‍💻"[:4], "apply", "versions", "latest", strings.Repeat("x", 200), strings.Repeat("ä", 100),
	}
}

// BadIDs returns invalid ids, which must not be stored.
func BadIDs() []string {
	return []string{
		"", " ", " a", "a ", "\ta", "a\tb", "a\nb", "a\x00b", "a\x1bb", "a\u202eb", "a\u200bb", "\ufeffa", "a/b", "/",
		`a\b`, ".", "..", ".a", "-", "-a", "--", "a\xff", "../../etc/passwd",
		strings.Repeat("x", 201), strings.Repeat("ä", 101), strings.Repeat("x", 70_000),
	}
}
