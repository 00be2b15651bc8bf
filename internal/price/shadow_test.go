package price

import (
	"os"
	"strings"
	"testing"
)

// TestDefault_NoShadowedEntries checks P20: every pattern of the embedded table names an existing
// model, and no model is named by two entries: an entry after another one that matches would never
// count. testdata/models.txt has the names of models as in the tables listed in the file's source.
func TestDefault_NoShadowedEntries(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/models.txt")
	if err != nil {
		t.Fatal(err)
	}
	models := strings.Fields(string(data))
	entries := Default().entries
	for i := range entries {
		for _, p := range entries[i].patterns {
			if entries[i].priced && !anyMatches(p, models) {
				t.Errorf("%s names no model of testdata/models.txt", p)
			}
			for j := range entries[:i] {
				for _, q := range entries[j].patterns {
					if overlaps(p, q) {
						t.Errorf("%s and %s of two entries name the same models", q, p)
					}
				}
			}
		}
	}
	for _, m := range models {
		if _, ok := Default().Rate(m); !ok {
			t.Errorf("no price of %s", m)
		}
	}
}

func anyMatches(p string, models []string) bool {
	for _, m := range models {
		if matches(p, m) {
			return true
		}
	}
	return false
}

// overlaps reports whether some string matches both p and q.
func overlaps(p, q string) bool {
	switch {
	case p == "":
		return strings.Trim(q, "*") == ""
	case q == "":
		return strings.Trim(p, "*") == ""
	case p[0] == '*':
		return overlaps(p[1:], q) || overlaps(p, q[1:])
	case q[0] == '*':
		return overlaps(p, q[1:]) || overlaps(p[1:], q)
	}
	return p[0] == q[0] && overlaps(p[1:], q[1:])
}

func TestOverlaps(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		p, q string
		want bool
	}{
		{"a/b", "a/b", true}, {"a/b", "a/c", false}, {"a/b*", "a/bc", true}, {"a/b*", "a/c*", false},
		{"a/*c", "a/b*", true}, {"a/b", "a/b*", true}, {"a/bb", "a/b", false},
	} {
		if got := overlaps(tc.p, tc.q); got != tc.want || overlaps(tc.q, tc.p) != tc.want {
			t.Errorf("%s and %s: %v", tc.p, tc.q, got)
		}
	}
}
