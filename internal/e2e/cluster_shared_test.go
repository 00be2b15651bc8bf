//go:build unix

package e2e_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/longtest"
	"github.com/hocket-run/hocket/internal/pgtest"
)

// TestClusterSharesRuns checks that two servers share 500 runs while one is killed in the middle.
// All runs end, and no call whose reply is stored is repeated (D8, P18).
func TestClusterSharesRuns(t *testing.T) {
	t.Parallel()
	longtest.Only(t, "several servers on PostgreSQL; the claims of runs are in internal/journal/journaltest and "+
		"internal/store/postgres.TestClaim_Concurrent")
	newCluster(t, pgtest.URL(t)).share()
}

// share lets two servers share 500 runs and kills one of them in the middle.
func (c *cluster) share() {
	t := c.t
	t.Helper()
	const runs, calls = 500, 2
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	victim := c.join("")
	c.join("")
	c.apply("pair", pairOfAgents)
	var all sync.WaitGroup
	room := make(chan struct{}, 100) // concurrent clients
	for i := range runs {
		all.Go(func() {
			room <- struct{}{}
			run := c.start(ctx, "pair", fmt.Sprint("run ", i))
			<-room
			c.waitCompleted(ctx, run)
		})
	}
	c.until(ctx, "half of the calls are made", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return len(c.calls) >= runs*calls/2
	})
	c.kill(victim)
	all.Wait()
	l := c.check()
	by := map[int]int{}
	for _, m := range c.calls {
		by[m.by.number]++
	}
	if len(c.calls) != runs*calls+l.calls || len(by) != 2 {
		t.Errorf("%d calls, by server %v, want %d and the %d that were lost", len(c.calls), by, runs*calls, l.calls)
	}
	t.Logf("calls by server: %v; %d were under way at the kill and made again", by, l.calls)
}

// TestClusterIdempotency checks that 100 starts of one session, 100 identical answers and 100
// resumes of a run whose server was killed, sent to three servers concurrently, take effect once
// each (P19, P24, D15).
func TestClusterIdempotency(t *testing.T) {
	t.Parallel()
	const times = 100
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	c := newCluster(t, pgtest.URL(t))
	victim := c.join("")
	c.join("")
	c.join("")
	c.apply("order", fmt.Sprintf(order, c.book.URL))
	c.apply("gate", gate)
	// atOnce sends a request many times concurrently to all servers, and counts the statuses of the
	// answers.
	atOnce := func(method, path, body string) (counts map[int]int, answers []string) {
		counts = map[int]int{}
		var mu sync.Mutex
		var all sync.WaitGroup
		begin := make(chan struct{})
		for range times {
			all.Go(func() {
				<-begin
				status, data := c.ask(ctx, method, path, body)
				mu.Lock()
				defer mu.Unlock()
				counts[status]++
				answers = append(answers, string(data))
			})
		}
		close(begin)
		all.Wait()
		return counts, answers
	}

	counts, answers := atOnce(http.MethodPost, "/runs", `{"workflow": "gate", "session": "s", "ifBusy": "reject"}`)
	if counts[http.StatusCreated] != 1 || counts[http.StatusConflict] != times-1 {
		t.Errorf("starts of one session: %v\n%s", counts, answers[0])
	}
	i := slices.IndexFunc(answers, func(a string) bool { return strings.Contains(a, `"workflow"`) })
	var o struct {
		ID      string
		Status  string
		Waiting []struct{ ID string }
	}
	if i < 0 || json.Unmarshal([]byte(answers[i]), &o) != nil {
		t.Fatalf("no start was accepted: %s", answers[0])
	}
	run := o.ID
	c.until(ctx, "the run asks", func() bool {
		_, data := c.ask(ctx, http.MethodGet, "/runs/"+run, "")
		return json.Unmarshal(data, &o) == nil && o.Status == "paused" && len(o.Waiting) == 1
	})
	counts, answers = atOnce(http.MethodPost, "/runs/"+run+"/resume", fmt.Sprintf(`{"wait": %q, "decision": "approve"}`,
		o.Waiting[0].ID))
	if counts[http.StatusOK] != times {
		t.Errorf("equal answers: %v\n%s", counts, answers[0])
	}
	c.waitCompleted(ctx, run)

	release := c.hold()
	left, _ := c.startAt(ctx, victim, "left")
	c.kill(victim)
	counts, answers = atOnce(http.MethodPost, "/runs/"+left+"/resume", "{}")
	if counts[http.StatusOK] != times {
		t.Errorf("resumptions: %v\n%s", counts, answers[0])
	}
	release()
	c.waitCompleted(ctx, left)
	// the victim's call in flight, and the call of the gate
	if l := c.check(); l.calls != 1 || len(c.calls) != orderCalls+2 {
		t.Errorf("%d calls, of which %+v were made again", len(c.calls), l)
	}
	answered := 0
	for _, e := range c.journals()[run] {
		if _, ok := e.Data.(*event.WaitAnswered); ok {
			answered++
		}
	}
	if answered != 1 {
		t.Errorf("the journal has %d answers", answered)
	}
}

