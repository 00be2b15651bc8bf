package killtest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/documents/linked"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/errcode"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/killtest"
	"github.com/hocket-run/hocket/internal/pgtest"
	"github.com/hocket-run/hocket/internal/randtest"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/internal/store"
	"github.com/hocket-run/hocket/internal/store/pghome"
	"github.com/hocket-run/hocket/internal/tool"
	"github.com/hocket-run/hocket/internal/tool/tooltest"
	"github.com/hocket-run/hocket/workflow"
)

// envLine makes a child start the runs of a queue and kill itself at a write: it is a lineKill in
// JSON.
const envLine = "HOCKET_TEST_LINE"

// lineKill specifies what a child does: runs of one key, and when it dies.
type lineKill struct {
	Policy  string
	Max     int
	Write   int // from 1
	IsAfter bool
}

func (k lineKill) key() string {
	return fmt.Sprintf("%s-%d-%d-%t", k.Policy, k.Max, k.Write, k.IsAfter)
}

// run returns the name of one of the child's four runs, in the order in which they are started.
func (k lineKill) run(i int) string { return fmt.Sprintf("%s-%d", k.key(), i) }

const lineRuns = 4

// document returns the workflow of the queued runs: a short call, with as many runs active as
// allowed.
func (k lineKill) document() []byte {
	return fmt.Appendf(nil, `
inputs: {key: {type: string}}
concurrency: {key: "{{ $input.key }}", max: %d, if_busy: %s}
workflow: [{id: a, type: tool, tool: count, args: {n: 1}}]
`, k.Max, k.Policy)
}

// start starts one of the queued runs.
func (k lineKill) start(ctx context.Context, s *service.Service, run string) error {
	w, list, err := s.Load(ctx, "line.yaml", k.document(), service.LoadOptions{})
	if err != nil || list.HasErrors() {
		return errors.Join(list.Err(), err)
	}
	_, err = s.Start(ctx,
		service.StartRequest{RunID: run, Workflow: w, Inputs: json.RawMessage(fmt.Sprintf(`{"key": %q}`, k.key()))})
	return err
}

// deadly is a store that kills its process at a write of the journal or of a queue.
type deadly struct {
	journal.Backend
	at      int
	isAfter bool

	mu     sync.Mutex
	writes int
}

// do performs a write and may kill the process before or after it, without waiting for other
// goroutines.
func (d *deadly) do(write func() error) error {
	d.mu.Lock()
	d.writes++
	isLast := d.writes == d.at
	d.mu.Unlock()
	if isLast && !d.isAfter {
		die()
	}
	err := write()
	if isLast {
		die()
	}
	return err
}

// die sends kill -9 to this process.
func die() {
	if p, err := os.FindProcess(os.Getpid()); err == nil {
		_ = p.Kill()
	}
	select {}
}

// Append implements journal.Log.
func (d *deadly) Append(ctx context.Context, a journal.Append) error {
	return d.do(func() error { return d.Backend.Append(ctx, a) })
}

// Queue implements journal.Slots.
func (d *deadly) Queue(ctx context.Context, s journal.Slot) (t journal.Turn, err error) {
	err = d.do(func() error { t, err = d.Backend.Queue(ctx, s); return err })
	return t, err
}

// Admit implements journal.Slots. It counts as a write only if it may write.
func (d *deadly) Admit(ctx context.Context, run string) (t journal.Turn, err error) {
	if t, err = d.Turn(ctx, run); err != nil || t.Admitted || t.Behind != "" {
		return d.Backend.Admit(ctx, run)
	}
	err = d.do(func() error { t, err = d.Backend.Admit(ctx, run); return err })
	return t, err
}

// Confirm implements journal.Slots.
func (d *deadly) Confirm(ctx context.Context, run string) error {
	return d.do(func() error { return d.Backend.Confirm(ctx, run) })
}

// Unqueue implements journal.Slots.
func (d *deadly) Unqueue(ctx context.Context, run string) error {
	return d.do(func() error { return d.Backend.Unqueue(ctx, run) })
}

// deadlyKind opens the store at a locator with a deadly journal, as if it were on a server.
type deadlyKind struct {
	store.Kind
	db string
	k  lineKill
}

