package process

import (
	"os"
	"strconv"
	"strings"

	"github.com/hocket-run/hocket/internal/process/supervise"
)

// orphaned gives the supervisors whose Hocket process has ended and that are still killing what it left.
func orphaned() []int {
	var list []int
	for _, e := range supervise.Processes() {
		if e.Comm != supervise.Comm || e.Ended() {
			continue
		}
		line, err := os.ReadFile("/proc/" + strconv.Itoa(e.PID) + "/cmdline")
		if err != nil {
			continue
		}
		first, second, _ := strings.Cut(strings.TrimRight(string(line), "\x00"), "\x00")
		owner, err := strconv.Atoi(second)
		if first != supervise.Name || err != nil || !sameUser(e.PID) {
			continue
		}
		if o, ok := supervise.Look(e.Parent); e.Parent != owner || !ok || o.Ended() {
			list = append(list, e.PID)
		}
	}
	return list
}

// sameUser tells whether a process runs as the user of this one. The owner of its files in /proc says nothing: they are root's where it is not dumpable.
func sameUser(pid int) bool {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(data)) {
		if ids, ok := strings.CutPrefix(line, "Uid:"); ok {
			f := strings.Fields(ids)
			return len(f) > 0 && f[0] == strconv.Itoa(os.Getuid())
		}
	}
	return false
}
