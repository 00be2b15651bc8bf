package supervise

import (
	"errors"
	"io"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"
)

// init takes over a process created as a supervisor. It is an init function because those of other
// packages cost several times as much as all the work of a supervisor.
func init() { //nolint:gochecknoinits // see above and ADR 42
	if len(os.Args) == 2 && os.Args[0] == Name {
		syscall.Exit(supervise()) // not os.Exit, in which the race detector sleeps for a second
	}
}

// unkillableWait is how long to wait for processes that may not be killed before the end is
// reported.
const unkillableWait = 5 * time.Second

// Options of Prctl.
const (
	SetDumpable       = 4
	SetChildSubreaper = 36
)

// Prctl sets an attribute of this process.
func Prctl(option, arg uintptr) error {
	if _, _, errno := syscall.Syscall6(syscall.SYS_PRCTL, option, arg, 0, 0, 0, 0); errno != 0 {
		return os.NewSyscallError("prctl", errno)
	}
	return nil
}

// supervisor is the state of a supervisor process. Its methods are called from one goroutine, so
// that a process id is not used after the process was reaped.
type supervisor struct {
	control  *os.File
	program  int
	status   syscall.WaitStatus
	running  bool // the program has not been reaped yet
	ending   bool // everything must be killed
	reported bool // the end was reported
	denied   int  // children that the last pass was not allowed to kill
	since    time.Time
}

// supervise runs one program and returns the exit status of the supervisor: 0, or 2 if nothing was
// started.
func supervise() int {
	for _, err := range []error{setName(Comm), Prctl(SetDumpable, 0), Prctl(SetChildSubreaper, 1)} {
		if err != nil {
			return 2
		}
	}
	closeOnExec()
	s := &supervisor{control: os.NewFile(ControlFD, "control")}
	// Handled rather than ignored: an ignored signal stays ignored in the program.
	stop, reap := make(chan os.Signal, 1), make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM)
	signal.Notify(reap, syscall.SIGCHLD)
	if err := s.start(); err != nil {
		errno, ok := errors.AsType[syscall.Errno](err)
		if !ok {
			errno = syscall.EIO
		}
		s.sendMessage(MsgFailed, uint32(errno), 0)
		return 2
	}
	s.sendMessage(MsgStarted, uint32(s.program), 0)
	commands := make(chan byte)
	go s.listen(commands)
	for again := time.Duration(0); ; {
		var timer <-chan time.Time
		if s.ending {
			timer = time.After(again)
		}
		select {
		case c := <-commands:
			s.obey(c)
		case <-stop:
			s.ending = true
		case <-reap:
		case <-timer:
		}
		if s.reap() {
			s.end(0)
			return 0
		}
		if s.ending {
			again = s.kill()
		}
	}
}

// setName sets the name by which starting processes find this supervisor.
func setName(text string) error {
	return os.WriteFile("/proc/self/comm", []byte(text), 0)
}

// closeOnExec prevents the program from inheriting the supervisor's descriptors.
func closeOnExec() {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		syscall.CloseOnExec(ControlFD)
		return
	}
	for _, e := range entries {
		if fd, err := strconv.Atoi(e.Name()); err == nil && fd >= ControlFD {
			syscall.CloseOnExec(fd)
		}
	}
}

// start reads the program and starts it with the supervisor's standard streams, which it then
// closes so that their readers see the end.
func (s *supervisor) start() error {
	var size [4]byte
	if _, err := io.ReadFull(s.control, size[:]); err != nil {
		return err
	}
	data := make([]byte, toNumber(size))
	if _, err := io.ReadFull(s.control, data); err != nil {
		return err
	}
	p, ok := Decode(string(data))
	if !ok {
		return syscall.EINVAL
	}
	var err error
	s.program, err = syscall.ForkExec(p.Path, p.Argv, &syscall.ProcAttr{
		Dir: p.Dir, Env: p.Env, Files: []uintptr{0, 1, 2},
		Sys: &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL},
	})
	if err != nil {
		return err
	}
	s.running = true
	null, err := syscall.Open(os.DevNull, syscall.O_RDWR|syscall.O_CLOEXEC, 0)
	for fd := range 3 {
		if err != nil || syscall.Dup3(null, fd, 0) != nil {
			_ = syscall.Close(fd)
		}
	}
	return nil
}

// listen forwards commands; the end of the socket means that Hocket has ended.
func (s *supervisor) listen(commands chan<- byte) {
	var b [1]byte
	for {
		if _, err := io.ReadFull(s.control, b[:]); err != nil {
			commands <- CmdKill
			return
		}
		commands <- b[0]
	}
}

func (s *supervisor) obey(command byte) {
	switch {
	case command == CmdKill:
		s.ending = true
	case command == CmdTerminate && s.running:
		_ = syscall.Kill(-s.program, syscall.SIGTERM)
	}
}

// reap reaps the children that have ended and reports whether there are none left.
func (s *supervisor) reap() (none bool) {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			return true
		case pid == 0:
			return false
		case pid == s.program:
			s.status, s.running, s.ending = status, false, true
		}
	}
}

// kill kills all children, and their process groups, and returns the delay before the next pass:
// killed processes may have started others, which become children when their parents have ended.
// Groups are killed because a group cannot gain members while it is being killed.
func (s *supervisor) kill() time.Duration {
	if s.since.IsZero() {
		s.since = time.Now()
	}
	s.denied = 0
	own := syscall.Getpgrp()
	for _, pid := range Children(os.Getpid()) {
		if group, err := syscall.Getpgid(pid); err == nil && group != own {
			_ = syscall.Kill(-group, syscall.SIGKILL)
		}
		if errors.Is(syscall.Kill(pid, syscall.SIGKILL), syscall.EPERM) {
			s.denied++
		}
	}
	waited := time.Since(s.since)
	if s.denied > 0 && waited > unkillableWait {
		s.end(s.denied)
	}
	return min(max(time.Millisecond, waited/4), 200*time.Millisecond)
}

// end reports the end once. If processes are left, it changes the name by which starting processes
// find supervisors to wait for, since those processes may never end.
func (s *supervisor) end(left int) {
	if left > 0 {
		_ = setName(gaveUp) // at worst starts wait in vain
	}
	if !s.reported {
		s.reported = true
		status := s.status
		if s.running {
			status = syscall.WaitStatus(syscall.SIGKILL)
		}
		s.sendMessage(MsgEnded, uint32(status), uint32(left))
	}
}

// sendMessage sends a message. If Hocket has ended, the message is not read.
func (s *supervisor) sendMessage(kind byte, a, b uint32) {
	_, _ = s.control.Write(Message{kind, a, b}.Encode())
}
