package service_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/scheduler"
	"github.com/hocket-run/hocket/internal/service"
)

const envScheduler = "HOCKET_TEST_SCHEDULER" // the store to mind, in a child process

const ticksDocument = `{
  "id": "ticks",
  "agents": [{"id": "w", "name": "Writer"}],
  "branches": [
    {"id": "tick", "nodes": [{"id": "n", "type": "agent", "config": {"agentId": "w"}}], "edges": [], "executionMode": "interval", "schedule": "1"},
    {"id": "loop", "nodes": [{"id": "n", "type": "agent", "config": {"agentId": "w"}}], "edges": [], "executionMode": "continuous", "schedule": "1"}
  ]
}`

const ticksReplies = `replies:
  - agent: Writer
    text: done
    delayMs: 150
    times: always
`

// mindSchedules is a scheduler in a process of its own, until its standard input ends. It tells what happens, a line each.
func mindSchedules(db string) int {
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	s, err := service.Open(ctx, service.Config{DB: db, Kind: journal.KindScheduler, Env: func(string) string { return "" }})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	q := service.ScheduleRequest{Files: service.Files{Replies: []byte(ticksReplies)}, Report: func(e scheduler.Event) {
		key := e.Branch
		if key == "" {
			key = "-"
		}
		fmt.Println(e.Kind, key, e.At.UnixMicro(), e.Planned.UnixMicro())
	}}
	if err := s.Schedule(ctx, q); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	_ = s.Close()
	return 0
}

// minder is a child process that minds schedules.
type minder struct {
	t    *testing.T
	cmd  *exec.Cmd
	told chan told
}

type told struct {
	kind    scheduler.EventKind
	branch  string
	at      time.Time
	planned time.Time
}

func startMinder(t *testing.T, db string) *minder {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	m := &minder{t: t, cmd: exec.Command(self), told: make(chan told, 10_000)}
	m.cmd.Env = append(os.Environ(), envScheduler+"="+db)
	m.cmd.Stderr = os.Stderr
	if _, err := m.cmd.StdinPipe(); err != nil { // it ends with us
		t.Fatal(err)
	}
	out, err := m.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := m.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(m.told)
		for sc := bufio.NewScanner(out); sc.Scan(); {
			var (
				e           told
				at, planned int64
			)
			if _, err := fmt.Sscan(sc.Text(), &e.kind, &e.branch, &at, &planned); err == nil {
				e.at, e.planned = time.UnixMicro(at).UTC(), time.UnixMicro(planned).UTC()
				m.told <- e
			}
		}
	}()
	return m
}

// until gives the next event of a kind and branch.
func (m *minder) until(kind scheduler.EventKind, branch string) told {
	m.t.Helper()
	limit := time.After(time.Minute)
	for {
		select {
		case e, ok := <-m.told:
			if !ok {
				m.t.Fatalf("the scheduler ended before %s", kind)
			}
			if e.kind == kind && e.branch == branch {
				return e
			}
		case <-limit:
			m.t.Fatalf("no %s in a minute", kind)
		}
	}
}

// kill ends the child by kill -9 and gives the time before it.
func (m *minder) kill() time.Time {
	m.t.Helper()
	at := time.Now()
	if err := m.cmd.Process.Kill(); err != nil {
		m.t.Fatal(err)
	}
	for range m.told { // until its output ends
	}
	_ = m.cmd.Wait() // killed
	return at
}

