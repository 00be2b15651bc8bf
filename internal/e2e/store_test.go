//go:build unix

package e2e_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	_ "modernc.org/sqlite" // acts as another program on the store

	"github.com/hocket-run/hocket/internal/model/modeltest"
)

// commandResult is the result of a command of the program.
type commandResult struct {
	out, err string
	status   int
	took     time.Duration
}

// hocket runs the binary to its end.
func hocket(t *testing.T, home string, env []string, args ...string) commandResult {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, programOf(t, env), args...)
	cmd.Dir = home
	cmd.Env = append([]string{"HOME=" + home, "HOCKET_HOME=" + home, "PATH=" + os.Getenv("PATH")}, env...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	began := time.Now()
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return commandResult{out.String(), errs.String(), cmd.ProcessState.ExitCode(), time.Since(began)}
}

// seize takes the write lock of the store at home, as BEGIN IMMEDIATE in sqlite3 does. It fails if
// another process holds it.
func seize(home string) (free func(), err error) {
	db, err := sql.Open("sqlite", "file:"+filepath.Join(home, "hocket.db")+
		"?_txlock=immediate&_pragma=busy_timeout(1000)")
	if err != nil {
		return nil, err
	}
	tx, err := db.BeginTx(context.Background(), nil)
	if err != nil {
		_ = db.Close()
		return nil, err
	}
	return func() { _, _ = tx.Rollback(), db.Close() }, nil
}

// status requests a path from a server without a token.
func (p *process) status(ctx context.Context, path string) (int, string) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url+path, http.NoBody)
	if err != nil {
		return 0, err.Error()
	}
	res, err := client.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer res.Body.Close()
	var body struct{ Detail, Status any }
	_ = json.NewDecoder(res.Body).Decode(&body)
	return res.StatusCode, fmt.Sprint(body.Detail)
}

// until waits for a readiness status, and returns the response body and how long it took.
func (p *process) until(t *testing.T, want int) (said string, took time.Duration) {
	t.Helper()
	began := time.Now()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		got, said := p.status(t.Context(), "/readyz")
		switch {
		case got == want:
			return said, time.Since(began)
		case time.Since(began) > time.Minute:
			t.Fatalf("readyz: %d %s, want %d\n%s", got, said, want, p.said())
		}
		<-tick.C
	}
}

// TestAttackLock holds the write lock of a server's store, as any program with sqlite3 can. Reads
// are served; writes report it and fail in time; the server reports that it is not ready, and
// continues on its own.
func TestAttackLock(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	m := modeltest.Start(t, says)
	env := []string{"OPENAI_BASE_URL=" + m.BaseURL(), "OPENAI_API_KEY=k"}
	if err := os.WriteFile(filepath.Join(home, "poem.yaml"), []byte(poem), 0o600); err != nil {
		t.Fatal(err)
	}
	if v := hocket(t, home, env, "run", "poem.yaml", "bees"); v.status != 0 {
		t.Fatalf("%+v", v)
	}
	p := serve(t, home, env)
	free, err := seize(home)
	if err != nil {
		t.Fatal(err)
	}
	freed := false
	defer func() {
		if !freed {
			free()
		}
	}()
	for _, args := range [][]string{{"runs"}, {"doctor"}, {"workflows", "list"}, {"audit"}} {
		v := hocket(t, home, env, args...)
		if v.status != 0 || strings.Contains(v.err, "lock") {
			t.Errorf("%v under a lock: %+v", args, v)
		}
		t.Logf("hocket %s under a lock: status %d after %s", strings.Join(args, " "), v.status,
			v.took.Round(time.Millisecond))
	}
	v := hocket(t, home, env, "run", "poem.yaml", "bees", "--lock-timeout", "3s")
	if v.status != 1 || !strings.Contains(v.err, "another program has held it for 2s; waiting at most 3s") ||
		!strings.Contains(v.err, "nothing is lost") {
		t.Errorf("run under a lock: %+v", v)
	}
	t.Logf("hocket run --lock-timeout 3s: status %d after %s: %s", v.status, v.took.Round(time.Millisecond), v.err)
	said, took := p.until(t, http.StatusServiceUnavailable)
	t.Logf("the server is not ready after %s more: %s", took.Round(time.Millisecond), said)
	free()
	freed = true
	_, took = p.until(t, http.StatusOK)
	t.Logf("the server is ready again %s after the lock was free", took.Round(time.Millisecond))
	if v := hocket(t, home, env, "run", "poem.yaml", "bees"); v.status != 0 {
		t.Errorf("run after the lock: %+v", v)
	}
}