// Open implements store.Kind.
func (d deadlyKind) Open(ctx context.Context, at store.Locator, cfg store.Config) (home *store.Home, err error) {
	if strings.HasPrefix(d.db, "postgres") {
		home, err = pghome.New(nil).Open(ctx, at, cfg)
	} else {
		home, err = store.Open(ctx, d.db, cfg)
	}
	if err == nil {
		home.Journal = &deadly{Backend: home.Journal, at: d.k.Write, isAfter: d.k.IsAfter}
	}
	return home, err
}

// lineService opens a service with the tool of the queued runs.
func lineService(ctx context.Context, db string, servers store.Servers) (*service.Service, error) {
	count := &tooltest.Tool{Name: "count", Retry: true,
		Fn: func(ctx context.Context, _ tool.Call) (tool.Result, error) {
			return tool.Result{Text: "counted"}, work(ctx)
		}}
	return service.Open(ctx, service.Config{Documents: linked.Kit(), DB: db, Stores: servers, Env: func(string) string {
		return ""
	}, Tools: []tool.Tool{count}})
}

// childLine starts the queued runs, one after the other, and waits for them to end.
func childLine(string) error {
	ctx := context.Background()
	var k lineKill
	if err := json.Unmarshal([]byte(os.Getenv(envLine)), &k); err != nil {
		return err
	}
	db := os.Getenv(envDB)
	url := db
	if !strings.HasPrefix(db, "postgres") {
		url = "postgres://localhost/no-server" // a placeholder: the kind opens a file
	}
	s, err := lineService(ctx, url, store.Servers{Postgres: deadlyKind{db: db, k: k}})
	if err != nil {
		return err
	}
	defer s.Close()
	for i := range lineRuns {
		if err := k.start(ctx, s, k.run(i)); err != nil && !errors.Is(err, journal.ErrBusy) {
			return err
		}
	}
	for i := range lineRuns {
		if _, err := s.Wait(ctx, k.run(i)); err != nil && !errors.Is(err, journal.ErrNotFound) {
			return err
		}
	}
	return nil
}

// lineTest is a store on which children die, and a living process.
type lineTest struct {
	db       string
	isServer bool // db is the URL of a PostgreSQL server
	self     string
	s        *service.Service
}

// run kills a child at a write, resumes its runs, and checks the queue. It reports whether the child
// finished before that write.
func (l *lineTest) run(t *testing.T, k lineKill) (isWhole bool) {
	t.Helper()
	plan, err := json.Marshal(k)
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), l.self)
	c.Env, c.Stderr = append(os.Environ(), killtest.ChildEnv+"=line", envDB+"="+l.db, envLine+"="+string(plan)),
		os.Stderr
	err = c.Run()
	if isWhole = err == nil; !isWhole && c.ProcessState.ExitCode() == 1 {
		t.Fatalf("%s: the child failed", k.key())
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	runs := l.stored(t, k)
	// A living process starts a run while the dead one's runs are left; it waits for the runs that
	// have slots, or cancels the oldest.
	own, last := k.key()+"-own", make(chan error, 1)
	if k.Policy != workflow.BusySkip {
		go func() { last <- k.start(ctx, l.s, own) }()
	}
	for _, run := range runs {
		err := l.s.Resume(ctx, run)
		// PostgreSQL may not have detected the child's death yet
		for l.isServer && errors.Is(err, journal.ErrOwned) && ctx.Err() == nil {
			time.Sleep(10 * time.Millisecond)
			err = l.s.Resume(ctx, run)
		}
		if err != nil && !errors.Is(err, engine.ErrEnded) {
			// the run in the living process has since cancelled it
			if st, serr := l.s.Wait(ctx, run); serr != nil || !st.Status.Ended() {
				t.Fatalf("%s: resume: %v, %v", run, err, serr)
			}
		}
	}
	for _, run := range runs {
		st, err := l.s.Wait(ctx, run)
		if err != nil || st.Status != event.StatusCompleted &&
			(k.Policy != workflow.BusyCancel || st.Status != event.StatusCancelled) {
			t.Fatalf("run %s is %s: %v", run, st.Status, err)
		}
	}
	if k.Policy == workflow.BusySkip {
		last <- k.start(ctx, l.s, own)
	}
	if err := <-last; err != nil {
		code, fields := errcode.Of(err)
		t.Fatalf("%s: the run of the living process: %v %s %v", k.key(), err, code, fields)
	}
	if st, err := l.s.Wait(ctx, own); err != nil || st.Status != event.StatusCompleted {
		t.Fatalf("run %s is %s: %v", own, st.Status, err)
	}
	l.check(t, k, runs, own)
	return isWhole
}

