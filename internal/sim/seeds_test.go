package sim_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/driver/embedded"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/waits"
	"github.com/hocket-run/hocket/internal/expr/celexpr"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/randtest"
	"github.com/hocket-run/hocket/internal/sim"
	"github.com/hocket-run/hocket/workflow"
)

var seeds = flag.Int("sim.seeds", 40, "how many seeds TestSeeds plays; make test-all plays ten times as many")

// TestSeeds runs random workflows under random faults and compares them with the same workflows on
// a disk without faults (P4, P18, D7, D8).
func TestSeeds(t *testing.T) {
	t.Parallel()
	for seed := range randtest.Seeds(*seeds) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			var want, got map[string]any
			synctest.Test(t, func(t *testing.T) { want = play(t, seed, false) })
			synctest.Test(t, func(t *testing.T) { got = play(t, seed, true) })
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("seed %d ends otherwise with faults than without; play it again with HOCKET_SEED=%d and "+
					"-sim.seeds=1\n%s", seed, seed, diff)
			}
		})
	}
}

// TestSameSeed checks that the generator and the world are deterministic: equal seeds produce equal
// runs.
func TestSameSeed(t *testing.T) {
	t.Parallel()
	for seed := uint64(1); seed <= 5; seed++ {
		var a, b map[string]any
		synctest.Test(t, func(t *testing.T) { a = play(t, seed, false) })
		synctest.Test(t, func(t *testing.T) { b = play(t, seed, false) })
		if diff := cmp.Diff(a, b); diff != "" {
			t.Errorf("seed %d:\n%s", seed, diff)
		}
	}
}

const (
	runs      = 3
	processes = 2
	// maxDeaths is the maximum number of process deaths, so that the test ends.
	maxDeaths = 25
	// maxRunTime is the maximum duration of a run, in the bubble's time.
	maxRunTime = 2 * time.Hour
)

// cluster is a store with processes on it that die and are replaced.
type cluster struct {
	t      *testing.T
	seed   uint64
	faults bool
	store  *journal.Memory
	reader journal.Backend
	world  *sim.World

	mu    sync.Mutex
	rng   *rand.Rand
	died  int
	procs []*proc
	last  map[string]error // error of the last answer, by run
}

type proc struct {
	*embedded.Driver
	disk *sim.Disk
	dead chan struct{}
}

// play executes a few runs of one workflow to their ends and returns their outcomes.
func play(t *testing.T, seed uint64, faults bool) map[string]any {
	h := &cluster{
		t: t, seed: seed, faults: faults, store: journal.NewMemory(), world: sim.Behave(seed),
		rng: rand.New(rand.NewPCG(seed, 2)), last: map[string]error{},
	}
	h.reader = h.store.Open("")
	h.world.Check(h.events)
	w := sim.Generate(seed)
	ctx, stop := context.WithTimeout(t.Context(), maxRunTime)
	var wg sync.WaitGroup
	h.procs = make([]*proc, processes)
	for i := range h.procs {
		h.procs[i] = h.open()
		wg.Go(func() { h.supervise(ctx, i) })
	}
	out := map[string]any{}
	var mu sync.Mutex
	var people sync.WaitGroup
	for i := range runs {
		people.Go(func() {
			run := fmt.Sprint("r", i)
			h.start(ctx, run, w)
			h.answerWaits(ctx, run)
			isOwned := h.isOwned(ctx, run)
			mu.Lock()
			defer mu.Unlock()
			out[run] = outcome(h.events(run))
			if isOwned {
				out[run+" owner"] = "an ended run has a living owner"
			}
		})
	}
	people.Wait()
	if ctx.Err() != nil {
		t.Errorf("seed %d: the runs do not come to their end in %s", seed, maxRunTime)
		for i := range runs {
			head, _ := h.reader.Head(context.Background(), fmt.Sprint("r", i))
			t.Logf("faults %v %+v, last answer: %v\n%s", faults, head, h.last[fmt.Sprint("r", i)],
				show(h.events(fmt.Sprint("r", i))))
		}
	}
	stop()
	wg.Wait()
	for _, wrong := range h.world.Wrong() {
		t.Errorf("seed %d: %s", seed, wrong)
	}
	return out
}

// open starts a process.
func (h *cluster) open() *proc {
	p := &proc{dead: make(chan struct{})}
	p.disk = sim.NewDisk(h.store.Open(journal.KindServe), h.reader, h.fault, func() { close(p.dead) })
	world := h.world.Process(p.disk.Overtaken)
	d, err := embedded.New(embedded.Config{Expressions: celexpr.Compiler{}, Store: p.disk, Open: world.Open,
		MaxCalls: 5, Program: func(*workflow.Workflow) (driver.Program, error) { return world.Program(), nil }})
	if err != nil {
		h.t.Fatal(err)
	}
	p.Driver = d
	return p
}

// fault decides the outcome of one write.
func (h *cluster) fault(string, int) sim.Fault {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.faults || h.died >= maxDeaths {
		return sim.FaultNone
	}
	switch n := h.rng.IntN(100); {
	case n < 8:
		return sim.FaultError
	case n < 16:
		return sim.FaultSilent
	case n < 19:
		h.died++
		return sim.FaultDieBefore
	case n < 22:
		h.died++
		return sim.FaultDieAfter
	case n < 23:
		h.died++
		return sim.FaultFence
	}
	return sim.FaultNone
}

