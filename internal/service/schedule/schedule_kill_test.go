package schedule_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/documents/linked"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/randtest"
	"github.com/hocket-run/hocket/internal/scheduler"
	"github.com/hocket-run/hocket/internal/service"
)

const envScheduler = "HOCKET_TEST_SCHEDULER" // the store to watch, in a child process

const ticksDocument = `{
  "id": "ticks",
  "agents": [{"id": "w", "name": "Writer"}],
  "branches": [
    {"id": "tick", "nodes": [{"id": "n", "type": "agent", "config": {"agentId": "w"}}], "edges": [], ` +
	`"executionMode": "interval", "schedule": "1"},
    {"id": "loop", "nodes": [{"id": "n", "type": "agent", "config": {"agentId": "w"}}], "edges": [], ` +
	`"executionMode": "continuous", "schedule": "1"}
  ]
}`

const ticksReplies = `replies:
  - agent: Writer
    text: done
    delayMs: 150
    times: always
`

// runSchedulerProcess runs a scheduler in a separate process, until its standard input ends. It
// prints events, one per line.
func runSchedulerProcess(db string) int {
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	s, err := service.Open(ctx, service.Config{Documents: linked.Kit(), DB: db, Kind: journal.KindScheduler,
		Env: func(string) string { return "" }})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	q := service.ScheduleRequest{Files: service.Files{Replies: []byte(ticksReplies)}, Report: func(e scheduler.Event) {
		key := e.Branch
		if key == "" {
			key = "-"
		}
		fmt.Println(e.Kind, key, e.At.UnixMicro(), e.Planned.UnixMicro(), e.Count, e.CatchUp)
	}}
	if err := s.Schedule(ctx, q); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	_ = s.Close()
	return 0
}

// schedulerProcess is a child process that runs schedules.
type schedulerProcess struct {
	t       *testing.T
	cmd     *exec.Cmd
	reports chan report
	all     []report // everything received from it
}

type report struct {
	kind           scheduler.EventKind
	branch         string
	at, planned    time.Time
	count, catchUp int
}

func startMinder(t *testing.T, db string) *schedulerProcess {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	m := &schedulerProcess{t: t, cmd: exec.Command(self), reports: make(chan report, 10_000)}
	m.cmd.Env = append(os.Environ(), envScheduler+"="+db)
	m.cmd.Stderr = os.Stderr
	if _, err := m.cmd.StdinPipe(); err != nil { // it ends with the parent process
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
		defer close(m.reports)
		for sc := bufio.NewScanner(out); sc.Scan(); {
			var (
				e           report
				at, planned int64
			)
			if _, err := fmt.Sscan(sc.Text(), &e.kind, &e.branch, &at, &planned, &e.count, &e.catchUp); err == nil {
				e.at, e.planned = time.UnixMicro(at).UTC(), time.UnixMicro(planned).UTC()
				m.reports <- e
			}
		}
	}()
	return m
}

// until returns the next event of a kind and branch.
func (m *schedulerProcess) until(kind scheduler.EventKind, branch string) report {
	m.t.Helper()
	limit := time.After(5 * time.Minute)
	for {
		select {
		case e, ok := <-m.reports:
			if !ok {
				m.t.Fatalf("the scheduler ended before %s", kind)
			}
			m.all = append(m.all, e)
			if e.kind == kind && e.branch == branch {
				return e
			}
		case <-limit:
			m.t.Fatalf("no %s in five minutes", kind)
		}
	}
}

// kill ends the child with kill -9 and returns all of its events.
func (m *schedulerProcess) kill() []report {
	m.t.Helper()
	if err := m.cmd.Process.Kill(); err != nil {
		m.t.Fatal(err)
	}
	for e := range m.reports { // until its output ends
		m.all = append(m.all, e)
	}
	_ = m.cmd.Wait() // killed
	return m.all
}

