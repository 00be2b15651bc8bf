//go:build unix

package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/faultmatrix"
	"github.com/hocket-run/hocket/internal/longtest"
	"github.com/hocket-run/hocket/internal/pgtest"
)

// twoServers starts two servers on a store, with the workflow order.
func twoServers(t *testing.T, db string) *cluster {
	t.Helper()
	c := newCluster(t, db)
	c.joinTwo()
	return c
}

// joinTwo starts two servers, with the workflow order.
func (c *cluster) joinTwo() {
	c.t.Helper()
	c.join("")
	c.join("")
	c.apply("order", fmt.Sprintf(order, c.book.URL))
}

// orders starts n runs, and returns a function that waits until they end.
func (c *cluster) orders(ctx context.Context, key string, n int) (wait func()) {
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { c.waitCompleted(ctx, c.start(ctx, "order", fmt.Sprintf("%s %d", key, i))) })
	}
	return all.Wait
}

// madeOnce checks that each call of n runs was made once.
func (c *cluster) madeOnce(n int) {
	c.t.Helper()
	if l := c.check(); l != (lost{}) {
		c.t.Errorf("calls were made again: %+v", l)
	}
	if want := n * orderCalls; len(c.calls) != want {
		c.t.Errorf("%d calls, want %d", len(c.calls), want)
	}
}

// readiness waits until the readiness status of all servers is want.
func (c *cluster) readiness(want int) (said string) {
	c.t.Helper()
	for _, m := range c.members {
		said, _ = m.until(c.t, want)
	}
	return said
}

// TestDatabaseRestarts stops PostgreSQL in three ways under two servers with runs, and restarts it.
// The servers report that they are not ready, and continue on their own: no call is repeated, since
// no process was lost.
func TestDatabaseRestarts(t *testing.T) {
	t.Parallel()
	longtest.Only(t,
		"a cluster whose database restarts; internal/store/postgres.TestServerRestarts and TestTablesRestart")
	faultmatrix.Proves(t, "restarted")
	server := pgtest.Start(t, pgtest.Config{})
	newCluster(t, server.URL(t)).outlives(server)
}

// outlives stops the store's server in three ways under two servers with runs, and restarts it. No
// call must be repeated.
func (c *cluster) outlives(server *pgtest.Server) {
	t := c.t
	t.Helper()
	const runs = 10
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	c.joinTwo()
	for mode, name := range map[pgtest.Mode]string{pgtest.Fast: "fast", pgtest.Immediate: "immediate",
		pgtest.Kill: "kill"} {
		release := c.hold()
		wait := c.orders(ctx, name, runs)
		c.until(ctx, "calls are under way", func() bool {
			c.mu.Lock()
			defer c.mu.Unlock()
			return len(c.calls)%(runs*orderCalls) >= runs/2
		})
		server.Stop(t, mode)
		release()
		c.readiness(http.StatusServiceUnavailable)
		began := time.Now()
		server.Start(t)
		c.readiness(http.StatusOK)
		t.Logf("%s: ready %s after PostgreSQL was started", name, time.Since(began).Round(10*time.Millisecond))
		wait()
	}
	c.madeOnce(3 * runs)
}

// TestDatabaseDiskFull fills the disk of PostgreSQL under two servers with runs. Nothing more is
// stored, the servers report why, and the runs continue when there is space.
func TestDatabaseDiskFull(t *testing.T) {
	t.Parallel()
	longtest.Only(t, "a cluster whose database has a full disk; internal/driver/embedded.TestStoreDown and "+
		"internal/store/postgres.TestClassify")
	faultmatrix.Proves(t, "disk-full")
	const runs = 6
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	disk := t.TempDir()
	if err := os.Chmod(filepath.Dir(disk), 0o755); err != nil { // the server's account must be able to traverse it
		t.Fatal(err)
	}
	if err := mountTmpfs(disk, "size=160m,mode=755"); err != nil {
		t.Skipf("a small disk needs the right to mount one: %v", err)
	}
	t.Cleanup(func() {
		if err := unmount(disk); err != nil {
			t.Error(err)
		}
	})
	server := pgtest.Start(t, pgtest.Config{Below: disk})
	c := twoServers(t, server.URL(t))
	wait := c.orders(ctx, "before", runs)
	wait()
	release := c.hold()
	wait = c.orders(ctx, "full", runs)
	c.until(ctx, "calls are under way", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return len(c.calls) >= runs*orderCalls+runs
	})
	fill := filepath.Join(disk, "fill")
	if err := fillDisk(fill); err != nil {
		t.Fatal(err)
	}
	release()
	said := c.readiness(http.StatusServiceUnavailable)
	if !strings.Contains(said, "full") && !strings.Contains(said, "reached") {
		t.Errorf("not ready: %s", said)
	}
	t.Logf("not ready: %s", said)
	if err := os.Remove(fill); err != nil {
		t.Fatal(err)
	}
	server.Revive(t)
	c.readiness(http.StatusOK)
	wait()
	c.madeOnce(2 * runs)
}

// fillDisk writes a file until the disk is full.
func fillDisk(path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	block := make([]byte, 1<<20)
	for len(block) > 0 {
		if _, err := f.Write(block); err != nil {
			block = block[:len(block)/2]
		}
	}
	return f.Close()
}

