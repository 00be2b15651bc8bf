package service

import (
	"runtime"
	"testing"
)

// MaxQueue is how many requests wait for one session at most.
const MaxQueue = maxQueue

// AwaitLine waits until so many requests wait for a session.
func AwaitLine(t *testing.T, s *Service, session string, want int) {
	t.Helper()
	for {
		s.lines.mu.Lock()
		n := len(s.lines.line[session])
		s.lines.mu.Unlock()
		if n == want {
			return
		}
		if t.Context().Err() != nil {
			t.Fatalf("%d requests wait for session %s, want %d", n, session, want)
		}
		runtime.Gosched()
	}
}

// SetMaxFamily bounds the runs below one run. Call it before any run starts.
func (s *Service) SetMaxFamily(most int) { s.family.most = most }
