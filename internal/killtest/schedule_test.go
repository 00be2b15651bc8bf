package killtest_test

import (
	"bufio"
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/hocket-run/hocket"
	"github.com/hocket-run/hocket/graph"
	"github.com/hocket-run/hocket/internal/documents/linked"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/pgtest"
	"github.com/hocket-run/hocket/internal/randtest"
	"github.com/hocket-run/hocket/internal/scheduler"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/internal/store"
	"github.com/hocket-run/hocket/internal/store/pghome"
	"github.com/hocket-run/hocket/postgres"
)

// envTicks makes a child a program that schedules a graph, on the store that it names.
const envTicks = "HOCKET_TEST_TICKS"

// tick is the state of a scheduled graph.
type tick struct{ N int }

// ticking opens an engine with a graph scheduled every second, and works until ctx is done.
func ticking(ctx context.Context, cfg hocket.Config, options ...hocket.Option) (work func() error, err error) {
	g, err := graph.New[tick]("ticks").Start(graph.Do("n", func(_ context.Context, s *tick) error {
		s.N++
		return nil
	})).Compile()
	if err != nil {
		return nil, err
	}
	e, err := hocket.Open(ctx, cfg, options...)
	if err != nil {
		return nil, err
	}
	if err := hocket.Register(e, g, hocket.Schedule[tick]{ID: "s", Schedule: "@every 1s", CatchUp: "all",
		State: tick{1}}); err != nil {
		return nil, err
	}
	return func() error {
		defer e.Close()
		return e.Work(ctx)
	}, nil
}

// childTicks is a process of the program; it writes its scheduler's actions to standard output.
func childTicks() error {
	log := slog.New(slog.NewJSONHandler(os.Stdout, &slog.HandlerOptions{Level: slog.LevelDebug}))
	work, err := ticking(context.Background(), hocket.Config{DB: os.Getenv(envTicks), Program: "billing", Logger: log})
	if err != nil {
		return err
	}
	return work()
}

// logged is a line logged by a child.
type logged struct {
	Msg     string    `json:"msg"`
	Planned time.Time `json:"planned"`
}

// process is a child with its log lines.
type process struct {
	t    *testing.T
	cmd  *exec.Cmd
	told chan logged
	all  []logged
}

func startTicks(t *testing.T, db string) *process {
	t.Helper()
	p := &process{t: t, cmd: exec.CommandContext(t.Context(), os.Args[0]), told: make(chan logged, 10_000)}
	p.cmd.Env, p.cmd.Stderr = append(os.Environ(), envTicks+"="+db), os.Stderr
	out, err := p.cmd.StdoutPipe()
	if err == nil {
		err = p.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.told)
		for sc := bufio.NewScanner(out); sc.Scan(); {
			var l logged
			if json.Unmarshal(sc.Bytes(), &l) == nil { // the last line may be cut
				p.told <- l
			}
		}
	}()
	return p
}

// until waits for a line.
func (p *process) until(msg string) {
	p.t.Helper()
	limit := time.After(5 * time.Minute)
	for {
		select {
		case l, ok := <-p.told:
			if !ok {
				p.t.Fatalf("the process ended before %q", msg)
			}
			if p.all = append(p.all, l); l.Msg == msg {
				return
			}
		case <-limit:
			p.t.Fatalf("no %q in five minutes", msg)
		}
	}
}

func (p *process) kill() []logged {
	p.t.Helper()
	if err := p.cmd.Process.Kill(); err != nil {
		p.t.Fatal(err)
	}
	for l := range p.told {
		p.all = append(p.all, l)
	}
	_ = p.cmd.Wait() // killed
	return p.all
}

