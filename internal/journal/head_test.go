package journal_test

import (
	"errors"
	"testing"

	"github.com/hocket-run/hocket/internal/journal"
)

// FuzzCursor checks that a string is either a cursor that formats to the same string again, or
// ErrCursor.
func FuzzCursor(f *testing.F) {
	f.Add("")
	f.Add(journal.Cursor{Created: 1_772_000_000_000_000, Key: 7}.String())
	f.Add(journal.Cursor{Created: -1, Key: -1}.String())
	f.Add("' OR 1=1 --")
	f.Add("0\r00000000000000000000A")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := journal.ParseCursor(text)
		if err != nil {
			if !errors.Is(err, journal.ErrCursor) {
				t.Errorf("got error %v", err)
			}
			return
		}
		if got := c.String(); got != text {
			t.Errorf("%q reads as %+v, which is %q", text, c, got)
		}
	})
}