// TestAttackFullDisk fills the disk of a store, on a separate file system. Reads work, and a server
// starts, is not ready, reports why, and recovers on its own.
func TestAttackFullDisk(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	if err := mountTmpfs(home, "size=3m"); err != nil {
		t.Skipf("a small disk needs the right to mount one: %v", err)
	}
	t.Cleanup(func() {
		if err := unmount(home); err != nil {
			t.Error(err)
		}
	})
	m := modeltest.Start(t, says)
	env := []string{"OPENAI_BASE_URL=" + m.BaseURL(), "OPENAI_API_KEY=k"}
	if err := os.WriteFile(filepath.Join(home, "poem.yaml"), []byte(poem), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"run", "poem.yaml", "bees"}, {"workflows", "apply", "poem.yaml"}} {
		if v := hocket(t, home, env, args...); v.status != 0 {
			t.Fatalf("%v: %+v", args, v)
		}
	}
	fill := filepath.Join(home, "fill")
	f, err := os.Create(fill)
	if err != nil {
		t.Fatal(err)
	}
	n, err := f.Write(make([]byte, 4<<20))
	t.Logf("%d bytes fill the disk: %v, %v", n, err, f.Close())
	for _, args := range [][]string{{"runs"}, {"doctor"}, {"workflows", "list"}, {"audit"}, {"tokens", "list"}} {
		v := hocket(t, home, env, args...)
		if v.status != 0 {
			t.Errorf("%v on a full disk: %+v", args, v)
		}
		t.Logf("hocket %s on a full disk: status %d after %s", strings.Join(args, " "), v.status,
			v.took.Round(time.Millisecond))
	}
	p := begin(t, home, env)
	said, took := p.until(t, http.StatusServiceUnavailable)
	if !strings.Contains(said, "the disk is full") {
		t.Errorf("not ready: %s", said)
	}
	t.Logf("the server is not ready after %s: %s", took.Round(time.Millisecond), said)
	w := &world{t: t, p: p}
	w.do("GET", "/api/v1/runs", "").is(200)
	began := time.Now()
	a := w.do("POST", "/api/v1/runs", `{"workflow": "poem", "input": "bees"}`)
	if a.status != http.StatusServiceUnavailable {
		t.Errorf("a run is started on a full disk: %d %s", a.status, a.body)
	}
	t.Logf("a start on a full disk: %d after %s", a.status, time.Since(began).Round(time.Millisecond))
	if err := os.Remove(fill); err != nil {
		t.Fatal(err)
	}
	_, took = p.until(t, http.StatusOK)
	t.Logf("the server is ready %s after there was room", took.Round(time.Millisecond))
	began = time.Now()
	w.do("POST", "/api/v1/runs?wait=30s", `{"workflow": "poem", "input": "bees"}`).is(201)
	t.Logf("a run was started and completed in %s", time.Since(began).Round(time.Millisecond))
}

