// Package accesstest is the conformance suite for all stores of access tokens and audit logs.
package accesstest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket/internal/access"
)

// Both is the interface that the suite tests: a token store and an audit log.
type Both interface {
	access.Store
	access.Log
	access.SessionStore
}

// Keep is the maximum number of records in the stores of the suite.
const Keep = 40

var at = time.Date(2026, 11, 22, 1, 2, 3, 4000, time.UTC)

// Run checks the contracts of [access.Store] and [access.Log]. open creates an empty store that
// keeps Keep records; again opens the same store as another process would, and may return s itself.
func Run(t *testing.T, open func(t *testing.T) (s Both, again func() Both)) {
	t.Helper()
	for name, test := range map[string]func(*testing.T, Both, func() Both){
		"tokens": tokens, "full": full, "namespaces at once": atOnce, "records": records, "intents": intents,
		"records at once": recordsAtOnce, "pages": pages, "sessions": sessions, "codes at once": codesAtOnce,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, again := open(t)
			test(t, s, again)
		})
	}
}

// hash returns the hash of some token.
func hash(n int) (h access.Hash) {
	h[0], h[1], h[31] = byte(n>>8), byte(n), 1
	return h
}

func tokens(t *testing.T, s Both, again func() Both) {
	ctx := t.Context()
	one := access.Token{ID: "t1", Name: "it's; one", Namespace: "default", Role: access.RoleAdmin, Approve: true,
		Created: at}
	two := access.Token{ID: "t2", Name: "two", Namespace: "default", Role: access.RoleRun, Created: at.Add(-time.Hour),
		Expires: at.Add(time.Hour)}
	same := access.Token{ID: "t1", Name: "other", Namespace: "b", Role: access.RoleEdit, Created: at}
	for i, k := range []access.Token{one, two, same} {
		if err := s.Add(ctx, k, hash(i)); err != nil {
			t.Fatal(err)
		}
	}
	s = again()
	check := func(namespace string, want ...access.Token) {
		t.Helper()
		if got, err := s.List(ctx, namespace); err != nil || cmp.Diff(want, got) != "" {
			t.Errorf("%s: %v (-want +got)\n%s", namespace, err, cmp.Diff(want, got))
		}
	}
	check("default", one, two) // in creation order, whatever their times
	check("b", same)
	check("c")
	if got, err := s.Find(ctx, hash(1)); err != nil || got != two {
		t.Errorf("found %+v, %v", got, err)
	}
	if _, err := s.Find(ctx, hash(3)); !errors.Is(err, access.ErrUnknownToken) {
		t.Errorf("an unknown hash: %v", err)
	}
	if names, err := s.Namespaces(ctx); err != nil || !slices.Equal(names, []string{"b", "default"}) {
		t.Errorf("namespaces %v, %v", names, err)
	}
	// Uses: times only grow, and tokens of other namespaces are left alone (SEC10).
	used := at.Add(time.Minute)
	for _, touch := range []struct {
		namespace, id string
		at            time.Time
	}{{"default", "t1", used}, {"default", "t1", at}, {"b", "t2", used}, {"c", "t1", used}} {
		if err := s.Touch(ctx, touch.namespace, touch.id, touch.at); err != nil {
			t.Error(err)
		}
	}
	one.Used = used
	check("default", one, two)
	check("b", same)
	// A revoked token is gone, in its own namespace only (SEC10).
	for _, none := range [][2]string{{"b", "t2"}, {"c", "t1"}, {"default", "t3"}, {"default", ""},
		{"default", "t1' OR 1=1"}} {
		if _, err := s.Revoke(ctx, none[0], none[1]); !errors.Is(err, access.ErrNone) {
			t.Errorf("revoke %v: %v", none, err)
		}
	}
	if got, err := s.Revoke(ctx, "default", "t1"); err != nil || got != one {
		t.Errorf("revoked %+v, %v", got, err)
	}
	if _, err := s.Revoke(ctx, "default", "t1"); !errors.Is(err, access.ErrNone) {
		t.Errorf("revoke again: %v", err)
	}
	if _, err := s.Find(ctx, hash(0)); !errors.Is(err, access.ErrUnknownToken) {
		t.Errorf("revoked: %v", err)
	}
	s = again()
	check("default", two)
	check("b", same)
	if _, err := s.Revoke(ctx, "b", "t1"); err != nil {
		t.Error(err)
	}
	if names, err := s.Namespaces(ctx); err != nil || !slices.Equal(names, []string{"b", "default"}) {
		t.Errorf("a namespace without tokens is none any more: %v, %v", names, err)
	}
}

