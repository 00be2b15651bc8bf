package supervise

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// Entry is the content of /proc/N/stat for a process.
type Entry struct {
	PID, Parent int
	Comm        string
	state       byte // Z and X mean ended
	exiting     bool
}

// Ended reports whether the process has ended, whether or not it was reaped.
func (e Entry) Ended() bool { return e.state == 'Z' || e.state == 'X' || e.exiting }

// exitingFlag is PF_EXITING in the flags of a process.
const exitingFlag = 4

// Processes returns all visible processes; those that end meanwhile may be missing.
func Processes() []Entry {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1) // a partial listing is better than nothing
	var list []Entry
	for _, n := range names {
		if pid, err := strconv.Atoi(n); err == nil {
			if e, ok := Look(pid); ok {
				list = append(list, e)
			}
		}
	}
	return list
}

// Look reads the entry of one process, and reports whether the process exists.
func Look(pid int) (Entry, bool) {
	var buf [512]byte
	data := readSmall("/proc/"+strconv.Itoa(pid)+"/stat", buf[:])
	// `12 (any text) S 1 …`: the text may contain brackets and blanks.
	begin, end := bytes.IndexByte(data, '('), bytes.LastIndexByte(data, ')')
	if begin < 0 || end < begin {
		return Entry{}, false
	}
	f := strings.Fields(string(data[end+1:]))
	if len(f) < 7 {
		return Entry{}, false
	}
	parent, err1 := strconv.Atoi(f[1])
	flags, err2 := strconv.ParseUint(f[6], 10, 64)
	if err1 != nil || err2 != nil {
		return Entry{}, false
	}
	return Entry{PID: pid, Parent: parent, Comm: string(data[begin+1 : end]), state: f[0][0],
		exiting: flags&exitingFlag != 0}, true
}

// Children returns the processes whose parent is pid, including those that have ended but were not
// reaped.
func Children(pid int) []int {
	var list []int
	for _, e := range Processes() {
		if e.Parent == pid {
			list = append(list, e.PID)
		}
	}
	return list
}

// readSmall reads the start of a file into buf with as few system calls as possible; it returns
// nothing if the file cannot be read.
func readSmall(path string, buf []byte) []byte {
	fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	defer syscall.Close(fd)
	n, err := syscall.Read(fd, buf)
	if err != nil {
		return nil
	}
	return buf[:n]
}
