package journal_test

import (
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/journal"
)

// TestPreview checks that lists show a string unquoted, and an object as its JSON.
func TestPreview(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ value, want string }{
		"a text":    {`"Say \"hello\"\nto Ada"`, `Say "hello" to Ada`},
		"an object": {`{"folder":"inbox","limit":500}`, `{"folder":"inbox","limit":500}`},
		"a list":    {`["a", "b"]`, `["a", "b"]`},
		"nothing":   {``, ``},
		"a long object": {`{"a":"` + strings.Repeat("é", journal.MaxPreview) + `"}`,
			`{"a":"` + strings.Repeat("é", (journal.MaxPreview-6)/2)},
		"a long text":     {`"` + strings.Repeat("x", 1000) + `"`, strings.Repeat("x", journal.MaxPreview)},
		"lines in a list": {"[1,\n  2]", "[1, 2]"},
	} {
		if got := journal.Preview(event.Value(c.value)); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}
