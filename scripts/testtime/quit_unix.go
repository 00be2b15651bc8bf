//go:build unix

package main

import (
	"os"
	"os/signal"
	"syscall"
)

// notifyQuit has the signal by which go test ends a test binary whose time is up sent to the channel.
func notifyQuit(quit chan<- os.Signal) { signal.Notify(quit, syscall.SIGQUIT) }
