package engine

import (
	"strconv"
	"strings"
)

// commandID returns the id of one attempt of a call.
func commandID(call string, attempt int) string { return call + "#" + strconv.Itoa(attempt) }

// parseCommandID is the inverse of commandID.
func parseCommandID(id string) (call string, attempt int, ok bool) {
	call, a, found := strings.Cut(id, "#")
	attempt, err := strconv.Atoi(a)
	return call, attempt, found && err == nil
}

// callID returns the id of the nth call of a step's frame. It also builds the ids of the first
// attempt's command.
func (m *machine) callID(step, frame, n int) string {
	var buf [64]byte
	b := append(append(buf[:0], m.state.id...), '/')
	b = append(strconv.AppendInt(b, int64(step), 10), '.')
	b = append(strconv.AppendInt(b, int64(frame), 10), '.')
	m.lastID = string(append(strconv.AppendInt(b, int64(n), 10), firstAttempt...))
	return m.lastID[len(m.state.id)+1 : len(m.lastID)-len(firstAttempt)]
}

const firstAttempt = "#1"

// commandIDs returns the id of one attempt of a call and the idempotency key of all its attempts
// (D6).
func (m *machine) commandIDs(call string, attempt int) (id, key string) {
	n := len(m.state.id) + 1 + len(call)
	if s := m.lastID; attempt == 1 && len(s) == n+len(firstAttempt) && s[len(m.state.id)+1:n] == call {
		return s[len(m.state.id)+1:], s[:n]
	}
	var buf [64]byte
	b := append(append(append(buf[:0], m.state.id...), '/'), call...)
	s := string(strconv.AppendInt(append(b, '#'), int64(attempt), 10))
	return s[len(m.state.id)+1:], s[:n]
}