// TestDatabaseCutHalfOpen holds back all data between one of two servers and PostgreSQL, without
// closing any connection, for less than takeOverAfter. The server's runs continue afterwards.
func TestDatabaseCutHalfOpen(t *testing.T) {
	t.Parallel()
	longtest.Only(t, "a cluster with cut connections; internal/store/postgres.TestSilentServer and TestMachineVanishes")
	faultmatrix.Proves(t, "cut")
	const runs = 6
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	url := pgtest.URL(t)
	proxy := pgtest.NewProxy(t, url)
	c := newCluster(t, url)
	c.join(proxy.URL())
	c.apply("order", fmt.Sprintf(order, c.book.URL))
	for name, end := range map[string]func(){"released": proxy.Release, "reset": func() {
		proxy.Reset()
		proxy.Release()
	}} {
		release := c.hold()
		wait := c.orders(ctx, name, runs)
		c.until(ctx, "calls are under way", func() bool {
			c.mu.Lock()
			defer c.mu.Unlock()
			return len(c.calls)%(runs*orderCalls) >= runs
		})
		proxy.Hold()
		release()
		c.readiness(http.StatusServiceUnavailable)
		end()
		began := time.Now()
		c.readiness(http.StatusOK)
		wait()
		t.Logf("%s: the runs ended %s later", name, time.Since(began).Round(10*time.Millisecond))
	}
	c.madeOnce(2 * runs)
}

// TestDatabaseFailover kills the PostgreSQL server and promotes its synchronous replica. Two
// servers whose URL names both continue there: nothing that was stored is lost, and no call is
// repeated.
func TestDatabaseFailover(t *testing.T) {
	t.Parallel()
	longtest.Only(t, "a cluster with a replica; internal/store/postgres.TestServerRestarts and TestSessionLost")
	faultmatrix.Proves(t, "failover-synchronous")
	const runs = 10
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	first := pgtest.Start(t, pgtest.Config{})
	at := first.URL(t)
	second := first.Replica(t)
	first.Await(t, true)
	c := twoServers(t, first.Hosts(t, at, second))
	release := c.hold()
	wait := c.orders(ctx, "order", runs)
	c.until(ctx, "calls are under way", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return len(c.calls) >= runs
	})
	release()
	c.until(ctx, "some calls are stored", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return len(c.calls) >= 2*runs
	})
	first.Stop(t, pgtest.Kill)
	second.Promote(t)
	began := time.Now()
	c.readiness(http.StatusOK)
	t.Logf("ready %s after the copy was promoted", time.Since(began).Round(10*time.Millisecond))
	wait()
	c.madeOnce(runs)
}

// TestDatabaseFailoverLost kills the PostgreSQL server and promotes a replica that lacks the last
// commits. A server with runs in memory detects the lost events and reports them with the names of
// the runs: they fail, and no tool is called again. Runs that are not in memory continue from the
// replica.
func TestDatabaseFailoverLost(t *testing.T) {
	t.Parallel()
	longtest.Only(t, "a cluster with a replica that lost commits; internal/driver/embedded.TestStoreLosesEvents")
	faultmatrix.Proves(t, "failover-asynchronous")
	const runs = 3
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	first := pgtest.Start(t, pgtest.Config{})
	at := first.URL(t)
	second := first.Replica(t)
	c := newCluster(t, first.Hosts(t, at, second))
	alive := c.join("")
	c.apply("order", fmt.Sprintf(order, c.book.URL))
	dead := c.join("")
	release := c.hold()
	var kept []string
	for i := range runs {
		run, _ := c.startAt(ctx, alive, fmt.Sprint("order ", i))
		kept = append(kept, run)
	}
	orphan, _ := c.startAt(ctx, dead, "of the server that is killed")
	first.Exec(t, "SELECT pg_switch_wal()")
	c.until(ctx, "the copy has followed", func() bool { return second.HasAll(t, first) })
	second.Stop(t, pgtest.Fast)

	// Everything stored from here on is lost: the replies of plan, the calls of clerk and of the
	// tool, and a run.
	release()
	booked := func() (n int) {
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, m := range c.calls {
			if m.by == nil {
				n++
			}
		}
		return n
	}
	c.until(ctx, "the tool is called", func() bool {
		if booked() == 0 {
			return false
		}
		release = c.hold()
		return true
	})
	gone, _ := c.startAt(ctx, alive, "of which the copy knows nothing")
	first.Stop(t, pgtest.Kill)
	c.kill(dead)
	before := booked()
	second.Start(t)
	second.Promote(t)
	release()
	c.waitCompleted(ctx, orphan)

	failed := 0
	for _, run := range kept {
		var o struct {
			Status string
			Error  struct{ Code, Message string }
		}
		c.until(ctx, "the run ends", func() bool {
			status, data := c.ask(ctx, http.MethodGet, "/runs/"+run, "")
			if err := json.Unmarshal(data, &o); err != nil || status != http.StatusOK {
				t.Fatalf("%d %s %v", status, data, err)
			}
			return o.Status == "completed" || o.Status == "failed"
		})
		if o.Status == "failed" {
			failed++
			if o.Error.Code != "events_lost" || !strings.Contains(o.Error.Message, "of run "+run) {
				t.Errorf("run %s: %+v", run, o)
			}
		}
	}
	if failed != runs {
		t.Errorf("%d of %d runs say that events were lost", failed, runs)
	}
	if status, data := c.ask(ctx, http.MethodGet, "/runs/"+gone, ""); status != http.StatusNotFound {
		t.Errorf("the run that is lost: %d %s", status, data)
	}
	for _, run := range append(kept, gone) {
		if !strings.Contains(alive.said(), "of run "+run+", which it had stored") {
			t.Errorf("the server does not say what run %s lost\n%s", run, c.said())
		}
	}
	if n := booked() - before; n > 1 { // once by the run of a killed process
		t.Errorf("the tool was called %d times more", n)
	}
	c.waitCompleted(ctx, c.start(ctx, "order", "afterwards"))
}
