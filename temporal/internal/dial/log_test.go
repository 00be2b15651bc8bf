package dial

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
)

// TestLog checks that failed polls of a stopping worker are left out of the SDK's log messages, and
// that messages below warning are logged at debug level.
func TestLog(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	l := slog.New(sdkLog{slog.NewTextHandler(&out, nil)}).With("WorkerID", "w").WithGroup("g")
	l.Warn(pollFailed, "Error", errors.New(workerStopped))
	l.Info("Started Worker")
	if out.Len() > 0 {
		t.Errorf("logged %s", out.String())
	}
	l.Warn(pollFailed, "Error", errors.New("connection refused"))
	l.Warn("Failed to send heartbeat", "Error", errors.New(workerStopped))
	if n := strings.Count(out.String(), "\n"); n != 2 {
		t.Errorf("%d lines were logged: %s", n, out.String())
	}
}
