//go:build unix

package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/faultmatrix"
	"github.com/hocket-run/hocket/internal/pgtest"
	"github.com/hocket-run/hocket/internal/temporalserver"
)

// TestTemporalStoreRestarts is TestDatabaseRestarts with runs on Temporal: a worker keeps the
// result of a call until the store accepts it.
func TestTemporalStoreRestarts(t *testing.T) {
	t.Parallel()
	faultmatrix.Proves(t, "temporal-store")
	address, namespace := temporalserver.Namespace(t)
	server := pgtest.Start(t, pgtest.Config{})
	onTemporal(t, server.URL(t), address, namespace).outlives(server)
}

// persisted is a cluster with its own Temporal server, which keeps its data in two databases.
type persisted struct {
	*cluster
	carrier   *temporalserver.Server
	postgres  *pgtest.Server
	databases []string
}

// onDisk creates a cluster whose store and Temporal server use one PostgreSQL server.
func onDisk(t *testing.T, start func() *pgtest.Server) *persisted {
	t.Helper()
	temporalserver.Require(t)
	p := &persisted{postgres: start()}
	p.databases = []string{p.postgres.Database(t), p.postgres.Database(t)}
	p.carrier = temporalserver.Start(t, temporalserver.Config{Postgres: p.databases[0], Visibility: p.databases[1]})
	p.cluster = onTemporal(t, p.postgres.URL(t), p.carrier.Address, p.carrier.Namespace(t))
	return p
}

// TestTemporalOutage kills Temporal and stops PostgreSQL at the same time, in the middle of runs,
// and restarts both. All runs end: their calls are repeated only if they were in flight for longer
// than the heartbeat timeout.
func TestTemporalOutage(t *testing.T) {
	t.Parallel()
	faultmatrix.Proves(t, "temporal-and-store")
	const runs = 100
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	c := onDisk(t, func() *pgtest.Server { return pgtest.Start(t, pgtest.Config{}) })
	c.repeats = true
	c.joinTwo()
	wait := c.orders(ctx, "order", runs)
	c.until(ctx, "a third of the calls are made", c.haveMade(runs*orderCalls/3))
	var both sync.WaitGroup
	both.Go(func() { c.carrier.Kill(t) })
	both.Go(func() { c.postgres.Stop(t, pgtest.Immediate) })
	both.Wait()
	c.readiness(http.StatusServiceUnavailable)
	began := time.Now()
	c.postgres.Start(t)
	c.carrier.Start(t)
	c.readiness(http.StatusOK)
	t.Logf("ready %s after both were started", time.Since(began).Round(10*time.Millisecond))
	wait()
	l := c.check()
	t.Logf("%d runs ended %s after both were started: %d calls of models and %d of the tool were made again, %d "+
		"times a person was asked", runs, time.Since(began).Round(10*time.Millisecond), l.calls, l.tools, l.asked)
}

// TestTemporalKilled kills Temporal under runs and restarts it. Meanwhile servers stay ready:
// results of calls in flight are stored, and runs are started and answered. No call is repeated.
func TestTemporalKilled(t *testing.T) {
	t.Parallel()
	faultmatrix.Proves(t, "temporal-killed")
	const runs = 5
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	c := onDisk(t, func() *pgtest.Server { return pgtest.Shared(t) })
	c.joinTwo()
	c.apply("gate", gate)
	asks := c.start(ctx, "gate", "asks")
	wait := c.waitAsked(ctx, asks)
	release := c.hold()
	under := map[string]string{} // replies, by run
	for i := range runs {
		run, reply := c.startAt(ctx, c.nextMember(), fmt.Sprint("order ", i))
		under[run] = reply
	}
	c.carrier.Kill(t)
	release()
	if status, data := c.ask(ctx, http.MethodPost, "/runs/"+asks+"/resume",
		fmt.Sprintf(`{"wait": %q, "decision": "approve"}`, wait)); status != http.StatusOK {
		t.Fatalf("answer: %d %s", status, data)
	}
	under[c.start(ctx, "order", "while Temporal is away")] = ""
	for run, reply := range under {
		if reply != "" {
			c.until(ctx, "the reply is stored", func() bool { return c.isStored(run, reply) })
		}
	}
	for _, m := range c.members {
		if status, said := m.status(ctx, "/readyz"); status != http.StatusOK {
			t.Errorf("readyz while Temporal is away: %d %s", status, said)
		}
	}
	c.carrier.Start(t)
	began := time.Now()
	c.waitCompleted(ctx, asks)
	for run := range under {
		c.waitCompleted(ctx, run)
	}
	if l := c.check(); l != (lost{}) || len(c.calls) != (runs+1)*orderCalls+1 {
		t.Errorf("%d calls, of which %+v were made again", len(c.calls), l)
	}
	t.Logf("the runs ended %s after Temporal was started", time.Since(began).Round(10*time.Millisecond))
}