// stored returns the runs of a child that are in the store, in the order in which they were
// started.
func (l *lineTest) stored(t *testing.T, k lineKill) (runs []string) {
	t.Helper()
	for i := range lineRuns {
		_, err := l.s.Head(t.Context(), k.run(i))
		switch {
		case err == nil:
			runs = append(runs, k.run(i))
		case !errors.Is(err, journal.ErrNotFound):
			t.Fatal(err)
		}
	}
	return runs
}

// check checks the journals: never are more runs active than allowed, waiting runs start in order,
// and all slots are free in the end.
func (l *lineTest) check(t *testing.T, k lineKill, runs []string, own string) {
	t.Helper()
	type moment struct {
		at time.Time
		by int
	}
	var all []moment
	var former time.Time
	for _, run := range append(slices.Clone(runs), own) {
		events, err := l.s.Events(t.Context(), run, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			switch e.Data.(type) {
			case *event.RunStarted:
				all = append(all, moment{e.At, 1})
				if run != own && k.Policy == workflow.BusyQueue && e.At.Before(former) {
					t.Errorf("run %s began before the one before it", run)
				}
				if run != own {
					former = e.At
				}
			case *event.RunCompleted, *event.RunCancelled:
				all = append(all, moment{e.At, -1})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b moment) int {
		if n := a.at.Compare(b.at); n != 0 {
			return n
		}
		return a.by - b.by
	})
	on := 0
	for _, m := range all {
		if on += m.by; on > k.Max {
			t.Errorf("%s: %d runs at once, %d may be", k.key(), on, k.Max)
		}
	}
	head, err := l.s.Head(t.Context(), own)
	if err != nil {
		t.Fatal(err)
	}
	_, name, _ := strings.Cut(head.Meta["hocket.slot"], " ")
	slots := l.s.Home().Journal
	for i := range k.Max + 1 {
		turn, err := slots.Queue(t.Context(), journal.Slot{Name: name, Run: fmt.Sprintf("%s-free-%d", k.key(), i),
			Max: k.Max, OnlyFree: true})
		if err != nil || turn.Admitted != (i < k.Max) {
			t.Errorf("%s: when all has ended %d slots are not free: %+v, %v", k.key(), i, turn, err)
		}
	}
}

// TestKillQueues checks: a process is killed before or after any write of its runs
// and of their queue. Never more runs of the key are active than allowed, no stored run is lost or
// waits forever, waiting runs start in order, and no slot stays taken. It is killed at four moments
// for each policy and limit, and at all moments if HOCKET_KILLS is 1,000 or more.
func TestKillQueues(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"sqlite", "postgres"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			self, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			l := &lineTest{db: filepath.Join(t.TempDir(), "hocket.db"), self: self}
			if kind == "postgres" {
				l.db, l.isServer = pgtest.URL(t), true
			}
			if l.s, err = lineService(t.Context(), l.db, store.Servers{Postgres: pghome.New(nil)}); err != nil {
				t.Fatal(err)
			}
			defer l.s.Close()
			random, kills := randtest.New(t), 0
			for _, policy := range []string{workflow.BusyQueue, workflow.BusySkip, workflow.BusyCancel} {
				for _, most := range []int{1, 2} {
					if killtest.Kills() >= 1000 {
						for write, isWhole := 1, false; !isWhole; write++ {
							isWhole = l.run(t, lineKill{policy, most, write, false})
							l.run(t, lineKill{policy, most, write, true})
							kills += 2
						}
						continue
					}
					for _, moment := range random.Perm(2 * lineWrites)[:4] {
						l.run(t, lineKill{policy, most, 1 + moment/2, moment%2 == 1})
						kills++
					}
				}
			}
			t.Logf("%d children", kills)
		})
	}
}

// lineWrites is the approximate number of writes that the child performs.
const lineWrites = 26
