package driver_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/hocket-run/hocket/internal/driver"
)

// TestChildRunID checks that the same work has the same id, that ids stay within their length, and
// that other work has another id however long its parent's id is (P12).
func TestChildRunID(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("p", driver.MaxRunID)
	for _, c := range []struct{ name, parent, work, key, want string }{
		{"a plain name", "up", "ask-1", "k", "up.ask-1"},
		{"a number", "up", "#2", "k", "up.#2"},
		{"none", "up", "", "k", "up.8254c329a92850f6d539"},
		{"blanks", "up", "a b", "k", "up.8254c329a92850f6d539"},
		{"another key", "up", "a b", "l", "up.acac86c0e609ca906f63"},
		{"too long a name", "up", strings.Repeat("n", 65), "k", "up.8254c329a92850f6d539"},
		{"the longest with a name", long[:190], "123456789", "k", long[:190] + ".123456789"},
		{"no room for the name", long[:190], "1234567890", "k", long[:179] + ".8254c329a92850f6d539"},
		{"a long parent", long, "n", "k", long[:179] + ".8254c329a92850f6d539"},
		{"a rune at the cut", long[:178] + "éé" + long[:18], "n", "k", long[:178] + ".8254c329a92850f6d539"},
	} {
		got := driver.ChildRunID(c.parent, c.work, c.key)
		if got != c.want || len(got) > driver.MaxRunID || !utf8.ValidString(got) {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}
