package process

import (
	"context"
	"os"
	"os/exec"
)

// Timeouts of Run.
const (
	DefaultGrace = defaultGrace
	DrainAfter   = drainAfter
)

// CapturedFrom returns the captured contents of a pipe.
func CapturedFrom(f *os.File) string {
	c := &capture{max: 4 << 20}
	c.readAll(f)
	text, _ := c.text()
	return text
}

// Captured returns what a capture of limit bytes keeps of parts, and the number of bytes it omits.
func Captured(limit int, parts ...string) (string, int64) {
	c := &capture{max: limit}
	for _, p := range parts {
		_, _ = c.Write([]byte(p))
	}
	return c.text()
}

// RunGroup is Run without a supervisor.
func RunGroup(ctx context.Context, p Program) (Outcome, error) { return p.run(ctx, launchGroup) }

// RunAfter is Run after a number of starts that fail with err.
func RunAfter(ctx context.Context, p Program, failures int, err error) (Outcome, error) {
	return p.run(ctx, func(cmd *exec.Cmd) (running, error) {
		if failures--; failures >= 0 {
			return nil, err
		}
		return launch(cmd)
	})
}

// Supervised reports whether programs have supervisors on this system.
func Supervised() bool { return canSupervise() }

// StartAfter is Start after a number of starts that fail with err.
func StartAfter(ctx context.Context, argv []string, failures int, err error) (*Process, error) {
	return startWith(ctx, argv, "", os.Environ(), nil, func(cmd *exec.Cmd) (running, error) {
		if failures--; failures >= 0 {
			return nil, err
		}
		return launch(cmd)
	}, func(string) {})
}