// TestClusterStreams cuts the stream of a run after every event while the run continues, and
// resumes it on another server: each event arrives once, in order (P22).
func TestClusterStreams(t *testing.T) {
	t.Parallel()
	longtest.Only(t, "several servers on PostgreSQL; internal/api/live follows runs of other processes")
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	c := newCluster(t, pgtest.URL(t))
	for range 3 {
		c.join("")
	}
	c.apply("order", fmt.Sprintf(order, c.book.URL))
	run := c.start(ctx, "order", "watched")
	var seen []string
	for last := 0; ; {
		m := c.nextMember()
		event, ended := m.next(ctx, t, run, last)
		if ended {
			break
		}
		if event.number != last+1 {
			t.Fatalf("event %d came after %d", event.number, last)
		}
		last = event.number
		seen = append(seen, event.kind)
	}
	var stored []string
	for _, e := range c.journals()[run] {
		stored = append(stored, string(e.Data.Type()))
	}
	if !slices.Equal(seen, stored) || len(stored) < 20 {
		t.Errorf("seen   %v\nstored %v", seen, stored)
	}
}

// streamed is an event from a stream.
type streamed struct {
	number int
	kind   string
}

// next opens a stream, reads one event after last, and cuts the stream.
func (m *member) next(ctx context.Context, t *testing.T, run string, last int) (e streamed, ended bool) {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, m.url+"/api/v1/runs/"+run+"/events", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+testToken)
	req.Header.Set("Accept", "text/event-stream")
	if last > 0 {
		req.Header.Set("Last-Event-ID", strconv.Itoa(last))
	}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusNoContent {
		return e, true
	}
	for sc := bufio.NewScanner(resp.Body); sc.Scan(); {
		name, value, _ := strings.Cut(sc.Text(), ": ")
		switch {
		case name == "event":
			e.kind = value
		case name == "id":
			if e.number, err = strconv.Atoi(value); err != nil {
				t.Fatal(err)
			}
		case sc.Text() == "" && e.kind == "end":
			return e, true
		case sc.Text() == "" && e.number > 0:
			return e, false
		case sc.Text() == "":
			e = streamed{}
		}
	}
	t.Fatalf("the stream after event %d ended: %d", last, resp.StatusCode)
	return e, true
}

// onePerSlot checks that each run of the workflow tick has its own planned time (P37).
func (c *cluster) onePerSlot() (slots int) {
	c.t.Helper()
	heads, next, err := c.open().List(c.t.Context(), journal.Query{Workflow: "tick", Limit: 1000})
	if err != nil || next != "" {
		c.t.Fatal(err, next)
	}
	planned := map[string]bool{}
	for _, h := range heads {
		at, err := time.Parse(time.RFC3339Nano, h.Meta["planned"])
		if err != nil || h.Run != driver.DerivedRunID(at, "tick", "") || planned[h.Meta["planned"]] ||
			h.Status != journal.StatusCompleted {
			c.t.Errorf("run %s, %s, is of the planned time %q, %v", h.Run, h.Status, h.Meta["planned"], err)
		}
		planned[h.Meta["planned"]] = true
	}
	return len(planned)
}
