//go:build unix

package e2e_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/faultmatrix"
	"github.com/hocket-run/hocket/internal/killtest"
	"github.com/hocket-run/hocket/internal/pgtest"
	"github.com/hocket-run/hocket/internal/temporalserver"
)

// onTemporal creates a cluster whose runs a Temporal server executes.
func onTemporal(t *testing.T, db, address, namespace string) *cluster {
	t.Helper()
	c := newCluster(t, db)
	bin := built(t, temporalBinary)
	c.env = []string{"HOCKET_TEST_PROGRAM=" + bin}
	c.args = []string{"--temporal", address, "--temporal-namespace", namespace}
	return c
}

// TestTemporalKills is TestClusterKills with runs on Temporal: their calls are made by three
// processes, which are killed one after another (P12, P18, D8).
func TestTemporalKills(t *testing.T) {
	t.Parallel()
	faultmatrix.Proves(t, "temporal-worker")
	address, namespace := temporalserver.Namespace(t)
	onTemporal(t, pgtest.URL(t), address, namespace).survives(killtest.Kills())
}

// TestTemporalShare is TestClusterSharesRuns with runs on Temporal.
func TestTemporalShare(t *testing.T) {
	t.Parallel()
	address, namespace := temporalserver.Namespace(t)
	onTemporal(t, pgtest.URL(t), address, namespace).share()
}

// TestTemporalTakeover kills the worker that has a call in flight: another one makes the call. It
// logs how long that takes, with a heartbeat timeout of 10 s.
func TestTemporalTakeover(t *testing.T) {
	t.Parallel()
	const kills = 5
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	address, namespace := temporalserver.Namespace(t)
	c := onTemporal(t, pgtest.URL(t), address, namespace)
	c.joinTwo()
	var took []time.Duration
	for i := range kills {
		release := c.hold()
		run, _ := c.startAt(ctx, c.nextMember(), fmt.Sprint("kill ", i))
		c.mu.Lock()
		n := len(c.calls)
		by := c.calls[n-1].by
		c.mu.Unlock()
		c.kill(by)
		began := time.Now()
		c.until(ctx, "the call is made again", c.haveMade(n+1))
		took = append(took, time.Since(began).Round(10*time.Millisecond))
		release()
		c.waitCompleted(ctx, run)
		c.join("")
	}
	if l := c.check(); l != (lost{calls: kills}) || len(c.calls) != kills*(orderCalls+1) {
		t.Errorf("%d calls, of which %+v were made again", len(c.calls), l)
	}
	slices.Sort(took)
	t.Logf("calls of killed workers begin elsewhere after %v, median %s; the timeout of heartbeats is 10 s", took,
		took[kills/2])
}

// TestTemporalStopped stops a worker in the middle of calls, as when a machine is suspended, and
// continues it. Another worker makes the calls, and no result that the first one then reports is
// stored.
func TestTemporalStopped(t *testing.T) {
	t.Parallel()
	faultmatrix.Proves(t, "temporal-stopped")
	const runs = 4
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	address, namespace := temporalserver.Namespace(t)
	c := onTemporal(t, pgtest.URL(t), address, namespace)
	hung := c.join("")
	c.apply("order", fmt.Sprintf(order, c.book.URL))
	release := c.hold()
	var ids []string
	for i := range runs {
		run, _ := c.startAt(ctx, hung, fmt.Sprint("order ", i))
		ids = append(ids, run)
	}
	heir := c.join("")
	c.mu.Lock()
	// its calls are lost, even those started before it notices
	c.members, hung.killed, hung.ended = []*member{heir}, true, time.Now()
	c.mu.Unlock()
	if err := hung.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = hung.cmd.Process.Signal(syscall.SIGCONT) }()
	c.until(ctx, "the calls are made again", c.haveMade(2*runs))
	release()
	for _, run := range ids {
		c.waitCompleted(ctx, run)
	}
	if err := hung.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	hung.until(t, http.StatusOK)
	c.mu.Lock()
	c.members = []*member{hung}
	c.mu.Unlock()
	c.kill(heir)
	c.orders(ctx, "by the worker that was stopped", runs)()
	if l := c.check(); l != (lost{calls: runs}) || len(c.calls) != 2*runs*orderCalls+runs {
		t.Errorf("%d calls, of which %+v were made again", len(c.calls), l)
	}
}
