package process

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"runtime/debug"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/hocket-run/hocket/internal/process/supervise"
)

// supervised is a program started under a supervisor. It implements running.
type supervised struct {
	pid     int // of the program
	mark    string
	super   *exec.Cmd
	control *os.File
	ended   chan struct{}
	end     exitStatus
}

// ErrEnding is returned by a start if the programs of a killed Hocket process do not end.
var ErrEnding = errors.New("programs of a Hocket process that has ended are still running")

const (
	// maxEnding is the maximum wait for the supervisors of other Hocket processes that have ended.
	maxEnding = 30 * time.Second
	// maxStart is the maximum time in which a supervisor must start its program.
	maxStart = 2 * time.Minute
	// continueEvery is the interval at which SIGCONT is sent to a supervisor that has not reported
	// the start of its program.
	continueEvery = 100 * time.Millisecond
	// maxKill is the maximum time in which a supervisor must end everything before it is killed
	// itself.
	maxKill = 10 * time.Second
)

// canSupervise reports whether programs can be supervised here: on Linux, if this process is its
// own executable rather than a library in another one.
var canSupervise = sync.OnceValue(func() bool {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return false
	}
	for _, s := range info.Settings {
		if s.Key == "-buildmode" && s.Value != "exe" && s.Value != "pie" && s.Value != "default" {
			return false
		}
	}
	_, err := os.Stat(executable)
	return err == nil
})

// executable is this program, even if its file has been replaced.
const executable = "/proc/self/exe"

// ownSupervisors are the supervisors started by this process, which sweepOnce does not kill.
var ownSupervisors = struct {
	sync.Mutex
	pids map[int]bool
}{pids: map[int]bool{}}

// launchSupervised starts cmd, whose standard streams are files, under a supervisor. Errors: those
// of cmd.Start, and ErrEnding.
func launchSupervised(cmd *exec.Cmd) (running, error) {
	if cmd.Err != nil {
		return nil, cmd.Err
	}
	env, mark := marked(cmd.Env)
	spec, ok := supervise.Program{Path: cmd.Path, Argv: cmd.Args, Dir: cmd.Dir, Env: env}.Encode()
	if !ok {
		return nil, &fs.PathError{Op: "fork/exec", Path: cmd.Path, Err: syscall.EINVAL}
	}
	if err := othersEnded(); err != nil {
		return nil, err
	}
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("socketpair", err)
	}
	theirs := os.NewFile(uintptr(fds[1]), "control")
	if err := syscall.SetNonblock(fds[0], true); err != nil {
		_ = theirs.Close()
		_ = syscall.Close(fds[0])
		return nil, os.NewSyscallError("set nonblocking", err)
	}
	c := &supervised{mark: mark, control: os.NewFile(uintptr(fds[0]), "control"), ended: make(chan struct{})}
	c.super = &exec.Cmd{
		Path: executable, Args: []string{supervise.Name, strconv.Itoa(os.Getpid())},
		Env:   []string{"GOMAXPROCS=1", "GOTRACEBACK=none"},
		Stdin: cmd.Stdin, Stdout: cmd.Stdout, Stderr: cmd.Stderr, ExtraFiles: []*os.File{theirs},
		// Its own session: no group of ours can be joined, and there is no terminal. A stopped
		// supervisor continues when this process ends.
		SysProcAttr: &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGCONT},
	}
	ownSupervisors.Lock()
	if err = c.super.Start(); err == nil {
		ownSupervisors.pids[c.super.Process.Pid] = true
	}
	ownSupervisors.Unlock()
	_ = theirs.Close() // otherwise the supervisor's end would go unnoticed
	if err != nil {
		_ = c.control.Close()
		return nil, fmt.Errorf("start the supervisor of a program: %w", err)
	}
	if err := c.begin(cmd.Path, spec); err != nil {
		c.destroy()
		c.awaitSupervisor()
		c.endLost()
		return nil, err
	}
	go c.watch()
	return c, nil
}

// begin sends the program and waits for its start.
func (c *supervised) begin(path string, spec []byte) error {
	if err := c.control.SetDeadline(time.Now().Add(maxStart)); err != nil {
		return err
	}
	done := make(chan struct{})
	defer close(done)
	go c.keepContinued(done)
	if _, err := c.control.Write(spec); err != nil {
		return fmt.Errorf("hand a program to its supervisor: %w", err)
	}
	m, err := c.message()
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET):
		return nil // it was killed, possibly by the program; watch reports it
	case err != nil:
		return fmt.Errorf("the supervisor of a program did not start it: %w", err)
	case m.Kind == supervise.MsgFailed:
		return &fs.PathError{Op: "fork/exec", Path: path, Err: syscall.Errno(m.A)}
	case m.Kind != supervise.MsgStarted:
		return fmt.Errorf("the supervisor of a program gave an unknown answer %q", m.Kind)
	}
	c.pid = int(m.A)
	return c.control.SetDeadline(time.Time{})
}

