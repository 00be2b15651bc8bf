package conformance_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hocket-run/hocket"
	"github.com/hocket-run/hocket/graph"
)

// scheduleRun is an in-memory program that runs the schedules of a graph.
type scheduleRun struct {
	t     *testing.T
	e     *hocket.Engine
	begin time.Time

	mu   sync.Mutex
	runs []string
}

// runSchedules makes an engine run the schedules of a graph whose node takes as long as takes.
func runSchedules(t *testing.T, takes time.Duration, schedules ...hocket.Schedule[sheet]) *scheduleRun {
	t.Helper()
	e, err := hocket.Open(t.Context(), hocket.Config{Program: "p"})
	if err != nil {
		t.Fatal(err)
	}
	m := &scheduleRun{t: t, e: e, begin: time.Now()}
	g := compiled(t, newGraph().Then(graph.Do("n", func(ctx context.Context, s *sheet) error {
		m.mu.Lock()
		m.runs = append(m.runs, fmt.Sprint(time.Since(m.begin).Round(time.Minute), " ", s.N))
		m.mu.Unlock()
		select {
		case <-time.After(takes):
		case <-ctx.Done():
		}
		return ctx.Err()
	})))
	same(t, "register", hocket.Register(e, g, schedules...), nil)
	ctx, stop := context.WithCancel(t.Context())
	var working sync.WaitGroup
	working.Go(func() { same(t, "work", e.Work(ctx), nil) })
	t.Cleanup(func() {
		stop()
		working.Wait()
		same(t, "close", e.Close(), nil)
	})
	return m
}

// until waits until d after the start and returns the runs that have started: when, and with which
// state.
func (m *scheduleRun) until(d time.Duration) string {
	<-time.After(d - time.Since(m.begin))
	m.mu.Lock()
	defer m.mu.Unlock()
	return strings.Join(m.runs, ", ")
}

func (m *scheduleRun) say(do string) hocket.ScheduleInfo {
	m.t.Helper()
	s, err := m.e.ControlSchedule(m.t.Context(), "t", "", do)
	same(m.t, do, err, nil)
	return s
}

var graphSchedules = []rule{
	{name: "X-110 a program starts the runs of its graphs' schedules while it works", test: func(t *testing.T) {
		m := runSchedules(t, 0, hocket.Schedule[sheet]{ID: "a", Schedule: "@every 25m", State: sheet{N: 1}},
			hocket.Schedule[sheet]{ID: "b", Schedule: "0 * * * *", TimeZone: "Asia/Kolkata", State: sheet{N: 2}})
		same(t, "runs", m.until(80*time.Minute), "25m0s 1, 30m0s 2, 50m0s 1, 1h15m0s 1")
		list, err := m.e.Schedules(t.Context())
		same(t, "list", []any{len(list), list[0].ID, list[1].ID, list[1].Next.Sub(m.begin), err},
			[]any{2, "a", "b", 90 * time.Minute, nil})
		r, err := m.e.Get(t.Context(), list[0].LastRun)
		same(t, "last run", []any{r.Status, err}, []any{hocket.StatusCompleted, nil})
		m = runSchedules(t, 45*time.Minute, hocket.Schedule[sheet]{Schedule: "1800"})
		same(t, "no two at once", m.until(2*time.Hour+time.Minute), "30m0s 0, 1h30m0s 0")
	}},
	{name: "X-111 a schedule of a graph is paused, resumed, skipped and run", test: func(t *testing.T) {
		m := runSchedules(t, 0, hocket.Schedule[sheet]{Schedule: "@hourly"})
		same(t, "skip", m.say("skip").SkipUntil.Sub(m.begin), time.Hour)
		same(t, "skipped", m.until(150*time.Minute), "2h0m0s 0")
		same(t, "pause", m.say("pause").PausedBy, "p")
		same(t, "paused", m.until(4*time.Hour+time.Minute), "2h0m0s 0")
		asked := m.say("run").AskedRun
		same(t, "asked", m.until(4*time.Hour+5*time.Minute), "2h0m0s 0, 4h1m0s 0")
		r, err := m.e.Get(t.Context(), asked)
		same(t, "run", []any{r.Status, err}, []any{hocket.StatusCompleted, nil})
		same(t, "resume", m.say("resume").Next.Sub(m.begin), 5*time.Hour)
		same(t, "resumed", m.until(5*time.Hour+time.Minute), "2h0m0s 0, 4h1m0s 0, 5h0m0s 0")
	}},
}

func TestGraphSchedules(t *testing.T) { check(t, graphSchedules) }

func TestGraphSchedulesCovered(t *testing.T) { covered(t, graphSchedules, "X-110", "X-111") }
