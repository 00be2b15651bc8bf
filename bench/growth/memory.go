package main

import (
	"bytes"
	"os"
	"strconv"
)

// peak gives the largest resident memory of this process so far, in bytes; 0 where the system does not tell it by /proc.
func peak() int64 { return status("VmHWM:") }

// resident gives the resident memory of this process, in bytes; 0 where the system does not tell it by /proc.
func resident() int64 { return status("VmRSS:") }

// status reads a line of /proc/self/status that gives kilobytes.
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

// base is the resident memory at the last forgetPeak.
var base int64

// forgetPeak makes the resident memory of now the peak, where the system can do that, and remembers it as the base of growth.
func forgetPeak() {
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err == nil {
		base = resident()
	}
}