func (c *supervised) message() (supervise.Message, error) {
	var b [supervise.MessageBytes]byte
	_, err := io.ReadFull(c.control, b[:])
	return supervise.DecodeMessage(b), err
}

// watch waits for the end.
func (c *supervised) watch() {
	m, err := c.message()
	c.end = exitStatus{supervisorKilled: true, Code: -1, State: "its supervisor was killed"}
	if err == nil && m.Kind == supervise.MsgEnded {
		c.end = endOfStatus(syscall.WaitStatus(m.A), int(m.B))
	}
	if c.end.unkillable > 0 {
		close(c.ended) // the supervisor stays for processes it may not kill
		c.awaitSupervisor()
		return
	}
	timer := time.AfterFunc(maxKill, c.destroy)
	c.awaitSupervisor()
	timer.Stop()
	if c.end.supervisorKilled {
		c.endLost()
	}
	close(c.ended)
}

// endLost ends the processes left by a killed supervisor.
func (c *supervised) endLost() {
	killOrphans()
	killMarked(c.mark) // in a program that embeds Hocket, they do not become children of this process
}

// keepContinued sends SIGCONT to the supervisor until done is closed: the program may stop it
// before it has reported the start.
func (c *supervised) keepContinued(done <-chan struct{}) {
	ticker := time.NewTicker(continueEvery)
	defer ticker.Stop()
	for {
		select {
		case <-done:
			return
		case <-ticker.C:
			_ = c.super.Process.Signal(syscall.SIGCONT) // no effect if it has ended
		}
	}
}

// awaitSupervisor waits for the end of the supervisor.
func (c *supervised) awaitSupervisor() {
	_ = c.control.Close()
	_ = c.super.Wait() // its status adds nothing to its message
	ownSupervisors.Lock()
	delete(ownSupervisors.pids, c.super.Process.Pid)
	ownSupervisors.Unlock()
}

func endOfStatus(s syscall.WaitStatus, left int) exitStatus {
	e := exitStatus{Code: s.ExitStatus(), State: "exit status " + strconv.Itoa(s.ExitStatus()), unkillable: left}
	if s.Signaled() {
		e.Code, e.State = -1, "signal: "+s.Signal().String()
		if s.CoreDump() {
			e.State += " (core dumped)"
		}
	}
	if left > 0 {
		e.State += fmt.Sprintf("; %d processes that run as another user could not be ended", left)
	}
	return e
}

// PID returns the process id of the program, for messages.
func (c *supervised) PID() int { return c.pid }

// Terminate sends SIGTERM to the program's process group.
func (c *supervised) Terminate() { c.send(supervise.CmdTerminate) }

// Kill ends the program and all its descendants. Wait returns when they are gone.
func (c *supervised) Kill() {
	c.send(supervise.CmdKill)
	timer := time.AfterFunc(maxKill, c.destroy)
	go func() {
		<-c.ended
		timer.Stop()
	}()
}

// send sends a command. Failures are left to the end of the socket: a supervisor that is gone needs
// no command.
func (c *supervised) send(command byte) {
	_, _ = c.control.Write([]byte{command})
	_ = c.super.Process.Signal(syscall.SIGCONT) // a program may have stopped it
}

// destroy kills a supervisor that does not respond, such as one that a program keeps stopped. watch
// finds the processes that it leaves.
func (c *supervised) destroy() { _ = c.super.Process.Kill() }

// Wait waits until the program and all its descendants are gone.
func (c *supervised) Wait() exitStatus {
	<-c.ended
	return c.end
}

// othersEnded waits until the programs of ended Hocket processes are gone: a program started now
// may repeat what they were doing.
func othersEnded() error {
	for begin, pause := time.Now(), time.Millisecond; ; pause = min(2*pause, 100*time.Millisecond) {
		list := orphaned()
		switch {
		case len(list) == 0:
			return nil
		case time.Since(begin) > maxEnding:
			return fmt.Errorf("%w: supervisor %d did not end within %s", ErrEnding, list[0], maxEnding)
		}
		time.Sleep(pause)
	}
}
