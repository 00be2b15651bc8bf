//go:build unix

package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/tool"
	"github.com/hocket-run/hocket/internal/tool/mcp"
)

// TestCallFailures checks what the caller is told when there is no valid response.
func TestCallFailures(t *testing.T) {
	t.Parallel()
	t.Run("the server refuses", func(t *testing.T) {
		t.Parallel()
		_, err := call(t, open(t, quick(), stdio(t, "basic")), "refuse", `{}`)
		wantError(t, err, tool.KindFailed, false, "not today")
	})
	t.Run("the server ends in the call", func(t *testing.T) {
		t.Parallel()
		ts := open(t, quick(), stdio(t, "basic"))
		_, err := call(t, ts, "crash", `{}`)
		wantError(t, err, tool.KindNetwork, true, "exit status 3", "out of luck")
		// The next call finds the connection broken and reconnects.
		if r, err := call(t, ts, "echo", `{"text":"again"}`); err != nil || r.Text != "again" {
			t.Errorf("after the crash: %+v, %v", r, err)
		}
	})
	t.Run("the server is killed between calls", func(t *testing.T) {
		t.Parallel()
		ts := open(t, quick(), stdio(t, "basic"))
		echo := named(t, ts, "echo")
		var pid int
		r, err := call(t, ts, "pids", `{}`)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Sscan(r.Text, &pid)
		if err := kill(pid); err != nil {
			t.Fatal(err)
		}
		waitFor(t, func() bool { return reaped(pid) }) // until then its pipes may still accept unread data
		if r, err := echo.Call(t.Context(), tool.Call{Arguments: json.RawMessage(`{"text":"again"}`)}); err != nil ||
			r.Text != "again" {
			t.Errorf("%+v, %v", r, err)
		}
	})
	t.Run("the server is killed in the call", func(t *testing.T) {
		t.Parallel()
		ts := open(t, quick(), stdio(t, "basic"))
		var pid, child int
		r, err := call(t, ts, "pids", `{}`)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Sscan(r.Text, &pid, &child)
		dir := t.TempDir()
		failed := make(chan error, 1)
		go func() {
			_, err := call(t, ts, "hang", `{"dir":"`+dir+`"}`)
			failed <- err
		}()
		waitFor(t, func() bool { return exists(dir, "began") })
		if err := kill(pid); err != nil {
			t.Fatal(err)
		}
		wantError(t, <-failed, tool.KindNetwork, true, "signal: killed")
		waitFor(t, func() bool { return !alive(child) }) // the group ends with its leader
	})
	t.Run("never answers: idle timeout (P11)", func(t *testing.T) {
		t.Parallel()
		spec, dir := stdio(t, "basic"), t.TempDir()
		spec.IdleTimeout = 10 * time.Second // the server starts earlier
		_, err := call(t, open(t, quick(), spec), "hang", `{"dir":"`+dir+`"}`)
		wantError(t, err, tool.KindTimeout, true, "sent no data for 10s")
		waitFor(t, func() bool { return exists(dir, "cancelled") }) // the server was notified
	})
	t.Run("progress is a sign of life", func(t *testing.T) {
		t.Parallel()
		spec := stdio(t, "basic")
		spec.IdleTimeout = 5 * time.Second
		r, err := call(t, open(t, quick(), spec), "progress", `{"times":12,"ms":500}`)
		if err != nil || r.Text != "done" {
			t.Errorf("%+v, %v", r, err)
		}
	})
	t.Run("does not read: cancelled nevertheless", func(t *testing.T) {
		t.Parallel()
		ts := open(t, shortLimits(), stdio(t, "deaf"))
		say := named(t, ts, "say")
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		big := `{"x":"` + strings.Repeat("x", 1<<20) + `"}` // more than a pipe holds
		_, err := say.Call(ctx, tool.Call{Arguments: json.RawMessage(big)})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want context.DeadlineExceeded", err)
		}
	})
}

