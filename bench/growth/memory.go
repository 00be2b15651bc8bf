package main

import (
	"bytes"
	"os"
	"strconv"
)

// peak returns the largest resident memory of this process so far, in bytes, or 0 if the system
// does not report it in /proc.
func peak() int64 { return status("VmHWM:") }

// resident returns the resident memory of this process, in bytes, or 0 if the system does not
// report it in /proc.
func resident() int64 { return status("VmRSS:") }

// status reads a line of /proc/self/status whose value is in kilobytes.
func status(name string) int64 {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range bytes.Lines(text) {
		if rest, ok := bytes.CutPrefix(line, []byte(name)); ok {
			n, err := strconv.ParseInt(string(bytes.TrimSuffix(bytes.TrimSpace(rest), []byte(" kB"))), 10, 64)
			if err != nil {
				return 0
			}
			return n << 10
		}
	}
	return 0
}

// base is the resident memory at the last call of forgetPeak.
var base int64

// forgetPeak resets the peak to the current resident memory, if the system supports that, and
// records it as the base of growth.
func forgetPeak() {
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err == nil {
		base = resident()
	}
}
