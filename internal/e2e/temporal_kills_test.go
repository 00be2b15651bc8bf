//go:build unix

package e2e_test

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/faultmatrix"
	"github.com/hocket-run/hocket/internal/killtest"
	"github.com/hocket-run/hocket/internal/pgtest"
	"github.com/hocket-run/hocket/internal/temporalserver"
)

// onTemporal makes a cluster whose runs a Temporal server carries.
func onTemporal(t *testing.T, db, address, namespace string) *cluster {
	t.Helper()
	c := newCluster(t, db)
	c.args = []string{"--temporal", address, "--temporal-namespace", namespace}
	return c
}

// TestTemporalKills is TestClusterKills with runs that Temporal carries: their calls are made by three processes, one after another of which is killed (P12, P18, D8).
func TestTemporalKills(t *testing.T) {
	t.Parallel()
	faultmatrix.Proves(t, "temporal-worker")
	address, namespace := temporalserver.Namespace(t)
	onTemporal(t, pgtest.URL(t), address, namespace).survives(killtest.Kills())
}

// TestTemporalShare is TestClusterShare with runs that Temporal carries.
func TestTemporalShare(t *testing.T) {
	t.Parallel()
	address, namespace := temporalserver.Namespace(t)
	onTemporal(t, pgtest.URL(t), address, namespace).share()
}

// persisted is a cluster on a Temporal server of its own, which keeps what it knows in two databases.
type persisted struct {
	*cluster
	carrier   *temporalserver.Server
	postgres  *pgtest.Server
	databases []string
}

// onDisk makes a cluster whose store and whose Temporal server are on a server of PostgreSQL.
func onDisk(t *testing.T, start func() *pgtest.Server) *persisted {
	t.Helper()
	temporalserver.Require(t)
	p := &persisted{postgres: start()}
	p.databases = []string{p.postgres.Database(t), p.postgres.Database(t)}
	p.carrier = temporalserver.Start(t, temporalserver.Config{Postgres: p.databases[0], Visibility: p.databases[1]})
	p.cluster = onTemporal(t, p.postgres.URL(t), p.carrier.Address, p.carrier.Namespace(t))
	return p
}

// TestTemporalOutage kills Temporal and stops PostgreSQL at once, in the middle of runs, and starts both again. All runs end: their calls are made again only where they were under way for longer than
// heartbeats may be missing.
func TestTemporalOutage(t *testing.T) {
	t.Parallel()
	faultmatrix.Proves(t, "temporal-and-store")
	const runs = 100
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	c := onDisk(t, func() *pgtest.Server { return pgtest.Start(t, pgtest.Config{}) })
	c.repeats = true
	c.two()
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
	t.Logf("%d runs ended %s after both were started: %d calls of models and %d of the tool were made again, %d times a person was asked", runs, time.Since(began).Round(10*time.Millisecond), l.calls, l.tools, l.asked)
}
