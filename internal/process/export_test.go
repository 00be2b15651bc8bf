package process

import (
	"context"
	"os"
)

// The times of Run.
const (
	DefaultGrace = defaultGrace
	DrainAfter   = drainAfter
)

// CapturedFrom gives what is captured of a pipe.
func CapturedFrom(f *os.File) string {
	c := &capture{max: 4 << 20}
	c.readAll(f)
	text, _ := c.text()
	return text
}

// Captured gives what a capture of limit bytes keeps of parts, and how much it leaves out.
func Captured(limit int, parts ...string) (string, int64) {
	c := &capture{max: limit}
	for _, p := range parts {
		_, _ = c.Write([]byte(p))
	}
	return c.text()
}

// RunGroup is Run without a supervisor.
func RunGroup(ctx context.Context, p Program) (Outcome, error) { return p.run(ctx, launchGroup) }

// Supervised tells whether programs have supervisors here.
func Supervised() bool { return canSupervise() }
