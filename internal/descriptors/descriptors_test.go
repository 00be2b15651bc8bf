package descriptors_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hocket-run/hocket/internal/descriptors"
)

// TestWait checks that what finds no file descriptor is tried again, with one warning, until there
// is one, its context is done or the limit has passed.
func TestWait(t *testing.T) {
	t.Parallel()
	out := os.NewSyscallError("pipe2", syscall.EMFILE)
	other := errors.New("other")
	for name, test := range map[string]struct {
		failures int
		last     error
		cancel   time.Duration // 0 means never
		want     error
		took     time.Duration
		warnings int
	}{
		"free":  {},
		"freed": {failures: 3, took: 150 * time.Millisecond, warnings: 1},
		"other": {last: other, want: other},
		"then":  {failures: 1, last: other, want: other, took: 50 * time.Millisecond, warnings: 1},
		"cancelled": {failures: 1 << 30, cancel: time.Second + 1, want: context.DeadlineExceeded, took: time.Second + 1,
			warnings: 1},
		"limit": {failures: 1 << 30, want: syscall.EMFILE, took: descriptors.Limit, warnings: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx := t.Context()
				if test.cancel > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, test.cancel)
					defer cancel()
				}
				var log bytes.Buffer
				began, failures := time.Now(), test.failures
				err := descriptors.Wait(ctx, slog.New(slog.NewTextHandler(&log, nil)), "a test", func() error {
					if failures--; failures >= 0 {
						return out
					}
					return test.last
				})
				if !errors.Is(err, test.want) {
					t.Errorf("got %v, want %v", err, test.want)
				}
				if took := time.Since(began); took != test.took {
					t.Errorf("returned after %s, want %s", took, test.took)
				}
				if n := strings.Count(log.String(), "level=WARN"); n != test.warnings {
					t.Errorf("%d warnings, want %d: %s", n, test.warnings, &log)
				}
			})
		})
	}
}
