package process

import (
	"os"
	"strconv"
	"strings"

	"github.com/hocket-run/hocket/internal/process/supervise"
)

// orphaned returns the supervisors whose Hocket process has ended and that are still killing its
// remaining programs.
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
		first, owner, _ := strings.Cut(strings.TrimRight(string(line), "\x00"), "\x00")
		if _, err := strconv.Atoi(owner); first != supervise.Name || err != nil || !sameUser(e.PID) {
			continue
		}
		if o, ok := supervise.Look(e.Parent); !ok || o.Ended() || ownID(e.Parent) != owner {
			list = append(list, e.PID)
		}
	}
	return list
}

// sameUser reports whether a process runs as the user of this one. The owner of its files in /proc
// is not significant: it is root if the process is not dumpable.
func sameUser(pid int) bool {
	ids := status(pid, "Uid:")
	return len(ids) > 0 && ids[0] == strconv.Itoa(os.Getuid())
}

// ownID returns the id that a process has in its own namespace. In another PID namespace, such as a
// container's, it differs from the id by which this process sees it.
func ownID(pid int) string {
	ids := status(pid, "NSpid:")
	if len(ids) == 0 { // a system without PID namespaces
		return strconv.Itoa(pid)
	}
	return ids[len(ids)-1]
}

// status returns the words of a line of /proc/N/status, or nil if there is none.
func status(pid int, name string) []string {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(data)) {
		if words, ok := strings.CutPrefix(line, name); ok {
			return strings.Fields(words)
		}
	}
	return nil
}
