package hocket_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket"
	"github.com/hocket-run/hocket/graph"
)

// report is the state of the scheduled graph of these tests.
type report struct{ City string }

// reports returns a graph whose function reports in which city it was called and when.
func reports(t *testing.T, do func(ctx context.Context, city string) error) *graph.Compiled[report] {
	t.Helper()
	g, err := graph.New[report]("reports").
		Start(graph.Do("report", func(ctx context.Context, s *report) error { return do(ctx, s.City) })).
		Compile()
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// atWork returns an in-memory engine that works until the end of the test.
func atWork(t *testing.T, g *graph.Compiled[report], schedules ...hocket.Schedule[report]) (
	e *hocket.Engine, end func()) {
	t.Helper()
	e, err := hocket.Open(t.Context(), hocket.Config{Program: "billing"})
	if err != nil {
		t.Fatal(err)
	}
	if err := hocket.Register(e, g, schedules...); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var working sync.WaitGroup
	working.Go(func() {
		if err := e.Work(ctx); err != nil {
			t.Error(err)
		}
	})
	return e, func() {
		stop()
		working.Wait()
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}
}

// diary collects what functions wrote. It is safe for concurrent use.
type diary struct {
	mu    sync.Mutex
	lines []string
}

func (d *diary) write(city string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = append(d.lines, time.Now().UTC().Format("02 15:04:05 ")+city)
}

func (d *diary) read() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.lines)
}

// TestSchedules checks that runs of a graph start at the times of its schedules, in their time
// zones, each with its own initial state, and that no two runs of one schedule overlap.
func TestSchedules(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // starts on 2000-01-01 00:00:00 UTC
		var d diary
		g := reports(t, func(ctx context.Context, city string) error {
			d.write(city)
			if city != "Rome" {
				return nil
			}
			select { // longer than the time between two of its runs
			case <-time.After(90 * time.Minute):
			case <-ctx.Done():
			}
			return ctx.Err()
		})
		e, end := atWork(t, g,
			hocket.Schedule[report]{ID: "ulm", Schedule: "30 6 * * *", TimeZone: "Europe/Berlin", State: report{"Ulm"}},
			hocket.Schedule[report]{ID: "rome", Schedule: "0 3,4,5 1 * *", State: report{"Rome"}},
			hocket.Schedule[report]{ID: "oslo", Schedule: "@every 8h", State: report{"Oslo"}})
		time.Sleep(32 * time.Hour)
		synctest.Wait()
		want := []string{"01 03:00:00 Rome", "01 05:00:00 Rome", "01 05:30:00 Ulm", "01 08:00:00 Oslo",
			"01 16:00:00 Oslo", "02 00:00:00 Oslo", "02 05:30:00 Ulm", "02 08:00:00 Oslo"}
		if diff := cmp.Diff(want, d.read()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		runs, _, err := e.List(t.Context(), hocket.Filter{Workflow: "reports"})
		if err != nil || len(runs) != len(want) {
			t.Errorf("%d runs, %v", len(runs), err)
		}
		list, err := e.Schedules(t.Context())
		if err != nil || len(list) != 3 {
			t.Fatal(list, err)
		}
		if s := list[2]; s.Graph != "reports" || s.ID != "ulm" || s.Schedule != "30 6 * * *" ||
			s.TimeZone != "Europe/Berlin" || s.LastStatus != hocket.StatusCompleted ||
			!s.Next.Equal(time.Date(2000, 1, 3, 5, 30, 0, 0, time.UTC)) {
			t.Errorf("%+v", s)
		}
		end()
	})
}

