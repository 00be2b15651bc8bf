package server

import (
	"runtime/debug"
	"time"
)

const (
	// muchMemory is how many bytes must have been given back before the system gets them.
	muchMemory = 32 << 20
	// freeEvery is how often that happens at most: it is a full collection of garbage.
	freeEvery = 10 * time.Second
)

// returnMemory gives memory back to the system where requests held much and hold it no more. The runtime of Go would keep it for minutes. It gives when that was done
// last.
func (s *Server) returnMemory(now, last time.Time) time.Time {
	if now.Sub(last) < freeEvery || !s.flight.Freed(muchMemory) {
		return last
	}
	debug.FreeOSMemory()
	return now
}
