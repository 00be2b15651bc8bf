package sqlite

import (
	"path/filepath"
	"testing"

	"github.com/hocket-run/hocket/internal/journal"
)

// TestSlot_NewProcess checks that a process keeps the slot that it took if it started after another
// process determined which owners are alive, and before that process wrote.
func TestSlot_NewProcess(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "hocket.db")
	var stores [2]*Store
	for i := range stores {
		s, err := Open(t.Context(), path, Config{Kind: journal.KindRun})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		stores[i] = s
	}
	first, second := stores[0], stores[1]
	self, err := first.owners.register(t.Context(), first.writer)
	if err != nil {
		t.Fatal(err)
	}
	dead, err := first.dead(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got, err := second.Queue(t.Context(), journal.Slot{Name: "n", Run: "new", Max: 1}); err != nil || !got.Admitted {
		t.Fatalf("%+v, %v", got, err)
	}
	err = first.writer.write(t.Context(), 0, func(c *conn) error {
		got, err := enqueue(t.Context(), c, journal.Slot{Name: "n", Run: "old", Max: 1}, self, dead)
		if got.Admitted {
			t.Error("two runs have the one slot")
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := second.Turn(t.Context(), "new"); err != nil || !got.Admitted {
		t.Errorf("the run of the new process: %+v, %v", got, err)
	}
}