// TestControlSchedule checks that the scheduler obeys what the program requests for a schedule
//
func TestControlSchedule(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var d diary
		g := reports(t, func(_ context.Context, city string) error {
			d.write(city)
			return nil
		})
		e, end := atWork(t, g, hocket.Schedule[report]{Schedule: "@hourly", State: report{"Ulm"}})
		say := func(do string) hocket.ScheduleInfo {
			t.Helper()
			s, err := e.ControlSchedule(t.Context(), "reports", "", do)
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		time.Sleep(30 * time.Minute)
		if s := say("skip"); !s.Next.Equal(time.Date(2000, 1, 1, 2, 0, 0, 0, time.UTC)) || s.SkippedBy != "billing" {
			t.Errorf("skipped: %+v", s)
		}
		time.Sleep(2 * time.Hour) // 02:30
		if s := say("pause"); s.Paused.IsZero() || s.PausedBy != "billing" || !s.Next.IsZero() {
			t.Errorf("paused: %+v", s)
		}
		time.Sleep(time.Hour) // 03:30
		asked := say("run").AskedRun
		time.Sleep(10 * time.Second)
		if r, err := e.Get(t.Context(), asked); err != nil || r.Status != hocket.StatusCompleted {
			t.Errorf("run %s that was asked for: %+v, %v", asked, r, err)
		}
		say("resume")
		time.Sleep(time.Hour) // 04:30:10
		if got, want := d.read(), []string{"01 02:00:00 Ulm", "01 03:30:01 Ulm", "01 04:00:00 Ulm"}; len(got) != 3 ||
			got[0] != want[0] || !strings.HasPrefix(got[1], "01 03:30:0") || got[2] != want[2] {
			t.Errorf("%q, want %q", got, want)
		}
		if _, err := e.ControlSchedule(t.Context(), "reports", "other", "pause"); !errors.Is(err, hocket.ErrNotFound) {
			t.Errorf("another schedule: %v", err)
		}
		if _, err := e.ControlSchedule(t.Context(), "none", "", "pause"); !errors.Is(err, hocket.ErrNotFound) {
			t.Errorf("a graph without schedules: %v", err)
		}
		if _, err := e.ControlSchedule(t.Context(), "reports", "", "stop"); err == nil ||
			!strings.Contains(err.Error(), `"stop"`) {
			t.Errorf("another word: %v", err)
		}
		end()
	})
}

// TestScheduleErrors checks that Register returns an error that names schedule and graph for an
// invalid schedule, and then registers nothing.
func TestScheduleErrors(t *testing.T) {
	t.Parallel()
	e, err := hocket.Open(t.Context(), hocket.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	g := reports(t, func(context.Context, string) error { return nil })
	type list = []hocket.Schedule[report]
	for _, c := range []struct {
		schedules list
		want      string
	}{
		{list{{ID: "a", Schedule: "61 * * * *"}}, `schedule "a" of graph "reports": `},
		{list{{ID: "a"}}, "needs a schedule"},
		{list{{ID: "a", Schedule: "@daily", TimeZone: "Europe/Berlim"}}, "Europe/Berlim"},
		{list{{ID: "a b", Schedule: "@daily"}}, "an ID has letters"},
		{list{{ID: "a", Schedule: "@daily"}, {ID: "a", Schedule: "@hourly"}}, "another one has this ID"},
		{list{{ID: "a", Schedule: "@daily"}, {Schedule: "@hourly"}}, "of several schedules each needs an ID"},
		{list{{Schedule: "@daily", CatchUp: "some"}}, `CatchUp is "some"; use last, none or all`},
		{make(list, 101), "the limit is 100"},
	} {
		if err := hocket.Register(e, g, c.schedules...); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
	if got, err := e.Schedules(t.Context()); err != nil || len(got) != 0 {
		t.Errorf("%v, %v", got, err)
	}
	type level struct{ Metres float64 }
	odd, err := graph.New[level]("odd").Start(graph.Do("n", func(context.Context, *level) error { return nil })).
		Compile()
	if err != nil {
		t.Fatal(err)
	}
	if err := hocket.Register(e, odd, hocket.Schedule[level]{Schedule: "@daily",
		State: level{math.NaN()}}); err == nil || !strings.Contains(err.Error(), "encode state") {
		t.Errorf("a state that JSON cannot hold: %v", err)
	}
}
