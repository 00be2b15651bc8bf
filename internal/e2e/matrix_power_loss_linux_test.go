package e2e_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/faultmatrix"
	"github.com/hocket-run/hocket/internal/longtest"
	"github.com/hocket-run/hocket/internal/pgtest"
)

// TestMachineUnplugged unplugs the machine of a server with runs. Its process is gone, and nothing
// that PostgreSQL sends it is acknowledged. Another server makes the next call of its runs once
// PostgreSQL has ended the session; the test logs how long that took.
func TestMachineUnplugged(t *testing.T) {
	t.Parallel()
	longtest.Only(t, "a cluster in network namespaces; internal/store/postgres.TestMachineVanishes")
	faultmatrix.Proves(t, "vanished")
	const runs = 4
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	at := pgtest.Start(t, pgtest.Config{TCP: true}).TCP(t).String()
	proxy := pgtest.NewProxy(t, at)
	c := newCluster(t, at)
	heir := c.join("")
	c.apply("order", fmt.Sprintf(order, c.book.URL))
	victim := c.join(proxy.URL())
	release := c.hold()
	var all []string
	for i := range runs {
		run, _ := c.startAt(ctx, victim, fmt.Sprint("order ", i))
		all = append(all, run)
	}
	c.mu.Lock()
	before := len(c.calls)
	c.mu.Unlock()
	if err := proxy.Vanish(); err != nil {
		t.Fatal(err)
	}
	c.kill(victim)
	began := time.Now()
	c.until(ctx, "another server makes a call of the runs", c.haveMade(before+1))
	took := time.Since(began)
	release()
	for _, run := range all {
		c.waitCompleted(ctx, run)
	}
	if by := c.byMember(); by[heir.number] == 0 {
		t.Errorf("calls by server: %v", by)
	}
	if l := c.check(); l.calls != runs {
		t.Errorf("%d calls were made again, want those of %d runs that were under way", l.calls, runs)
	}
	t.Logf("the next call began %s after the machine was unplugged", took.Round(100*time.Millisecond))
}
