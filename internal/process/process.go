package process

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/hocket-run/hocket/internal/descriptors"
)

// drainAfter is how long the pipes of an ended process are still read: a descendant that could not
// be ended may hold them open forever.
const drainAfter = time.Second

// Process is a started program, with our ends of its standard input and output. It ends with all
// its descendants, see [launch]. It is safe for concurrent use to the extent that files are.
type Process struct {
	Stdin, Stdout *os.File

	program running
	// gone is closed when the process and all its descendants have ended and its standard error was
	// read to the end. state is set then.
	gone  chan struct{}
	state string
	last  lastLines
}

// Start starts argv in dir ("" means ours) with env as its whole environment. onLine receives each
// line of its standard error, from one goroutine. If no file descriptor is left, Start waits for
// one, until ctx is done at the latest, and logs that; a nil log means no logging. The process does
// not end with ctx.
func Start(ctx context.Context, argv []string, dir string, env []string, log *slog.Logger, onLine func(string)) (
	*Process, error) {
	return startWith(ctx, argv, dir, env, log, launch, onLine)
}

func startWith(ctx context.Context, argv []string, dir string, env []string, log *slog.Logger,
	launch func(*exec.Cmd) (running, error), onLine func(string)) (p *Process, err error) {
	err = descriptors.Wait(ctx, log, argv[0], func() (err error) {
		p, err = tryStart(argv, dir, env, launch, onLine)
		return err
	})
	return p, err
}

func tryStart(argv []string, dir string, env []string, launch func(*exec.Cmd) (running, error), onLine func(string)) (
	*Process, error) {
	cmd := exec.Command(argv[0], argv[1:]...) //nolint:noctx // it outlives the call that starts it, and ends by Stop
	cmd.Dir, cmd.Env = dir, env

	// Our own pipes rather than the Cmd's: its Wait would close them while the last output is still
	// unread.
	var files []*os.File
	pipe := func() (r, w *os.File, err error) {
		r, w, err = os.Pipe()
		if err == nil {
			files = append(files, r, w)
		}
		return r, w, err
	}
	closeAll := func() {
		for _, f := range files {
			_ = f.Close()
		}
	}
	inR, inW, err1 := pipe()
	outR, outW, err2 := pipe()
	errR, errW, err3 := pipe()
	if err := errors.Join(err1, err2, err3); err != nil {
		closeAll()
		return nil, err
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = inR, outW, errW
	program, err := launch(cmd)
	if err != nil {
		closeAll()
		return nil, err
	}
	for _, f := range []*os.File{inR, outW, errW} {
		_ = f.Close()
	}
	p := &Process{program: program, Stdin: inW, Stdout: outR, gone: make(chan struct{})}
	read := make(chan struct{})
	go func() {
		defer close(read)
		p.readErrors(errR, onLine)
	}()
	go func() {
		defer close(p.gone)
		end := program.Wait()
		deadline := time.Now().Add(drainAfter)
		_ = outR.SetReadDeadline(deadline)
		_ = errR.SetReadDeadline(deadline)
		<-read
		_ = errR.Close()
		p.state = end.State
	}()
	return p, nil
}

// readErrors forwards what the process writes to standard error, line by line. A line that is too
// long is forwarded in pieces.
func (p *Process) readErrors(f *os.File, onLine func(string)) {
	br := bufio.NewReaderSize(&lateReader{f: f}, 4096)
	for {
		line, _, err := br.ReadLine()
		if len(line) > 0 {
			text := strings.ToValidUTF8(string(line), "\uFFFD")
			p.last.add(text)
			onLine(text)
		}
		if err != nil {
			return
		}
	}
}

// Kill ends the process and its children immediately and makes pending reads and writes return.
// Once the process is gone no signal is sent: its process id may be reused by then.
func (p *Process) Kill() {
	select {
	case <-p.gone:
	default:
		p.program.Kill()
	}
	_ = p.Stdin.Close()
	_ = p.Stdout.Close()
}

// Stop ends the process in steps grace apart: its input is closed, then it gets SIGTERM, then it
// and its descendants are killed. It returns when everything is gone.
func (p *Process) Stop(grace time.Duration) error {
	_ = p.Stdin.Close()
	if p.WaitFor(grace) {
		return nil
	}
	p.program.Terminate()
	if p.WaitFor(grace) {
		return nil
	}
	p.Kill()
	if p.WaitFor(grace + killAfter) {
		return nil
	}
	return fmt.Errorf("process %d did not exit", p.program.PID())
}

// ExitMessage describes how an exited process ended, with the end of its standard error.
func (p *Process) ExitMessage(red Redactor) string {
	text := "ended (" + p.state + ")"
	if words := p.last.String(); words != "" {
		text += ", last output: " + red.Text(words)
	}
	return text
}

// WaitFor waits at most d for the process to be gone, and reports whether it is.
func (p *Process) WaitFor(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-p.gone:
		_ = p.Stdout.Close()
		return true
	case <-t.C:
		return false
	}
}

// Gone returns a channel that is closed when the process and all its descendants have ended, and
// its standard error was read to the end.
func (p *Process) Gone() <-chan struct{} { return p.gone }

// Note adds a line to the process's last lines, in addition to its standard error.
func (p *Process) Note(line string) { p.last.add(line) }

// StderrTail returns the end of the process's standard error and of the noted lines, at most 1 KiB.
func (p *Process) StderrTail() string { return p.last.String() }

// lastLines keeps the end of the output, for error messages.
type lastLines struct {
	mu   sync.Mutex
	text string
}

const maxLastBytes = 1024

func (l *lastLines) add(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = strings.TrimSpace(l.text + "\n" + line)
	if over := len(l.text) - maxLastBytes; over > 0 {
		l.text = strings.ToValidUTF8("…"+l.text[over:], "")
	}
}

func (l *lastLines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text
}
