package process

import (
	"crypto/rand"
	"errors"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"time"
)

// running is a launched program. It is safe for concurrent use.
type running interface {
	// PID returns its process id, for messages.
	PID() int
	// Terminate sends SIGTERM to the program's process group; Kill ends the program and its
	// descendants.
	Terminate()
	Kill()
	// Wait waits until the program and its descendants have ended.
	Wait() exitStatus
}

// exitStatus is the outcome of a program.
type exitStatus struct {
	// Code is the exit status, or -1 if a signal ended the program. State describes it, such as
	// `exit status 1` or `signal: killed`.
	Code             int
	State            string
	unkillable       int  // descendants that could not be killed because they run as another user
	supervisorKilled bool // the supervisor itself was killed, so the exit status is unknown
}

// markName is the environment variable that identifies a program's remaining descendants if no
// supervisor knows them.
const markName = "HOCKET_PROGRAM"

// killAfter is how long Kill may take, including for a supervisor that does not respond.
const killAfter = 15 * time.Second

// launch starts cmd, whose standard streams are files.
//
// On Linux it is started under a supervisor, so that no descendant outlives the program or this
// process (package supervise). On other systems, and if this process is a library of another
// program, it is started in a process group: descendants that leave the group outlive it there,
// except on Linux, where those that still have the program's environment are found.
func launch(cmd *exec.Cmd) (running, error) {
	if canSupervise() {
		return launchSupervised(cmd)
	}
	return launchGroup(cmd)
}

// marked returns env with a mark added, and the mark.
func marked(env []string) (with []string, mark string) {
	mark = markName + "=" + rand.Text()
	return append(slices.Clone(env), mark), mark
}

// group is a program in its own process group.
type group struct {
	cmd    *exec.Cmd
	mark   string
	mu     sync.Mutex
	reaped bool // the program was reaped: its process id may be reused
	ended  chan struct{}
	end    exitStatus
}

func launchGroup(cmd *exec.Cmd) (running, error) {
	g := &group{cmd: cmd, ended: make(chan struct{})}
	cmd.Env, g.mark = marked(cmd.Env)
	ownGroup(cmd)
	started := make(chan error)
	go func() {
		// The program is killed when the thread that started it ends (Linux), so that thread is
		// kept.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err != nil {
			return
		}
		defer close(g.ended)
		g.end = endOf(cmd.Wait())
		g.mu.Lock()
		g.reaped = true
		g.mu.Unlock()
		killGroup(cmd.Process.Pid) // it outlives its leader if that left children behind
		killMarked(g.mark)
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return g, nil
}

func endOf(err error) exitStatus {
	if err == nil {
		return exitStatus{State: "exit status 0"}
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() >= 0 {
		return exitStatus{Code: exit.ExitCode(), State: "exit status " + strconv.Itoa(exit.ExitCode())}
	}
	return exitStatus{Code: -1, State: err.Error()}
}

func (g *group) PID() int { return g.cmd.Process.Pid }

func (g *group) Terminate() { g.signal(terminateGroup) }

func (g *group) Kill() { g.signal(killGroup) }

func (g *group) signal(send func(pid int)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.reaped {
		send(g.cmd.Process.Pid)
	}
}

func (g *group) Wait() exitStatus {
	<-g.ended
	return g.end
}
