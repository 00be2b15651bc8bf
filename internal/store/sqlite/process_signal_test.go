package sqlite_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/store/sqlite"
)

const signalEvents = 50

// childSignal writes a run and then waits until it is killed.
func childSignal(path string) error {
	s, err := sqlite.Open(context.Background(), path, sqlite.Config{Kind: journal.KindServe})
	if err == nil {
		err = s.Append(context.Background(), benchCreate(0))
	}
	for n := range uint64(signalEvents) {
		if err == nil {
			err = s.Append(context.Background(), benchNext(0, 4+3*n, []byte("data")))
		}
	}
	if err == nil {
		time.Sleep(time.Hour)
	}
	return err
}

// TestSignal_OtherProcess checks that a process that only waits for signals notices what another
// process stores, and that the other process was killed.
func TestSignal_OtherProcess(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "hocket.db")
	s := open(t, path)
	c := make(chan struct{}, 1)
	t.Cleanup(s.Subscribe(c, journal.OfRun(benchRun(0))))
	cmd := child(t, "signal", path)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	killed := false
	for range c {
		h, err := s.Head(t.Context(), benchRun(0))
		switch {
		case errors.Is(err, journal.ErrNotFound):
			continue
		case err != nil:
			t.Fatal(err)
		case h.Interrupted:
			if !killed {
				t.Error("interrupted before it was killed")
			}
			return
		case h.LastSeq == 3+3*signalEvents && !killed:
			killed = true
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			if err := cmd.Wait(); err == nil {
				t.Error("it ended by itself")
			}
		}
	}
}