// P37, S1-37, S1-39: schedulers are killed at random moments and started again, beside others on the same store. No planned time runs twice, no two
// runs of a branch overlap, and of the planned times that were missed the last one is made up for.
func TestKillScheduler(t *testing.T) {
	t.Parallel()
	db := filepath.Join(t.TempDir(), "hocket.db")
	watch, err := service.Open(t.Context(), service.Config{DB: db, Env: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Close()
	if _, problems := applyText(t, watch, "ticks.json", ticksDocument, false); problems.HasErrors() {
		t.Fatal(problems)
	}
	var lives []reign
	beside := startMinder(t, db)
	led := beside.until(scheduler.EventLeading, "-")
	registered := led.at
	for range 3 {
		// One leads and another waits. The leader is killed, or both at once.
		next := startMinder(t, db)
		next.until(scheduler.EventWaiting, "-")
		beside.until(scheduler.EventStarted, "tick")
		beside.until(scheduler.EventStarted, "loop")
		timer := time.NewTimer(time.Duration(rand.IntN(1000)) * time.Millisecond)
		<-timer.C
		lives = append(lives, reign{led.at, beside.kill()})
		if rand.IntN(2) == 0 {
			next.kill()
			next = startMinder(t, db)
		}
		beside = next
		led = beside.until(scheduler.EventLeading, "-")
	}
	beside.until(scheduler.EventStarted, "tick")
	lives = append(lives, reign{led.at, beside.kill()})
	checkTicks(t, watch, registered, lives)
}

// reign is the time in which one process minded the schedules.
type reign struct{ from, to time.Time }

func checkTicks(t *testing.T, watch *service.Service, registered time.Time, lives []reign) {
	t.Helper()
	heads, _, err := watch.List(t.Context(), journal.Query{Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(heads, func(a, b journal.Head) int { return a.Created.Compare(b.Created) })
	last := map[string]journal.Head{}
	runs := map[time.Time]bool{}
	for _, h := range heads {
		branch := h.Meta["targetBranchId"]
		planned, err := time.Parse(time.RFC3339Nano, h.Meta["planned"])
		if err != nil || branch != "tick" && branch != "loop" || h.Workflow != "ticks" || h.Kind != journal.KindScheduler {
			t.Fatalf("run %s: %v, %v", h.Run, err, h.Meta)
		}
		if before, ok := last[branch]; ok && (before.Ended.IsZero() || h.Created.Before(before.Ended)) {
			t.Errorf("%s: run %s began before run %s had ended", branch, h.Run, before.Run)
		}
		last[branch] = h
		if branch != "tick" {
			continue
		}
		if runs[planned] {
			t.Errorf("%s has two runs", planned)
		}
		runs[planned] = true
		if h.Created.Before(planned) {
			t.Errorf("run of %s began at %s", planned, h.Created)
		}
	}
	list, _, _, err := watch.Schedules(t.Context(), nil)
	if err != nil || len(list) != 2 || list[1].Branch.Branch != "tick" || list[1].LastRun == "" || list[1].Next.IsZero() {
		t.Fatalf("list %+v, %v", list, err)
	}
	// Ticks stand at whole seconds after the registration, which came soon after the first scheduler led, and whose phase the next tick tells.
	phase := list[1].Next.UTC()
	first := phase.Add(-phase.Sub(registered).Truncate(time.Second)).Add(time.Second)
	end := lives[len(lives)-1].to
	for at := first; at.Before(end); at = at.Add(time.Second) {
		ran := runs[at]
		delete(runs, at)
		for i, l := range lives {
			isLast := at.Add(time.Second).After(l.from)
			switch {
			case at.After(l.from) && at.Before(l.to.Add(-500*time.Millisecond)):
				under := slices.ContainsFunc(heads, func(h journal.Head) bool {
					return h.Meta["targetBranchId"] == "tick" && h.Created.Before(at.Add(time.Second)) && (h.Ended.IsZero() || h.Ended.After(at))
				})
				if !ran && !under {
					t.Errorf("%s was lost", at)
				}
			case i > 0 && at.After(lives[i-1].to) && at.Before(l.from) && ran != isLast:
				t.Errorf("%s was missed between %s and %s: ran %v, want %v", at, lives[i-1].to, l.from, ran, isLast)
			}
		}
	}
	for at := range runs {
		t.Errorf("%s is no planned time", at)
	}
}
