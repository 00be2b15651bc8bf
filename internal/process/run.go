package process

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"

	"github.com/hocket-run/hocket/internal/descriptors"
)

// Program is a program to be run to its end.
type Program struct {
	// Argv is the program and its arguments. Shell is a line for the system's shell (/bin/sh,
	// cmd.exe) instead.
	Argv  []string
	Shell string
	// Dir is the folder in which it starts; "" means the parent's. Env is its whole environment.
	Dir string
	Env []string
	// Stdin is its standard input; if empty, it reads the end immediately.
	Stdin []byte
	// MaxBytes is the number of bytes kept of its standard output and of its standard error, each:
	// the first half and the last half; 0 means 64 KiB. The omitted part is still read, so that the
	// program does not block.
	MaxBytes int
	// Grace is the time between SIGTERM and SIGKILL when the context is done; 0 means 1 s.
	Grace time.Duration
	// Started is called once the program runs, with a function that returns the output so far; said
	// may be called at any time, even after the program has ended. If nil, Started is not called.
	Started func(said func() Outcome)
}

// Outcome is how a program ended, and its output. The output is unchanged except for bytes that are
// not UTF-8; a note in the middle describes the omitted part.
type Outcome struct {
	Stdout, Stderr string
	// Code is the exit status, or -1 if a signal ended it or it is still running; State describes
	// it.
	Code  int
	State string
	// Dropped is the number of bytes omitted from both outputs.
	Dropped int64
}

const (
	defaultMaxBytes = 64 << 10
	defaultGrace    = time.Second
)

// Run runs a program to its end, and ends its descendants with it, see [launch]. When ctx is done
// the program's process group gets SIGTERM and, Grace later, the program and its descendants are
// killed. Run returns when they are gone, and leaves no goroutine behind. It is safe for concurrent
// use.
//
// It returns an error if the program could not be started, and an error that wraps ctx's cause if
// ctx was done first, with the Outcome so far. A failing program is not an error.
func Run(ctx context.Context, p Program) (Outcome, error) { return p.run(ctx, launch) }

func (p Program) run(ctx context.Context, launch func(*exec.Cmd) (running, error)) (Outcome, error) {
	if err := ctx.Err(); err != nil {
		return Outcome{}, context.Cause(ctx)
	}
	if p.Shell == "" && len(p.Argv) == 0 {
		return Outcome{}, errors.New("no program given")
	}
	program, pipes, err := p.start(ctx, launch)
	if err != nil {
		return Outcome{}, err
	}
	for _, f := range pipes.child {
		_ = f.Close()
	}
	stdout := &capture{max: cmp.Or(p.MaxBytes, defaultMaxBytes)}
	stderr := &capture{max: stdout.max}
	said := func() Outcome {
		o := Outcome{Code: -1, State: "running"}
		var more int64
		o.Stdout, o.Dropped = stdout.text()
		o.Stderr, more = stderr.text()
		o.Dropped += more
		return o
	}
	if p.Started != nil {
		p.Started(said)
	}
	fed, read, ended := make(chan struct{}), make(chan struct{}, 2), make(chan exitStatus, 1)
	go func() {
		defer close(fed)
		_, _ = pipes.parent[0].Write(p.Stdin) // a program need not read its input
		_ = pipes.parent[0].Close()
	}()
	for i, c := range []*capture{stdout, stderr} {
		go func() {
			c.readAll(pipes.parent[i+1])
			read <- struct{}{}
		}()
	}
	go func() { ended <- program.Wait() }()

	end, stopped := wait(ctx, program, ended, cmp.Or(p.Grace, defaultGrace))
	// A descendant that could not be ended may hold the pipes forever.
	deadline := time.Now().Add(drainAfter)
	for _, f := range pipes.parent {
		_ = f.SetDeadline(deadline)
	}
	_ = pipes.parent[0].Close()
	<-fed
	<-read
	<-read
	pipes.close()
	out := said()
	out.Code, out.State = end.Code, end.State
	return out, stopped
}

// start starts the program. If no file descriptor is left, it waits for some, because those of
// other programs become free when they end.
func (p Program) start(ctx context.Context, launch func(*exec.Cmd) (running, error)) (
	program running, pipes *pipes, err error) {
	err = descriptors.Wait(ctx, nil, "", func() (err error) {
		program, pipes, err = p.tryStart(launch)
		return err
	})
	return program, pipes, err
}

func (p Program) tryStart(launch func(*exec.Cmd) (running, error)) (running, *pipes, error) {
	var cmd *exec.Cmd
	if p.Shell != "" {
		cmd = shellCommand(p.Shell)
	} else {
		cmd = exec.Command(p.Argv[0], p.Argv[1:]...) //nolint:noctx // ctx ends it by its group
	}
	cmd.Dir, cmd.Env = p.Dir, p.Env
	pipes, err := newPipes()
	if err != nil {
		return nil, nil, err
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = pipes.child[0], pipes.child[1], pipes.child[2]
	program, err := launch(cmd)
	if err != nil {
		pipes.close()
		return nil, nil, fmt.Errorf("start program: %w", err)
	}
	return program, pipes, nil
}

// wait waits for the end of a program, and ends it when ctx is done.
func wait(ctx context.Context, program running, ended <-chan exitStatus, grace time.Duration) (
	end exitStatus, stopped error) {
	select {
	case end = <-ended:
		return end, nil
	case <-ctx.Done():
	}
	stopped = fmt.Errorf("program was stopped: %w", context.Cause(ctx))
	program.Terminate()
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case end = <-ended:
		return end, stopped
	case <-timer.C:
	}
	program.Kill()
	return <-ended, stopped
}

// pipes are the standard streams of a program: standard input, output and error.
type pipes struct{ child, parent [3]*os.File }

func newPipes() (*pipes, error) {
	var p pipes
	for i := range 3 {
		r, w, err := os.Pipe()
		if err != nil {
			p.close()
			return nil, err
		}
		p.child[i], p.parent[i] = w, r
		if i == 0 {
			p.child[i], p.parent[i] = r, w
		}
	}
	return &p, nil
}

// close closes the files that are open; closing again has no effect.
func (p *pipes) close() {
	for _, f := range append(p.child[:], p.parent[:]...) {
		if f != nil {
			_ = f.Close()
		}
	}
}