// waitAsked waits until a run asks a person, and returns the wait.
func (c *cluster) waitAsked(ctx context.Context, run string) (wait string) {
	c.t.Helper()
	var o struct {
		Status  string
		Waiting []struct{ ID string }
	}
	c.until(ctx, "the run asks", func() bool {
		_, data := c.ask(ctx, http.MethodGet, "/runs/"+run, "")
		return json.Unmarshal(data, &o) == nil && o.Status == "paused" && len(o.Waiting) == 1
	})
	return o.Waiting[0].ID
}

// TestTemporalRestored restores the databases of Temporal from an earlier backup: Temporal then
// knows of calls that were made long ago and of runs that have ended, but not of the newest ones.
// The journal is ahead: all runs end, and calls are repeated only if they were in flight at the
// restore.
func TestTemporalRestored(t *testing.T) {
	t.Parallel()
	faultmatrix.Proves(t, "temporal-restored")
	const runs = 5
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	c := onDisk(t, func() *pgtest.Server { return pgtest.Shared(t) })
	c.joinTwo()
	c.apply("gate", gate)
	asks := c.start(ctx, "gate", "asks")
	wait := c.waitAsked(ctx, asks)
	// under starts runs and waits until each has a call in flight.
	under := func(key string) (release func(), ids []string) {
		release = c.hold()
		for i := range runs {
			run, _ := c.startAt(ctx, c.nextMember(), fmt.Sprint(key, " ", i))
			ids = append(ids, run)
		}
		return release, ids
	}
	release, before := under("before the backup")
	var dumps []string
	for _, at := range c.databases {
		dumps = append(dumps, c.postgres.Dump(t, at))
	}
	release()
	for _, run := range before {
		c.waitCompleted(ctx, run)
	}
	c.orders(ctx, "between", runs)()
	if l := c.check(); l != (lost{}) {
		t.Errorf("before the restore %+v were made again", l)
	}
	release, after := under("under way at the restore")
	c.carrier.Kill(t)
	for i, at := range c.databases {
		c.postgres.Restore(t, at, dumps[i])
	}
	c.repeats = true
	c.carrier.Start(t)
	began := time.Now()
	if status, data := c.ask(ctx, http.MethodPost, "/runs/"+asks+"/resume",
		fmt.Sprintf(`{"wait": %q, "decision": "approve"}`, wait)); status != http.StatusOK {
		t.Fatalf("answer: %d %s", status, data)
	}
	release()
	c.waitCompleted(ctx, asks)
	for _, run := range after {
		c.waitCompleted(ctx, run)
	}
	c.orders(ctx, "later", runs)()
	l := c.check()
	if l.calls > runs || l.tools > 0 || len(c.calls) != 4*runs*orderCalls+1+l.calls {
		t.Errorf("%d calls, of which %+v were made again", len(c.calls), l)
	}
	t.Logf("all runs ended %s after the restore: %d calls were made again",
		time.Since(began).Round(10*time.Millisecond), l.calls)
}

// TestTemporalAway starts a server and a worker while Temporal cannot be reached. They report that
// they are not ready and why, runs started meanwhile wait, and everything continues on its own.
func TestTemporalAway(t *testing.T) {
	t.Parallel()
	temporalserver.Require(t)
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	carrier := temporalserver.Start(t, temporalserver.Config{})
	carrier.Stop(t)
	c := onTemporal(t, pgtest.URL(t), carrier.Address, "later")
	for _, args := range [][]string{{"serve", "--addr", "127.0.0.1:0", "--no-drive"},
		{"worker", "--listen", "127.0.0.1:0"}} {
		m, env := c.newMember("")
		m.process = listen(t, c.home, env, slices.Concat(args, c.args)...)
		c.members = append(c.members, m)
	}
	servers := c.members
	if said := c.readiness(http.StatusServiceUnavailable); !strings.Contains(said,
		"the Temporal server cannot be reached") {
		t.Errorf("not ready: %s", said)
	}
	c.members = servers[:1] // the server that answers
	c.apply("order", fmt.Sprintf(order, c.book.URL))
	run := c.start(ctx, "order", "waits")
	carrier.Start(t)
	for _, m := range servers {
		c.until(ctx, "they say what is wrong now", func() bool {
			status, said := m.status(ctx, "/readyz")
			return status == http.StatusServiceUnavailable &&
				strings.Contains(said, "the namespace of Temporal does not exist")
		})
	}
	carrier.Register(t, "later")
	c.members = servers
	c.readiness(http.StatusOK)
	c.members = servers[:1]
	c.waitCompleted(ctx, run)
	c.madeOnce(1)
	if by := c.byMember(); by[servers[1].number] != orderCalls-1 { // and one tool call
		t.Errorf("calls by member: %v", by)
	}
}