func full(t *testing.T, s Both, _ func() Both) {
	add := func(namespace string, n int) error {
		return s.Add(t.Context(), access.Token{ID: fmt.Sprint(n), Name: "x", Namespace: namespace, Role: access.RoleRun,
			Created: at}, hash(n))
	}
	var wg sync.WaitGroup
	for w := range 20 {
		wg.Go(func() {
			for i := range access.MaxTokens / 20 {
				if err := add("default", w*1000+i); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for n := range access.MaxNamespaces - 1 {
		wg.Go(func() {
			if err := add(fmt.Sprint("n", n), 30_000+n); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	var limit *access.LimitError
	if err := add("default", 40_000); !errors.As(err, &limit) || limit != access.ErrFullTokens {
		t.Errorf("one token more: %v", err)
	}
	if err := add("more", 40_001); !errors.As(err, &limit) || limit != access.ErrFullNamespaces {
		t.Errorf("one namespace more: %v", err)
	}
	if err := add("n0", 40_002); err != nil {
		t.Errorf("a token of a namespace that is there: %v", err)
	}
	if _, err := s.Revoke(t.Context(), "default", "0"); err != nil {
		t.Error(err)
	}
	if err := add("default", 40_003); err != nil {
		t.Errorf("after one was revoked: %v", err)
	}
}

func atOnce(t *testing.T, s Both, again func() Both) {
	other := again()
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			k := access.Token{ID: fmt.Sprint(i), Name: "x", Namespace: "shared", Role: access.RoleRun, Created: at}
			if err := []Both{s, other}[i%2].Add(t.Context(), k, hash(i)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	names, err := s.Namespaces(t.Context())
	if err != nil || !slices.Equal(names, []string{"default", "shared"}) {
		t.Errorf("%v, %v", names, err)
	}
	if got, err := other.List(t.Context(), "shared"); err != nil || len(got) != 20 {
		t.Errorf("%d tokens, %v", len(got), err)
	}
}

func records(t *testing.T, s Both, again func() Both) {
	ctx := t.Context()
	full := access.Record{
		At: at, Namespace: "a", Token: "t1", Actor: "it's; me", Action: "POST /api/v1/runs", Target: "r1",
		Outcome: "ok", Request: "q1", Remote: "127.0.0.1:1",
	}
	long := access.Record{At: at.Add(time.Second), Namespace: "a", Actor: access.ActorLocal, Action: "x",
		Outcome: "invalid", Target: strings.Repeat("ä", access.MaxText)}
	odd := access.Record{At: at.Add(2 * time.Second), Namespace: "a", Actor: "\xff", Action: "x", Outcome: "ok"}
	for _, r := range []access.Record{full, {At: at, Namespace: "b", Actor: "b", Action: "x", Outcome: "ok"}, long,
		odd} {
		if err := s.Record(ctx, r); err != nil {
			t.Fatal(err)
		}
	}
	s = again()
	full.ID, long.ID, odd.ID = 1, 2, 3
	long.Target, odd.Actor = strings.Repeat("ä", access.MaxText/2), "\uFFFD"
	for _, c := range []struct {
		q    access.Query
		want access.Page
	}{
		{access.Query{Namespace: "a"}, access.Page{Items: []access.Record{odd, long, full}}},
		{access.Query{Namespace: "a", Since: at.Add(time.Second)}, access.Page{Items: []access.Record{odd, long}}},
		{access.Query{Namespace: "a", Limit: 1}, access.Page{Items: []access.Record{odd}, Next: "3"}},
		{access.Query{Namespace: "a", Limit: 2, Cursor: "3"}, access.Page{Items: []access.Record{long, full}}},
		{access.Query{Namespace: "c"}, access.Page{Items: []access.Record{}}}, // SEC10: only of its namespace
		{access.Query{}, access.Page{Items: []access.Record{}}},
	} {
		if got, err := s.Records(ctx, c.q); err != nil || cmp.Diff(c.want, got) != "" {
			t.Errorf("%+v: %v (-want +got)\n%s", c.q, err, cmp.Diff(c.want, got))
		}
	}
	for _, cursor := range []string{"0", "-1", "x", "01", "1' OR 1=1", "99999999999999999999"} { // SEC7
		var invalid *access.InvalidError
		if _, err := s.Records(ctx, access.Query{Namespace: "a", Cursor: cursor}); !errors.As(err, &invalid) {
			t.Errorf("cursor %q: %v", cursor, err)
		}
	}
}

// intents checks that an intent is a record with an unknown outcome, which its outcome replaces in
// its place and in its namespace only.
func intents(t *testing.T, s Both, again func() Both) {
	ctx := t.Context()
	mean := access.Record{At: at, Namespace: "a", Actor: "me", Action: "POST /", Target: "/runs", Outcome: "ok",
		Request: "q"}
	first, err := s.Intend(ctx, mean)
	if err != nil || first != 1 {
		t.Fatalf("the first record is %d, %v", first, err)
	}
	second, err := s.Intend(ctx, mean)
	if err != nil || second != 2 {
		t.Fatalf("the second record is %d, %v", second, err)
	}
	for _, r := range []access.Record{
		{ID: first, At: at, Namespace: "b", Actor: "other", Outcome: "ok"},
		{ID: first, At: at.Add(time.Second), Namespace: "a", Actor: "me", Action: "runs.start", Target: "r1",
			Outcome: "ok"},
		{ID: 99, At: at, Namespace: "a", Actor: "me", Outcome: "ok"},
	} {
		if err := s.Record(ctx, r); err != nil {
			t.Fatal(err)
		}
	}
	mean.ID, mean.Outcome = second, access.OutcomeUnknown
	want := []access.Record{mean, {ID: first, At: at.Add(time.Second), Namespace: "a", Actor: "me",
		Action: "runs.start", Target: "r1", Outcome: "ok"}}
	if got, err := again().Records(ctx, access.Query{Namespace: "a"}); err != nil || cmp.Diff(want, got.Items) != "" {
		t.Errorf("%v (-want +got)\n%s", err, cmp.Diff(want, got.Items))
	}
	if got, err := s.Records(ctx, access.Query{Namespace: "b"}); err != nil || len(got.Items) != 0 {
		t.Errorf("another namespace: %+v, %v", got, err)
	}
}

// recordsAtOnce checks that records are numbered without gaps, and that the oldest are deleted,
// independently for each namespace.
func recordsAtOnce(t *testing.T, s Both, again func() Both) {
	other := again()
	if err := s.Record(t.Context(), access.Record{At: at, Namespace: "quiet", Actor: "x", Action: "x",
		Outcome: "ok"}); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i := range 2 * Keep {
		wg.Go(func() {
			if err := []Both{s, other}[i%2].Record(t.Context(), access.Record{At: at, Namespace: "busy", Actor: "x",
				Action: "x", Outcome: "ok"}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	page, err := s.Records(t.Context(), access.Query{Namespace: "busy", Limit: access.MaxPage})
	if err != nil || len(page.Items) != Keep {
		t.Fatalf("%d records are kept, %v", len(page.Items), err)
	}
	for i, r := range page.Items {
		if want := int64(2*Keep - i); r.ID != want {
			t.Errorf("record %d has the id %d, want %d", i, r.ID, want)
		}
	}
	if page, err := s.Records(t.Context(), access.Query{Namespace: "quiet"}); err != nil || len(page.Items) != 1 {
		t.Errorf("another namespace's: %+v, %v", page, err)
	}
}

// pages checks that cursors lead through all records, each once, while new ones are added.
func pages(t *testing.T, s Both, _ func() Both) {
	add := func() {
		if err := s.Record(t.Context(), access.Record{At: at, Namespace: "a", Actor: "x", Action: "x",
			Outcome: "ok"}); err != nil {
			t.Fatal(err)
		}
	}
	for range Keep - 10 {
		add()
	}
	q := access.Query{Namespace: "a", Limit: 7}
	var got []int64
	for {
		page, err := s.Records(t.Context(), q)
		if err != nil || len(page.Items) > 7 {
			t.Fatalf("%d records, %v", len(page.Items), err)
		}
		for _, r := range page.Items {
			got = append(got, r.ID)
		}
		if q.Cursor = page.Next; q.Cursor == "" {
			break
		}
		add()
	}
	for i := range Keep - 10 {
		if want := int64(Keep - 10 - i); i >= len(got) || got[i] != want {
			t.Fatalf("record %d of %v, want %d", i, got, want)
		}
	}
	if len(got) != Keep-10 {
		t.Errorf("%d records", len(got))
	}
	all := func(limit int) int {
		page, err := s.Records(t.Context(), access.Query{Namespace: "a", Limit: limit})
		if err != nil {
			t.Fatal(err)
		}
		return len(page.Items)
	}
	if n := all(-1); n != 1 {
		t.Errorf("a limit below 1 gives %d", n)
	}
	if n := all(1000); n != Keep-6 {
		t.Errorf("a limit above the highest gives %d", n)
	}
}
