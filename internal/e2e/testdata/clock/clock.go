package main

import (
	"os"
	"strconv"
	"strings"
	"time"
	_ "unsafe" // for linkname
)

// vdsoClockgettimeSym is the address of the function that the runtime calls to read any clock.
//
//go:linkname vdsoClockgettimeSym runtime.vdsoClockgettimeSym
var vdsoClockgettimeSym uintptr

// clockOffset is added to the wall clock, in seconds. It is read by the assembly code.
var clockOffset int64

// addressOfClock returns the address of the assembly function.
func addressOfClock() uintptr

// init makes the wall clock of this process follow the file named by HOCKET_TEST_CLOCK, which holds
// the number of seconds that the clock is ahead. Once the clock follows the file, the file with the
// suffix .is contains the same number.
func init() {
	file := os.Getenv("HOCKET_TEST_CLOCK")
	if file == "" {
		return
	}
	follow := func() {
		data, err := os.ReadFile(file)
		if err != nil {
			return
		}
		n, err := strconv.ParseInt(strings.TrimSpace(string(data)), 10, 64)
		if err != nil || n == clockOffset {
			return
		}
		clockOffset = n
		_ = os.WriteFile(file+".is", data, 0o600)
	}
	follow()
	vdsoClockgettimeSym = addressOfClock()
	go func() {
		for range time.Tick(20 * time.Millisecond) {
			follow()
		}
	}()
}