// supervise lets process i work and replaces it when it dies; a process that was only considered
// dead is stopped after a while.
func (h *cluster) supervise(ctx context.Context, i int) {
	for {
		h.mu.Lock()
		p := h.procs[i]
		h.mu.Unlock()
		tending, stop := context.WithCancel(ctx)
		var wg sync.WaitGroup
		wg.Go(func() { p.Maintain(tending) })
		var fenced <-chan time.Time
		tick := time.NewTicker(7 * time.Second)
		for waiting := true; waiting; {
			select {
			case <-p.dead:
				waiting = false
			case <-fenced:
				waiting = false
			case <-tick.C:
				if p.disk.Fenced() && fenced == nil {
					fenced = time.After(20 * time.Second)
				}
			case <-ctx.Done():
				waiting = false
			}
		}
		tick.Stop()
		stop()
		if ctx.Err() != nil {
			p.Close(context.Background())
			p.disk.Kill()
			wg.Wait()
			return
		}
		p.disk.Kill()
		p.Close(context.Background())
		wg.Wait()
		next := h.open()
		h.mu.Lock()
		h.procs[i] = next
		h.mu.Unlock()
	}
}

// anyProcess returns a process that is currently alive.
func (h *cluster) anyProcess() *proc {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.procs[h.rng.IntN(len(h.procs))]
}

// start asks processes to start the run until the start is stored.
func (h *cluster) start(ctx context.Context, run string, w *workflow.Workflow) {
	for ctx.Err() == nil {
		_, err := h.anyProcess().Start(ctx,
			driver.Spec{Run: run, Workflow: w, Input: event.Value(fmt.Sprintf("%q", "in "+run))})
		if err == nil || errors.Is(err, journal.ErrExists) {
			return
		}
		h.sleep(ctx, time.Second)
	}
}

// answerWaits answers the waits of the run until it has ended. Answers depend on the question and
// the seed only.
func (h *cluster) answerWaits(ctx context.Context, run string) {
	for ctx.Err() == nil {
		h.sleep(ctx, time.Second)
		head, err := h.reader.Head(ctx, run)
		if err != nil {
			continue
		}
		if head.Status.Ended() {
			return
		}
		for _, w := range sim.OpenWaits(h.events(run)) {
			ask, cancel := context.WithTimeout(ctx, 30*time.Second)
			err := h.anyProcess().Answer(ask, run, engine.Answer{Wait: w.Wait, Value: sim.Answer(h.seed, w)})
			cancel()
			h.mu.Lock()
			h.last[run] = err
			h.mu.Unlock()
			if errors.Is(err, waits.ErrAnswered) || errors.Is(err, waits.ErrAnswer) ||
				errors.Is(err, waits.ErrNotFound) {
				h.t.Errorf("seed %d: answer to %s of %s: %v", h.seed, w.Wait, run, err)
			}
		}
	}
}

// isOwned reports whether a run that has ended still has an owner. An owner with pending requests
// when the run ends answers them first and releases the run then; one that claimed the run in vain
// may die before it releases it.
func (h *cluster) isOwned(ctx context.Context, run string) bool {
	for range 60 {
		head, err := h.reader.Head(ctx, run)
		if err != nil || head.Owner == "" {
			return false
		}
		if alive, err := h.reader.Alive(ctx, head.Owner); err != nil || !alive {
			return false
		}
		h.sleep(ctx, time.Second)
	}
	return true
}

func (h *cluster) sleep(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// events returns the events of a run's journal.
func (h *cluster) events(run string) []event.Event {
	records, err := h.reader.Read(context.Background(), run, 0)
	if errors.Is(err, journal.ErrNotFound) {
		return nil
	}
	if err != nil {
		h.t.Errorf("seed %d: %v", h.seed, err)
		return nil
	}
	var all []event.Event
	for _, r := range records {
		events, err := journal.Decode(r.Data, func(hash string) ([]byte, error) {
			return h.reader.Blob(context.Background(), hash)
		})
		if err != nil {
			h.t.Errorf("seed %d: %v", h.seed, err)
		}
		all = append(all, events...)
	}
	return all
}

// outcome returns what must not depend on faults and timing: how the run ended, the output of
// models and tools, by node, and which ports were fired. It is sorted, because branches proceed at
// their own pace.
func outcome(events []event.Event) map[string]any {
	out := map[string]any{}
	add := func(key, value string) {
		list, _ := out[key].([]string)
		out[key] = append(list, value)
	}
	for _, e := range events {
		switch d := e.Data.(type) {
		case *event.StepCompleted:
			add("ports "+e.Node, fmt.Sprint(d.Ports))
		case *event.ModelReplied:
			add("reply "+e.Node, d.Message.Text.String())
		case *event.ToolReturned:
			add("tool "+e.Node, d.Text)
		case *event.FuncReturned:
			if d.Error == nil {
				add("func "+e.Node, string(d.Output))
			}
		case *event.FuncNoted:
			add("note "+e.Node, d.Key+" "+string(d.Value))
		case *event.RunFailed:
			out["end"] = "failed: " + d.Error.Message
		case *event.RunCompleted, *event.RunCancelled:
			out["end"] = string(e.Data.Type())
		}
	}
	for _, v := range out {
		if list, ok := v.([]string); ok {
			slices.Sort(list)
		}
	}
	return out
}

// show formats events, one per line.
func show(events []event.Event) string {
	var b strings.Builder
	for _, e := range events {
		data, _ := json.Marshal(e.Data)
		fmt.Fprintf(&b, "%3d %s %-16s %-6s #%d %s\n", e.Seq, e.At.Format("15:04:05.000"), e.Data.Type(), e.Node, e.Step,
			data)
	}
	return b.String()
}