// TestKillSchedules checks X-110, P37 and S1-37: processes of a program are killed at random
// moments, one of two or both. No scheduled time has two runs, no two runs overlap, and each time
// has its run, through catch-up "all", unless a run was active then.
func TestKillSchedules(t *testing.T) {
	t.Parallel()
	db := filepath.Join(t.TempDir(), "hocket.db")
	random := randtest.New(t)
	var all []logged
	first := startTicks(t, db)
	first.until("schedule started")
	for range 4 {
		second := startTicks(t, db)
		second.until("schedule waiting")
		<-time.After(time.Duration(random.IntN(1500)) * time.Millisecond)
		all = append(all, first.kill()...)
		if random.IntN(2) == 0 {
			all = append(all, second.kill()...)
			<-time.After(time.Duration(random.IntN(1500)) * time.Millisecond)
			second = startTicks(t, db)
		}
		first = second
		first.until("schedule leading")
		first.until("schedule started")
	}
	home, err := store.Open(t.Context(), db, store.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer home.Close()
	var reg journal.Registration
	for done := false; !done; { // until missed times are caught up
		<-time.After(100 * time.Millisecond)
		list, err := home.Journal.Registrations(t.Context())
		if err != nil || len(list) != 1 {
			t.Fatal(list, err)
		}
		reg = list[0]
		done = reg.CatchUpTo.IsZero()
	}
	all = append(all, first.kill()...)
	if reg.Program != "billing" || reg.Workflow != "ticks" || reg.Schedule != "s" {
		t.Errorf("registered: %+v", reg)
	}
	excused := map[time.Time]bool{}
	for _, l := range all {
		if l.Msg == "schedule skipped" {
			excused[l.Planned.UTC()] = true
		}
	}
	runs := plannedRuns(t, home.Journal)
	for at := reg.Registered.Add(time.Second); !at.After(reg.Planned); at = at.Add(time.Second) {
		if !runs[at] && !excused[at] && at.Before(reg.Planned) {
			t.Errorf("%s was lost", at)
		}
	}
	if len(runs) < 5 {
		t.Errorf("%d runs", len(runs))
	}
	t.Logf("%d runs, %d times skipped for a run under way", len(runs), len(excused))
}

// plannedRuns returns the planned times of all runs, and checks that no time has two runs and that
// no runs overlap.
func plannedRuns(t *testing.T, log journal.Backend) map[time.Time]bool {
	t.Helper()
	heads, _, err := log.List(t.Context(), journal.Query{Limit: 1000}) // newest first
	if err != nil {
		t.Fatal(err)
	}
	runs := map[time.Time]bool{}
	for i, h := range heads {
		at, err := time.Parse(time.RFC3339Nano, h.Meta["planned"])
		if err != nil || h.Meta["schedule"] != "s" || h.Meta["program"] != "billing" ||
			h.Trigger != service.TriggerSchedule {
			t.Fatalf("run %s: %+v, %v", h.Run, h, err)
		}
		if runs[at] {
			t.Errorf("%s has two runs", at)
		}
		runs[at] = true
		if i > 0 && (h.Ended.IsZero() || h.Ended.After(heads[i-1].Created)) {
			t.Errorf("run %s had not ended when run %s began", h.Run, heads[i-1].Run)
		}
	}
	return runs
}

// TestSchedules_SharedStore checks X-110: two programs with a graph and a schedule of the same
// name, one of them in two processes, and a scheduler of documents work on one store: each starts
// its own runs, and none removes another's registrations.
func TestSchedules_SharedStore(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"sqlite", "postgres"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			var (
				options []hocket.Option
				cfg     = service.Config{Documents: linked.Kit(), Kind: journal.KindScheduler,
					Env: func(string) string { return "" }}
				db = filepath.Join(t.TempDir(), "hocket.db")
			)
			if kind == "postgres" {
				db = pgtest.URL(t)
				options, cfg.Stores = []hocket.Option{postgres.Open("")}, store.Servers{Postgres: pghome.New(nil)}
			}
			cfg.DB = db
			ctx, stop := context.WithTimeout(t.Context(), 5*time.Minute)
			defer stop()
			var working sync.WaitGroup
			defer working.Wait()
			defer stop()
			documents, err := service.Open(ctx, cfg)
			if err != nil {
				t.Fatal(err)
			}
			defer documents.Close()
			doc := `{"schedule": "1", "workflow": [{"type": "set", "id": "s", "values": {"x": "1"}}]}`
			if _, problems, err := documents.Apply(ctx,
				service.ApplyRequest{Documents: []service.Document{{File: "ticks.json", Data: []byte(doc)}}}); err !=
				nil || problems.HasErrors() {
				t.Fatal(problems, err)
			}
			started := make(chan struct{}, 1000)
			working.Go(func() {
				_ = documents.Schedule(ctx, service.ScheduleRequest{Report: func(e scheduler.Event) {
					if e.Kind == scheduler.EventStarted {
						started <- struct{}{}
					}
				}})
			})
			for _, program := range []string{"billing", "billing", "mail"} {
				work, err := ticking(ctx, hocket.Config{DB: db, Program: program}, options...)
				if err != nil {
					t.Fatal(err)
				}
				working.Go(func() { _ = work() })
			}
			counts := map[string]int{}
			for counts[""] < 3 || counts["billing"] < 3 || counts["mail"] < 3 {
				select {
				case <-started:
				case <-ctx.Done():
					t.Fatal(counts)
				}
				heads, _, err := documents.List(ctx, journal.Query{Limit: 1000})
				if err != nil {
					t.Fatal(err)
				}
				clear(counts)
				seen := map[string]bool{}
				for _, h := range heads {
					slot := h.Meta["program"] + " " + h.Meta["planned"]
					if seen[slot] {
						t.Errorf("%s has two runs", slot)
					}
					seen[slot] = true
					counts[h.Meta["program"]]++
				}
			}
			list, _, alive, err := documents.Schedules(ctx, nil)
			if err != nil || len(list) != 3 || !alive {
				t.Fatal(list, alive, err)
			}
			for i, want := range []string{"", "billing", "mail"} {
				if s := list[i]; s.Program != want || s.Workflow != "ticks" || !s.IsRun || s.LastRun == "" ||
					s.Next.IsZero() {
					t.Errorf("%+v", s)
				}
			}
			// External control requests apply to that program alone.
			q := service.ControlRequest{Program: "mail", Workflow: "ticks", Do: service.PauseSchedule, By: "ann"}
			if s, err := documents.ControlSchedule(ctx, q); err != nil || s.PausedBy != "ann" || s.Program != "mail" {
				t.Errorf("%+v, %v", s, err)
			}
			q.Program = ""
			if s, err := documents.ControlSchedule(ctx, q); err != nil || s.Program != "" {
				t.Errorf("a stored workflow of the name comes first: %+v, %v", s, err)
			}
			list, _, _, err = documents.Schedules(ctx, nil)
			if err != nil || list[0].Paused.IsZero() || !list[1].Paused.IsZero() || list[2].Paused.IsZero() {
				t.Errorf("%+v, %v", list, err)
			}
		})
	}
}
