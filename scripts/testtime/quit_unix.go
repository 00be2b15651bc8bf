//go:build unix

package main

import (
	"os"
	"os/signal"
	"syscall"
)

// notifyQuit relays to the channel the signal with which go test ends a test binary that has timed
// out.
func notifyQuit(quit chan<- os.Signal) { signal.Notify(quit, syscall.SIGQUIT) }
