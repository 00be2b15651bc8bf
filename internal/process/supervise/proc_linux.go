package supervise

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// Entry is what /proc/N/stat says of a process.
type Entry struct {
	PID, Parent int
	Comm        string
	state       byte // Z and X have ended
	exiting     bool
}

// Ended tells whether it has ended, whether or not it was reaped.
func (e Entry) Ended() bool { return e.state == 'Z' || e.state == 'X' || e.exiting }

// exitingFlag is PF_EXITING of the flags of a process.
const exitingFlag = 4

// Processes gives all processes that can be seen; what ends meanwhile may be missing.
func Processes() []Entry {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1) // what could be read is better than nothing
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

// Look reads what is known of one process; false where there is none.
func Look(pid int) (Entry, bool) {
	var buf [512]byte
	data := readSmall("/proc/"+strconv.Itoa(pid)+"/stat", buf[:])
	// `12 (any text) S 1 …`: the text may hold brackets and blanks.
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
	return Entry{PID: pid, Parent: parent, Comm: string(data[begin+1 : end]), state: f[0][0], exiting: flags&exitingFlag != 0}, true
}

// Children gives the processes whose parent is pid, those that have ended and were not reaped among them.
func Children(pid int) []int {
	var list []int
	for _, e := range Processes() {
		if e.Parent == pid {
			list = append(list, e.PID)
		}
	}
	return list
}

// readSmall reads the beginning of a file into buf with as few system calls as can be; nothing where it cannot be read.
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
