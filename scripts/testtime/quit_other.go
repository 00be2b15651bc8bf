//go:build !unix

package main

import "os"

// notifyQuit does nothing: go test kills a test binary whose time is up.
func notifyQuit(chan<- os.Signal) {}
