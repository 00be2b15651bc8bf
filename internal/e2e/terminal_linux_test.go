//go:build linux

package e2e_test

import (
	"fmt"
	"os"
	"syscall"
	"testing"
	"time"
	"unsafe"
)

// terminal returns both ends of a terminal: output that a program writes to theirs is read from
// ours.
func terminal(t *testing.T) (ours, theirs *os.File) {
	t.Helper()
	ours, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ours.Close() })
	var number, unlocked uint32
	for request, value := range map[uintptr]*uint32{syscall.TIOCGPTN: &number, syscall.TIOCSPTLCK: &unlocked} {
		if _, _, no := syscall.Syscall(syscall.SYS_IOCTL, ours.Fd(), request, uintptr(unsafe.Pointer(value))); no != 0 {
			t.Fatal(no)
		}
	}
	theirs, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = theirs.Close() })
	return ours, theirs
}

// serveAtTerminal starts the server at a terminal, as a person does, and returns the link that it
// prints there.
func serveAtTerminal(t *testing.T, home string, env []string) (p *process, link string) {
	t.Helper()
	ours, theirs := terminal(t)
	p = newProcess(t, home, env, "serve", "--addr", "127.0.0.1:0")
	p.cmd.Stderr = theirs
	p.launch(t, ours, theirs)
	p.ready(t)
	late := time.After(time.Minute)
	for {
		if link = codeLink.FindString(p.said()); link != "" {
			return p, link
		}
		select {
		case <-p.more:
		case <-p.done:
			t.Fatalf("the server ended: %s", p.said())
		case <-late:
			t.Fatalf("no link is printed: %s", p.said())
		}
	}
}
