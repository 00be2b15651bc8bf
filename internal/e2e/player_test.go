//go:build unix

package e2e_test

import (
	"bytes"
	"encoding/json"
	"io"
	"os/exec"
	"sync"
	"syscall"
	"testing"
	"time"
)

// player plays specs of the page, all in one browser (web/specs/run.mjs). It is safe for concurrent
// use.
type player struct {
	mu      sync.Mutex
	in      io.WriteCloser
	waiting []chan<- played // by id
	errs    bytes.Buffer    // read when the process has ended
	// over is closed when the process has ended, or has written something other than a result.
	over chan struct{}
	err  error
}

// played is the result of a spec.
type played struct {
	ID    int    `json:"id"`
	Said  string `json:"said"`
	Error string `json:"error"` // "" means that it passed
}

// startPlayer starts a player, which is stopped at the end of the test and its subtests.
func startPlayer(t *testing.T, node, script, chromium string) *player {
	t.Helper()
	c := exec.Command(node, script, chromium)
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // specs may start their own servers
	p := &player{over: make(chan struct{})}
	c.Stderr = &p.errs
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	p.in = in
	go func() {
		defer close(p.over)
		d := json.NewDecoder(out)
		for {
			var end played
			if p.err = d.Decode(&end); p.err != nil {
				return
			}
			p.mu.Lock()
			to := p.waiting[end.ID]
			p.mu.Unlock()
			to <- end
		}
	}()
	t.Cleanup(func() {
		_ = in.Close()
		kill := time.AfterFunc(time.Minute, func() { _ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL) })
		defer kill.Stop()
		<-p.over
		if err := c.Wait(); err != nil {
			t.Errorf("the player of the specs: %v\n%s", err, p.errs.String())
		}
	})
	return p
}

func (p *player) play(t *testing.T, spec string, settings map[string]string) {
	t.Helper()
	end := make(chan played, 1)
	p.mu.Lock()
	line, err := json.Marshal(map[string]any{"id": len(p.waiting), "spec": spec, "settings": settings})
	p.waiting = append(p.waiting, end)
	if err == nil {
		_, err = p.in.Write(append(line, '\n'))
	}
	p.mu.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	select {
	case e := <-end:
		if e.Error != "" {
			t.Errorf("%s\n%s", e.Error, e.Said)
		}
	case <-p.over:
		t.Fatalf("the player of the specs has ended: %v", p.err)
	case <-time.After(20 * time.Minute):
		t.Fatal("the spec did not end within 20 minutes")
	}
}
