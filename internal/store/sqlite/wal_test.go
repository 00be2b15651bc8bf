package sqlite

import (
	"testing"
)

// TestCheckpointFails checks that after a failed checkpoint the writer does not wait for the lock
// inside SQLite.
func TestCheckpointFails(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	err := s.writer.runOutsideTx(t.Context(), func(c *conn) error {
		if err := checkpoint(c, "PRAGMA no such mode"); err == nil {
			t.Error("no error")
		}
		r, err := c.lookUp("PRAGMA busy_timeout")
		if err == nil && r.int(0) != 0 {
			t.Errorf("busy timeout of %d ms", r.int(0))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
