package sqlite

import (
	"path/filepath"
	"testing"
	"time"
)

// TestReaders_Idle checks that reads that follow each other need one connection, and that those
// that concurrent reads needed are closed when they have not been used for a while, except one.
func TestReaders_Idle(t *testing.T) {
	t.Parallel()
	s, err := Open(t.Context(), filepath.Join(t.TempDir(), "db"), Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	r := s.readers
	for range 2 * maxReaders {
		if err := r.read(t.Context(), func(*conn) error { return nil }); err != nil {
			t.Fatal(err)
		}
	}
	if len(r.idle) != 1 {
		t.Errorf("%d connections for one read at a time, want 1", len(r.idle))
	}
	var nested func(more int) error
	nested = func(more int) error {
		return r.read(t.Context(), func(*conn) error {
			if more == 0 {
				return nil
			}
			return nested(more - 1)
		})
	}
	if err := nested(maxReaders - 1); err != nil {
		t.Fatal(err)
	}
	if len(r.idle) != maxReaders {
		t.Fatalf("%d connections for %d reads at a time", len(r.idle), maxReaders)
	}
	now := time.Now()
	for range maxReaders {
		r.put(r.take(), now.Add(readerIdle-time.Second))
	}
	if len(r.idle) != maxReaders {
		t.Errorf("%d connections after a short while, want %d", len(r.idle), maxReaders)
	}
	for range maxReaders {
		r.put(r.take(), now.Add(2*readerIdle))
	}
	if len(r.idle) != 1 {
		t.Errorf("%d connections after a while, want 1", len(r.idle))
	}
}
