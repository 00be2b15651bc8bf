//go:build unix

package process_test

import (
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/jsontext"
	"github.com/hocket-run/hocket/internal/process"
)

// TestOutput_AfterDeadline checks P11: a reader delayed past the deadline gets what was written
// before it, and no more than a pipe's capacity of what follows.
func TestOutput_AfterDeadline(t *testing.T) {
	t.Parallel()
	pipe := func(t *testing.T, said string) *os.File {
		t.Helper()
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = errors.Join(r.Close(), w.Close()) }) // the other end stays open
		if _, err := w.WriteString(said); err != nil {
			t.Fatal(err)
		}
		if err := r.SetReadDeadline(time.Unix(1, 0)); err != nil {
			t.Fatal(err)
		}
		return r
	}
	t.Run("capture", func(t *testing.T) {
		t.Parallel()
		if got := process.CapturedFrom(pipe(t, "last words")); got != "last words" {
			t.Errorf("got %q", got)
		}
	})
	t.Run("messages", func(t *testing.T) {
		t.Parallel()
		got, err := io.ReadAll(process.Messages(pipe(t, `{"id":1}`+"\n"), jsontext.Filter{}))
		if strings.TrimSpace(string(got)) != `{"id":1}` || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("got %q, %v", got, err)
		}
	})
	t.Run("a flood that does not end", func(t *testing.T) {
		t.Parallel()
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		flooded := make(chan struct{})
		go func() {
			defer close(flooded)
			for err := error(nil); err == nil; {
				_, err = w.WriteString(strings.Repeat("x", 1<<12))
			}
			_ = w.Close()
		}()
		if err := r.SetReadDeadline(time.Unix(1, 0)); err != nil {
			t.Fatal(err)
		}
		if got := process.CapturedFrom(r); len(got) > 1<<20 {
			t.Errorf("%d bytes", len(got))
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		<-flooded
	})
}
