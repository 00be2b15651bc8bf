package process

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"
)

// Program is a program that is run to its end.
type Program struct {
	// Argv is the program and its arguments. Shell is a line for the system's shell (/bin/sh, cmd.exe) instead.
	Argv  []string
	Shell string
	// Dir is the folder it starts in; "": ours. Env is its whole environment.
	Dir string
	Env []string
	// Stdin is what it can read; nothing: it finds the end at once.
	Stdin []byte
	// MaxBytes is how much is kept of its standard output and of its standard error, each: the first half and the last; 0: 64 KiB. What is left
	// out is read nevertheless, so that the program is not held up.
	MaxBytes int
	// Grace is the time between SIGTERM and SIGKILL when the context is done; 0: 1 s.
	Grace time.Duration
	// Started is called once the program runs, with a function that gives what was said so far; that one may be called at any time, also when the
	// program has ended. nil: not asked.
	Started func(said func() Outcome)
}

// Outcome is how a program ended and what it said. Its texts are as they came, but for bytes that are no UTF-8; a note in their middle says what was left out.
type Outcome struct {
	Stdout, Stderr string
	// Code is the exit status, -1 where a signal ended it or it still runs; State says it in words.
	Code  int
	State string
	// Dropped counts the bytes that are left out of both texts.
	Dropped int64
}

const (
	defaultMaxBytes = 64 << 10
	defaultGrace    = time.Second
)

// Run runs a program to its end, and ends its descendants with it, see [launch]. When ctx is done the program's process group gets SIGTERM and, Grace later, the program
// and its descendants are killed. Run returns when they are gone, and leaves no goroutine behind. Safe for concurrent use.
//
// Errors: what kept the program from starting; an error that wraps ctx's cause when ctx was done first, with the Outcome so far. A program that fails
// is no error.
func Run(ctx context.Context, p Program) (Outcome, error) { return p.run(ctx, launch) }

func (p Program) run(ctx context.Context, launch func(*exec.Cmd) (running, error)) (Outcome, error) {
	if err := ctx.Err(); err != nil {
		return Outcome{}, context.Cause(ctx)
	}
	var cmd *exec.Cmd
	switch {
	case p.Shell != "":
		cmd = shellCommand(p.Shell)
	case len(p.Argv) > 0:
		cmd = exec.Command(p.Argv[0], p.Argv[1:]...) //nolint:noctx // ctx ends it by its group
	default:
		return Outcome{}, errors.New("no program given")
	}
	cmd.Dir, cmd.Env = p.Dir, p.Env
	pipes, err := newPipes()
	if err != nil {
		return Outcome{}, err
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = pipes.theirs[0], pipes.theirs[1], pipes.theirs[2]
	program, err := launch(cmd)
	if err != nil {
		pipes.close()
		return Outcome{}, fmt.Errorf("start program: %w", err)
	}
	for _, f := range pipes.theirs {
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
	fed, read, ended := make(chan struct{}), make(chan struct{}, 2), make(chan ending, 1)
	go func() {
		defer close(fed)
		_, _ = pipes.ours[0].Write(p.Stdin) // a program need not read
		_ = pipes.ours[0].Close()
	}()
	for i, c := range []*capture{stdout, stderr} {
		go func() {
			c.readAll(pipes.ours[i+1])
			read <- struct{}{}
		}()
	}
	go func() { ended <- program.Wait() }()

	end, stopped := wait(ctx, program, ended, cmp.Or(p.Grace, defaultGrace))
	// What could not be ended may hold the pipes for ever.
	deadline := time.Now().Add(drainAfter)
	for _, f := range pipes.ours {
		_ = f.SetDeadline(deadline)
	}
	_ = pipes.ours[0].Close()
	<-fed
	<-read
	<-read
	pipes.close()
	out := said()
	out.Code, out.State = end.Code, end.State
	return out, stopped
}

// wait waits for the end of a program, which it brings about when ctx is done.
func wait(ctx context.Context, program running, ended <-chan ending, grace time.Duration) (end ending, stopped error) {
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
type pipes struct{ theirs, ours [3]*os.File }

func newPipes() (*pipes, error) {
	var p pipes
	for i := range 3 {
		r, w, err := os.Pipe()
		if err != nil {
			p.close()
			return nil, err
		}
		p.theirs[i], p.ours[i] = w, r
		if i == 0 {
			p.theirs[i], p.ours[i] = r, w
		}
	}
	return &p, nil
}

// close closes what is open; closing again does no harm.
func (p *pipes) close() {
	for _, f := range append(p.theirs[:], p.ours[:]...) {
		if f != nil {
			_ = f.Close()
		}
	}
}
