package process

import (
	"errors"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/hocket-run/hocket/internal/process/supervise"
)

// protected reports whether this process is a subreaper, so that unknown children were left by
// killed supervisors.
var protected atomic.Bool

// Protect prevents other processes of the same user from reading the memory and the environment of
// this one through /proc (PR_SET_DUMPABLE), unless dumpable is set, as debuggers and core dumps
// need it, and makes this process the parent of descendants left by a killed supervisor. It is for
// programs whose children are all started by this package: other children may be killed. Root can
// still read the process.
func Protect(dumpable bool) error {
	if !dumpable {
		if err := supervise.Prctl(supervise.SetDumpable, 0); err != nil {
			return err
		}
	}
	if err := supervise.Prctl(supervise.SetChildSubreaper, 1); err != nil {
		return err
	}
	protected.Store(true)
	return nil
}

// killOrphans kills and reaps the children of this process that it did not start: descendants of a
// program whose supervisor was killed.
func killOrphans() {
	if !protected.Load() {
		return
	}
	for begin, pause := time.Now(), time.Millisecond; time.Since(begin) < maxKill; pause = min(2*pause,
		100*time.Millisecond) {
		if sweepOnce() == 0 {
			return
		}
		time.Sleep(pause)
	}
}

// sweepOnce kills the children of this process that it did not start, reaps those that have ended,
// and returns the number of such children.
func sweepOnce() int {
	ownSupervisors.Lock() // a supervisor being started is a child that is not yet registered
	defer ownSupervisors.Unlock()
	found := 0
	for _, pid := range supervise.Children(os.Getpid()) {
		if ownSupervisors.pids[pid] {
			continue
		}
		found++
		if group, err := syscall.Getpgid(pid); err == nil && group != syscall.Getpgrp() {
			_ = syscall.Kill(-group, syscall.SIGKILL)
		}
		_ = syscall.Kill(pid, syscall.SIGKILL)
		for {
			if _, err := syscall.Wait4(pid, nil, syscall.WNOHANG, nil); !errors.Is(err, syscall.EINTR) {
				break
			}
		}
	}
	return found
}