// P37, S1-37, S1-39: schedulers are killed at random moments and restarted, next to others on the
// same store. No planned time runs twice, no two runs of a branch overlap, and of the missed
// planned times the last one is caught up.
func TestKillScheduler(t *testing.T) {
	t.Parallel()
	db := filepath.Join(t.TempDir(), "hocket.db")
	watch, err := service.Open(t.Context(), service.Config{Documents: linked.Kit(), DB: db, Env: func(string) string {
		return ""
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Close()
	if _, problems := applyText(t, watch, "ticks.json", ticksDocument, false); problems.HasErrors() {
		t.Fatal(problems)
	}
	random := randtest.New(t)
	var all []report
	beside := startMinder(t, db)
	beside.until(scheduler.EventLeading, "-")
	for range 3 {
		// One leads and another waits. The leader is killed, or both are at once.
		next := startMinder(t, db)
		next.until(scheduler.EventWaiting, "-")
		beside.until(scheduler.EventStarted, "tick")
		beside.until(scheduler.EventStarted, "loop")
		timer := time.NewTimer(time.Duration(random.IntN(1000)) * time.Millisecond)
		<-timer.C
		all = append(all, beside.kill()...)
		if random.IntN(2) == 0 {
			all = append(all, next.kill()...)
			next = startMinder(t, db)
		}
		beside = next
		beside.until(scheduler.EventLeading, "-")
	}
	beside.until(scheduler.EventStarted, "tick")
	// The last missed time has its run, at the latest once another run of the branch has ended.
	var missed time.Time
	for _, e := range append(slices.Clone(all), beside.all...) {
		if e.kind == scheduler.EventMissed && e.branch == "tick" && e.catchUp > 0 {
			missed = e.planned
		}
	}
	await(t, func() bool {
		heads, _, err := watch.List(t.Context(), journal.Query{Limit: 1000})
		return err == nil && (missed.IsZero() || slices.ContainsFunc(heads, func(h journal.Head) bool {
			return h.Meta["targetBranchId"] == "tick" && h.Meta["planned"] == missed.Format(time.RFC3339Nano)
		}))
	})
	checkTicks(t, watch, append(all, beside.kill()...))
}

// checkTicks compares the runs with the events that schedulers reported. How late a scheduler polls
// depends on the machine; the outcome of each planned time does not.
func checkTicks(t *testing.T, watch *service.Service, all []report) {
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
		if err != nil || branch != "tick" && branch != "loop" || h.Workflow != "ticks" ||
			h.Kind != journal.KindScheduler {
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
	if err != nil || len(list) != 2 || list[1].Branch.Branch != "tick" || list[1].LastRun == "" ||
		list[1].Next.IsZero() {
		t.Fatalf("list %+v, %v", list, err)
	}
	// The planned times are whole seconds after the registration. Each one up to the last start had
	// its run, or was skipped or missed.
	var registered, end time.Time
	done := maps.Clone(runs)
	for _, e := range all {
		switch {
		case e.branch != "tick":
			continue
		case e.kind == scheduler.EventRegistered:
			registered = e.at
		case e.kind == scheduler.EventSkipped:
			done[e.planned] = true
		case e.kind == scheduler.EventMissed:
			for n := range e.count {
				done[e.planned.Add(-time.Duration(n)*time.Second)] = true
			}
		case e.kind == scheduler.EventStarted && e.planned.After(end): // earlier planned times were decided before it
			end = e.planned
		}
	}
	if registered.IsZero() || len(runs) < 4 {
		t.Fatalf("registered at %s, %d runs", registered, len(runs))
	}
	for at := range runs {
		if d := at.Sub(registered); d < time.Second || d%time.Second != 0 {
			t.Errorf("%s is no planned time", at)
		}
	}
	for at := registered.Add(time.Second); !at.After(end); at = at.Add(time.Second) {
		if !done[at] {
			t.Errorf("%s was lost", at)
		}
	}
}
