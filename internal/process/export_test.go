package process

// The times of Run.
const (
	DefaultGrace = defaultGrace
	DrainAfter   = drainAfter
)

// Captured gives what a capture of limit bytes keeps of parts, and how much it leaves out.
func Captured(limit int, parts ...string) (string, int64) {
	c := &capture{max: limit}
	for _, p := range parts {
		_, _ = c.Write([]byte(p))
	}
	return c.text()
}
