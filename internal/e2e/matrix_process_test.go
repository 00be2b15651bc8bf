//go:build unix

package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/faultmatrix"
	"github.com/hocket-run/hocket/internal/longtest"
	"github.com/hocket-run/hocket/internal/pgtest"
)

// startAt starts a run at one server, which drives it, and waits until its first call is made.
func (c *cluster) startAt(ctx context.Context, m *member, key string) (run, reply string) {
	c.t.Helper()
	c.mu.Lock()
	before := len(c.calls)
	c.mu.Unlock()
	status, data, err := m.do(ctx, http.MethodPost, "/runs", fmt.Sprintf(`{"workflow": "order", "input": %q}`, key))
	var o struct{ ID string }
	if err != nil || json.Unmarshal(data, &o) != nil || status != http.StatusCreated {
		c.t.Fatalf("start %s: %d %s %v", key, status, data, err)
	}
	c.until(ctx, "the first call is made", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		if len(c.calls) > before {
			reply = c.calls[len(c.calls)-1].reply
		}
		return reply != ""
	})
	return o.ID, reply
}

func (c *cluster) until(ctx context.Context, what string, is func() bool) {
	c.t.Helper()
	for !is() {
		if ctx.Err() != nil {
			c.t.Fatalf("it does not come to it that %s\n%s", what, c.said())
		}
		pause(ctx)
	}
}

// said returns the logs of the live servers, without request lines.
func (c *cluster) said() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var b strings.Builder
	for _, m := range c.members {
		fmt.Fprintf(&b, "server %d:\n", m.number)
		for line := range strings.Lines(m.said()) {
			if !strings.Contains(line, "msg=request") {
				b.WriteString(line)
			}
		}
	}
	return b.String()
}

// isStored reports whether a reply is in a journal.
func (c *cluster) isStored(run, reply string) bool {
	_, data := c.ask(c.t.Context(), http.MethodGet, "/runs/"+run+"/events", "")
	return strings.Contains(string(data), `"`+reply+`"`)
}

// TestKilledInAppend kills a server with `kill -9` while a reply is on its way to the store: before
// PostgreSQL has it, when PostgreSQL has it and the server is gone, and when it is stored but the
// server does not know. Another server continues the run. It repeats the call only if the reply was
// lost (D7, D8).
func TestKilledInAppend(t *testing.T) {
	t.Parallel()
	longtest.Only(t, "a killed process of a cluster; internal/store/postgres.TestLostInAppend")
	faultmatrix.Proves(t, "killed-before-append")
	faultmatrix.Proves(t, "killed-in-commit")
	faultmatrix.Proves(t, "killed-after-append")
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	url := pgtest.URL(t)
	c := newCluster(t, url)
	heir := c.join("")
	c.apply("order", fmt.Sprintf(order, c.book.URL))
	for name, tt := range map[string]struct {
		hold  func(p *pgtest.Proxy, text string)
		there func(p *pgtest.Proxy, run, reply string) bool // the moment of the kill
		// commits means that PostgreSQL has the message and commits it while the server is gone;
		// lost means that it never receives it.
		commits, lost bool
	}{
		"before append": {(*pgtest.Proxy).HoldFrom, func(p *pgtest.Proxy, _, reply string) bool {
			return p.Holds(reply)
		}, false, true},
		"in commit": {(*pgtest.Proxy).HoldFrom, func(p *pgtest.Proxy, _, reply string) bool {
			return p.Holds(reply)
		}, true, false},
		"after append": {(*pgtest.Proxy).HoldAnswersFrom, func(_ *pgtest.Proxy, run, reply string) bool {
			return c.isStored(run, reply)
		}, false, false},
	} {
		before := c.check() // for the runs so far
		proxy := pgtest.NewProxy(t, url)
		victim := c.join(proxy.URL())
		c.mu.Lock()
		c.members = []*member{heir} // the server that answers
		c.mu.Unlock()
		release := c.hold()
		run, reply := c.startAt(ctx, victim, name)
		tt.hold(proxy, reply)
		release()
		c.until(ctx, name, func() bool { return tt.there(proxy, run, reply) })
		c.mu.Lock()
		made := len(c.calls)
		c.mu.Unlock()
		c.kill(victim)
		want := 0
		if tt.lost {
			proxy.Reset()
			want = 1
		}
		if tt.commits {
			// The end of the server's connections is held until the commit is done. If both were
			// passed on immediately, the other server could claim the run first: the commit would
			// be rejected, and the reply lost.
			if !proxy.Deliver(reply) {
				t.Fatalf("%s: the proxy holds no message with the reply", name)
			}
			c.until(ctx, name+", committed", func() bool { return c.isStored(run, reply) })
		}
		proxy.Release()
		began := time.Now()
		c.waitCompleted(ctx, run)
		if again := c.check().calls - before.calls; again != want {
			t.Errorf("%s: %d calls were made again, want %d", name, again, want)
		}
		t.Logf("%s: killed after call %d, ended %s later", name, made, time.Since(began).Round(10*time.Millisecond))
	}
}

// TestStopped stops a server in the middle of its runs and of a schedule, as when a machine is
// suspended, and continues it. Another server takes over its runs and the schedule; when the first
// one continues, nothing that it does is stored, and each planned time has one run (P18, P37).
func TestStopped(t *testing.T) {
	t.Parallel()
	longtest.Only(t, "a stopped process of a cluster; internal/store/postgres.TestStoppedInAppend")
	faultmatrix.Proves(t, "stopped")
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	c := newCluster(t, pgtest.URL(t))
	hung := c.join("")
	c.apply("order", fmt.Sprintf(order, c.book.URL))
	c.apply("tick", tick)
	c.until(ctx, "the first server leads", func() bool { return strings.Contains(hung.said(), "msg=leading") })
	heir := c.join("")
	release := c.hold()
	var runs []string
	for i := range 4 {
		run, _ := c.startAt(ctx, hung, fmt.Sprint("order ", i))
		runs = append(runs, run)
	}
	c.mu.Lock()
	// its calls are lost, even those started before it notices
	c.members, hung.killed, hung.ended = []*member{heir}, true, time.Now()
	c.mu.Unlock()
	if err := hung.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = hung.cmd.Process.Signal(syscall.SIGCONT) }()
	began := time.Now()
	release()
	for _, run := range runs {
		c.waitCompleted(ctx, run)
	}
	took := time.Since(began)
	c.until(ctx, "the other server leads", func() bool { return strings.Contains(heir.said(), "msg=leading") })
	t.Logf("takeOverAfter is 15s; the runs ended %s after the stop", took.Round(10*time.Millisecond))
	if err := hung.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	c.until(ctx, "the first server notices", func() bool {
		return strings.Count(hung.said(), "another process took over the run") >= len(runs) &&
			strings.Contains(hung.said(), "msg=waiting")
	})
	hung.until(t, http.StatusOK)
	if status, data := c.ask(ctx, http.MethodDelete, "/workflows/tick", ""); status != http.StatusNoContent {
		t.Fatalf("%d %s", status, data)
	}
	c.waitIdle(ctx)
	l := c.check()
	t.Logf("%d calls of models and %d of the tool were made again, %d times a person was asked", l.calls, l.tools,
		l.asked)
	c.onePerSlot()
}
