//go:build unix

package pgtest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"strings"
	"syscall"
)

// account returns the user that the servers run as; nil means the user of the tests. PostgreSQL
// does not run as root.
func account() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err := strconv.ParseUint(u.Uid, 10, 32)
		if err != nil {
			return nil, err
		}
		gid, err := strconv.ParseUint(u.Gid, 10, 32)
		if err != nil {
			return nil, err
		}
		return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
	}
	return nil, errors.New("the tests run as root, and there is no user postgres or nobody to run a server as")
}

// chownToServer makes the server account the owner of a file.
func chownToServer(path string) error {
	as, err := account()
	if err != nil || as == nil {
		return err
	}
	return os.Chown(path, int(as.Uid), int(as.Gid))
}

// asServer makes a command run as the server account, in its own session, so that terminal signals
// do not reach it.
func asServer(c *exec.Cmd) error {
	as, err := account()
	if err != nil {
		return err
	}
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Credential: as}
	return nil
}

// asWatcher makes a command run in its own session.
func asWatcher(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

// ended reports whether a child of this process has ended, without waiting for it. It returns true
// only once: then the process id is free.
func ended(pid int) bool {
	var status syscall.WaitStatus
	for {
		got, err := syscall.Wait4(pid, &status, syscall.WNOHANG, nil)
		if !errors.Is(err, syscall.EINTR) {
			return got == pid || err != nil
		}
	}
}

// wait waits for a child of this process to end.
func wait(pid int) {
	var status syscall.WaitStatus
	for {
		if _, err := syscall.Wait4(pid, &status, 0, nil); !errors.Is(err, syscall.EINTR) {
			return
		}
	}
}

// stopSignal returns the signal that stops a server in a mode.
func stopSignal(m Mode) os.Signal {
	return map[Mode]os.Signal{Fast: syscall.SIGINT, Immediate: syscall.SIGQUIT, Kill: syscall.SIGKILL}[m]
}

// send sends a signal to a child of this process, and SIGKILL also to its children: they are the
// sessions of a server, which would otherwise end later by themselves.
func send(pid int, s os.Signal) error {
	var children []int
	if s == syscall.SIGKILL {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
		if err == nil { // on systems other than Linux they end by themselves
			for f := range strings.FieldsSeq(string(text)) {
				child, err := strconv.Atoi(f)
				if err != nil {
					return err
				}
				children = append(children, child)
			}
		}
	}
	err := syscall.Kill(pid, s.(syscall.Signal))
	for _, child := range children {
		if e := syscall.Kill(child, syscall.SIGKILL); e != nil && !errors.Is(e, syscall.ESRCH) {
			err = errors.Join(err, e)
		}
	}
	return err
}
