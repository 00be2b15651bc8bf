//go:build !unix

package main

import "os"

// notifyQuit does nothing, because go test kills a test binary that has timed out.
func notifyQuit(chan<- os.Signal) {}
