package pgtest

import (
	"strings"
	"testing"
)

// TestRestore checks that a restored database has its contents at the time of the dump.
func TestRestore(t *testing.T) {
	t.Parallel()
	s := Shared(t)
	at := s.Database(t)
	c := Connect(t, at)
	do(t, c, `CREATE TABLE numbers (n int, b bytea); INSERT INTO numbers VALUES (1, '\x00ff')`)
	dump := s.Dump(t, at)
	if !strings.Contains(dump, `\\x00ff`) {
		t.Errorf("the dump lacks the bytes:\n%s", dump)
	}
	do(t, c, "INSERT INTO numbers VALUES (2, NULL); CREATE TABLE more ()")
	s.Restore(t, at, dump)
	c = Connect(t, at)
	if n := one[int](t, c, "SELECT count(*)::int FROM numbers"); n != 1 {
		t.Errorf("%d rows, want 1", n)
	}
	if one[bool](t, c, "SELECT to_regclass('more') IS NOT NULL") {
		t.Error("a table of after the dump is there")
	}
}
