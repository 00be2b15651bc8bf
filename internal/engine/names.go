package engine

import (
	"strconv"
	"strings"
)

// callNames names the calls of a run.
type callNames struct {
	run string // the id of the run
	// last is the command id of the call that was named last, with the run's id before it.
	last string
}

const firstAttempt = "#1"

// call names a call of a step's frame by number. The names of its first attempt's command are made with it.
func (c *callNames) call(step, frame, n int) string {
	var buf [64]byte
	b := append(append(buf[:0], c.run...), '/')
	b = append(strconv.AppendInt(b, int64(step), 10), '.')
	b = append(strconv.AppendInt(b, int64(frame), 10), '.')
	c.last = string(append(strconv.AppendInt(b, int64(n), 10), firstAttempt...))
	return c.last[len(c.run)+1 : len(c.last)-len(firstAttempt)]
}

// command gives the id of one attempt of a call and the idempotency key of all of them (D6).
func (c *callNames) command(call string, attempt int) (id, key string) {
	n := len(c.run) + 1 + len(call)
	if s := c.last; attempt == 1 && len(s) == n+len(firstAttempt) && s[len(c.run)+1:n] == call {
		return s[len(c.run)+1:], s[:n]
	}
	var buf [64]byte
	b := append(append(append(buf[:0], c.run...), '/'), call...)
	s := string(strconv.AppendInt(append(b, '#'), int64(attempt), 10))
	return s[len(c.run)+1:], s[:n]
}

// commandID names one attempt of a call.
func commandID(call string, attempt int) string { return call + "#" + strconv.Itoa(attempt) }

// parseCommandID undoes commandID.
func parseCommandID(id string) (call string, attempt int, ok bool) {
	call, a, found := strings.Cut(id, "#")
	attempt, err := strconv.Atoi(a)
	return call, attempt, found && err == nil
}
