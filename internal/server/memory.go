package server

import (
	"runtime/debug"
	"time"
)

const (
	// muchMemory is the number of bytes that must have been freed before they are returned to the
	// system.
	muchMemory = 32 << 20
	// freeEvery is the minimum time between two returns, as each is a full garbage collection.
	freeEvery = 10 * time.Second
)

// returnMemory returns memory to the system if requests held much and no longer do; the Go runtime
// would keep it for minutes. It returns the time of the last return.
func (s *Server) returnMemory(now, last time.Time) time.Time {
	if now.Sub(last) < freeEvery || !s.flight.Freed(muchMemory) {
		return last
	}
	debug.FreeOSMemory()
	return now
}