// TestCancel checks that a cancelled call returns immediately, that the server is notified, and
// that the connection remains usable.
func TestCancel(t *testing.T) {
	t.Parallel()
	ts, dir := open(t, quick(), stdio(t, "basic")), t.TempDir()
	hang := named(t, ts, "hang")
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error, 1)
	go func() {
		_, err := hang.Call(ctx, tool.Call{Arguments: json.RawMessage(`{"dir":"` + dir + `"}`)})
		failed <- err
	}()
	waitFor(t, func() bool { return exists(dir, "began") })
	cancel()
	if err := <-failed; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
	waitFor(t, func() bool { return exists(dir, "cancelled") })
	if r, err := call(t, ts, "echo", `{"text":"hi"}`); err != nil || r.Text != "hi" {
		t.Errorf("after cancel: %+v, %v", r, err)
	}
}

// TestClose checks that no process is left, however the server behaves, and that calls in flight
// end (P11).
func TestClose(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"basic", "stubborn"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			ts := open(t, map[string]mcp.Config{"basic": quick(), "stubborn": shortLimits()}[mode], stdio(t, mode))
			var pid, child int
			r, err := call(t, ts, "pids", `{}`)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Sscan(r.Text, &pid, &child)
			dir := t.TempDir()
			failed := make(chan error, 1)
			go func() {
				_, err := call(t, ts, "hang", `{"dir":"`+dir+`"}`)
				failed <- err
			}()
			waitFor(t, func() bool { return exists(dir, "began") })
			if err := ts.Close(); err != nil {
				t.Error(err)
			}
			if err := <-failed; !errors.Is(err, tool.ErrClosed) {
				t.Errorf("call in flight: %v, want ErrClosed", err)
			}
			if alive(pid) {
				t.Error("the server is still there")
			}
			waitFor(t, func() bool { return !alive(child) }) // already killed; the kernel takes a moment
		})
	}
	t.Run("while it connects", func(t *testing.T) {
		t.Parallel()
		ts := open(t, shortLimits(), stdio(t, "silent"))
		failed := make(chan error, 1)
		began := make(chan struct{})
		go func() {
			close(began)
			_, err := ts.Tools(t.Context())
			failed <- err
		}()
		<-began
		if err := ts.Close(); err != nil {
			t.Error(err)
		}
		if err := <-failed; !errors.Is(err, tool.ErrClosed) {
			t.Errorf("got %v, want ErrClosed", err)
		}
	})
}

// TestCall_DefinitionChanged checks that a Tool is no longer called once the server lists another
// definition under its name (SEC14).
func TestCall_DefinitionChanged(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		how     string
		refused bool
	}{{"describe", true}, {"remove", true}, {"add", false}} {
		t.Run(tc.how, func(t *testing.T) {
			t.Parallel()
			ts := open(t, quick(), stdio(t, "basic"))
			echo, before := named(t, ts, "echo"), hashes(t, ts)
			if _, err := call(t, ts, "change", `{"how":"`+tc.how+`"}`); err != nil {
				t.Fatal(err)
			}
			// The announcement arrives asynchronously.
			waitFor(t, func() bool { return !slices.Equal(hashes(t, ts), before) })
			r, err := echo.Call(t.Context(), tool.Call{Arguments: json.RawMessage(`{"text":"x"}`)})
			if tc.refused {
				wantError(t, err, tool.KindChanged, false, "changed its definition")
			} else if err != nil || r.Text != "x" {
				t.Errorf("%+v, %v", r, err)
			}
		})
	}
}

func hashes(t *testing.T, ts *mcp.Toolset) []string {
	t.Helper()
	tools, err := ts.Tools(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, tl := range tools {
		out = append(out, tool.Hash(tl.Def(), tl.Policy()))
	}
	return out
}

// TestParallelCalls checks that calls do not wait for each other (P40).
func TestParallelCalls(t *testing.T) {
	t.Parallel()
	ts, dir := open(t, quick(), stdio(t, "basic")), t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	hang := named(t, ts, "hang")
	var wg sync.WaitGroup
	wg.Go(func() { _, _ = hang.Call(ctx, tool.Call{Arguments: json.RawMessage(`{"dir":"` + dir + `"}`)}) })
	waitFor(t, func() bool { return exists(dir, "began") })
	for i := range 20 {
		wg.Go(func() {
			if r, err := call(t, ts, "echo", fmt.Sprintf(`{"text":"%d"}`, i)); err != nil || r.Text != fmt.Sprint(i) {
				t.Errorf("%d: %+v, %v", i, r, err)
			}
			if i == 19 {
				cancel()
			}
		})
	}
	wg.Wait()
}