// TestAttackHung stops a server in the middle of its runs. Commands report who drives a run,
// --take-over takes one, and another server takes the others after a while. When the stopped server
// continues it is fenced: no journaled call is repeated, and nothing that it does is stored.
func TestAttackHung(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	var (
		slow  atomic.Bool
		asked atomic.Int32
	)
	release := make(chan struct{})
	m := modeltest.Start(t, func(r modeltest.Request) modeltest.Answer {
		if slow.Load() {
			asked.Add(1)
			<-release
		}
		return says(r)
	})
	env := []string{"OPENAI_BASE_URL=" + m.BaseURL(), "OPENAI_API_KEY=k",
		"HOCKET_CONFIG=" + filepath.Join(home, "operator.yaml")}
	for name, text := range map[string]string{"operator.yaml": "server: {takeOverAfter: 15s}\n", "poem.yaml": poem} {
		if err := os.WriteFile(filepath.Join(home, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if v := hocket(t, home, env, "workflows", "apply", "poem.yaml"); v.status != 0 {
		t.Fatalf("%+v", v)
	}
	slow.Store(true)
	hung := serve(t, home, env)
	w := &world{t: t, p: hung}
	var runs [2]struct{ ID string }
	for i := range runs {
		w.do("POST", "/api/v1/runs", `{"workflow": "poem", "input": "bees"}`).is(201).into(&runs[i])
	}
	// both calls are in flight
	for tick := time.NewTicker(20 * time.Millisecond); asked.Load() < int32(len(runs)); <-tick.C {
		if t.Context().Err() != nil {
			t.Fatal(hung.said())
		}
	}
	hung.stop(t, home)
	defer func() { _ = hung.cmd.Process.Signal(syscall.SIGCONT) }()
	slow.Store(false)
	close(release)

	v := hocket(t, home, env, "cancel", runs[0].ID, "--take-over")
	if v.status != 0 || !strings.Contains(v.err, fmt.Sprintf("was taken over from hocket serve, process %d on ",
		hung.cmd.Process.Pid)) || !strings.Contains(v.err, "cancelled") {
		t.Errorf("cancel --take-over: %+v", v)
	}
	t.Logf("cancel --take-over: status %d after %s: %s", v.status, v.took.Round(time.Millisecond), v.err)

	began := time.Now()
	heir := serve(t, home, env)
	w = &world{t: t, p: heir}
	var o struct{ Status string }
	for tick := time.NewTicker(200 * time.Millisecond); o.Status != "completed"; <-tick.C {
		if w.do("GET", "/api/v1/runs/"+runs[1].ID, "").is(200).into(&o); time.Since(began) > time.Minute {
			t.Fatalf("the other server does not take the run over: %s\n%s", o.Status, heir.said())
		}
	}
	t.Logf("another server, which takes over after 15s, had completed the run %s after its start",
		time.Since(began).Round(time.Millisecond))
	events := func(run string) string { return hocket(t, home, env, "runs", "events", run).out }
	before := events(runs[0].ID) + events(runs[1].ID)
	if err := hung.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	hung.until(t, http.StatusOK)
	for tick := time.NewTicker(100 * time.Millisecond); strings.Count(hung.said(),
		"another process took over the run") < 2; <-tick.C {
		if time.Since(began) > 2*time.Minute {
			t.Fatalf("the server that was stopped does not notice: %s", hung.said())
		}
	}
	if after := events(runs[0].ID) + events(runs[1].ID); after != before {
		t.Errorf("the server that was stopped wrote into runs that are not its own:\n%s\nbefore:\n%s", after, before)
	}
	if n := strings.Count(before, `"type":"model.replied"`); n != 1 {
		t.Errorf("%d replies in the journals, want that of the run that completed", n)
	}
}

// stop stops the process at a moment when it does not hold the store's lock.
func (p *process) stop(t *testing.T, home string) {
	t.Helper()
	for range 100 {
		if err := p.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		var state syscall.WaitStatus // macOS reports it as continued
		if _, err := syscall.Wait4(p.cmd.Process.Pid, &state, syscall.WUNTRACED, nil); err != nil || !state.Stopped() &&
			!state.Continued() {
			t.Fatalf("the server is not stopped: %v, %v", state, err)
		}
		if free, err := seize(home); err == nil {
			free()
			return
		}
		if err := p.cmd.Process.Signal(syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
	}
	t.Fatal("the server holds the store whenever it is stopped")
}
