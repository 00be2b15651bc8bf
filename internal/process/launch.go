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

// running is a program that was launched. Safe for concurrent use.
type running interface {
	// PID is its process id, for messages.
	PID() int
	// Terminate sends SIGTERM to the program's process group; Kill ends the program and its descendants.
	Terminate()
	Kill()
	// Wait waits until the program and its descendants have ended.
	Wait() ending
}

// ending is how a program ended.
type ending struct {
	// Code is the exit status, -1 where a signal ended the program. State says it in words, such as `exit status 1` or `signal: killed`.
	Code  int
	State string
	left  int  // descendants that could not be killed since they run as another user
	lost  bool // the supervisor itself was killed, so that the exit status is not known
}

// markName is the variable by which what a program leaves behind is known where no supervisor knows it.
const markName = "HOCKET_PROGRAM"

// killAfter is how long Kill may take, a supervisor that does not answer included.
const killAfter = 15 * time.Second

// launch starts cmd, whose standard streams are files.
//
// On Linux it is started below a supervisor, so that no descendant outlives the program or this process (package supervise). Elsewhere, and where this process is a library of
// another program, it is started in a process group: what leaves the group outlives it there, except on Linux, where what still has the program's environment is found.
func launch(cmd *exec.Cmd) (running, error) {
	if canSupervise() {
		return launchSupervised(cmd)
	}
	return launchGroup(cmd)
}

// marked gives the environment with a mark, and the mark.
func marked(env []string) (with []string, mark string) {
	mark = markName + "=" + rand.Text()
	return append(slices.Clone(env), mark), mark
}

// group is a program in a process group of its own.
type group struct {
	cmd   *exec.Cmd
	mark  string
	mu    sync.Mutex
	over  bool // the program was reaped: its process id may be another's
	ended chan struct{}
	end   ending
}

func launchGroup(cmd *exec.Cmd) (running, error) {
	g := &group{cmd: cmd, ended: make(chan struct{})}
	cmd.Env, g.mark = marked(cmd.Env)
	ownGroup(cmd)
	started := make(chan error)
	go func() {
		// The program is killed when the thread that started it ends (Linux), so that thread stays.
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
		g.over = true
		g.mu.Unlock()
		killGroup(cmd.Process.Pid) // it outlives its leader where that left children behind
		killMarked(g.mark)
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return g, nil
}

func endOf(err error) ending {
	if err == nil {
		return ending{State: "exit status 0"}
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() >= 0 {
		return ending{Code: exit.ExitCode(), State: "exit status " + strconv.Itoa(exit.ExitCode())}
	}
	return ending{Code: -1, State: err.Error()}
}

func (g *group) PID() int { return g.cmd.Process.Pid }

func (g *group) Terminate() { g.signal(terminateGroup) }

func (g *group) Kill() { g.signal(killGroup) }

func (g *group) signal(send func(pid int)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.over {
		send(g.cmd.Process.Pid)
	}
}

func (g *group) Wait() ending {
	<-g.ended
	return g.end
}
