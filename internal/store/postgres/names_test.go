package postgres_test

import (
	"net/url"
	"testing"

	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/pgtest"
)

// TestListPrefix_InvalidUTF8 checks that a prefix that ends in invalid UTF-8, or in a replacement
// character, finds exactly the runs with that prefix.
func TestListPrefix_InvalidUTF8(t *testing.T) {
	t.Parallel()
	s := open(t, pgtest.URL(t))
	for _, run := range []string{"a\xfe1", "a\xff1", "b\uFFFD1", "b\U0001D4B3", "c\xff\xff", "d"} {
		if err := s.Append(t.Context(), story(run)[0]); err != nil {
			t.Fatal(err)
		}
	}
	for prefix, want := range map[string]string{"a\xfe": "a\xfe1", "b\uFFFD": "b\uFFFD1", "c\xff": "c\xff\xff",
		"a\xff": "a\xff1"} {
		heads, _, err := s.List(t.Context(), journal.Query{Prefix: prefix})
		if err != nil || len(heads) != 1 || heads[0].Run != want {
			t.Errorf("%q: %d runs, %v", prefix, len(heads), err)
		}
	}
}

// TestSchema_ReservedWord checks that a schema may be named like an SQL keyword.
func TestSchema_ReservedWord(t *testing.T) {
	t.Parallel()
	u, err := url.Parse(pgtest.Start(t, pgtest.Config{}).URL(t))
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	q.Set("schema", "order")
	u.RawQuery = q.Encode()
	s := open(t, u.String())
	c := make(chan struct{}, 1)
	defer s.Subscribe(c, journal.OfRequests())()
	for _, a := range story("r") {
		if err := s.Append(t.Context(), a); err != nil {
			t.Fatal(err)
		}
	}
	told(t, s, "r")
	if _, err := s.Prune(t.Context(), journal.PruneQuery{Runs: []string{"r"}}); err != nil {
		t.Error(err)
	}
}
