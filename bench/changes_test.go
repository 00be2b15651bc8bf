//go:build unix

package bench

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/driver/embedded"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/store"
	"github.com/hocket-run/hocket/internal/store/pghome"
	"github.com/hocket-run/hocket/workflow"
)

// reads counts the read calls on a store.
type reads struct {
	journal.Backend
	n atomic.Int64
}

func (r *reads) Head(ctx context.Context, run string) (journal.Head, error) {
	r.n.Add(1)
	return r.Backend.Head(ctx, run)
}

func (r *reads) List(ctx context.Context, q journal.Query) ([]journal.Head, string, error) {
	r.n.Add(1)
	return r.Backend.List(ctx, q)
}

func (r *reads) Notices(ctx context.Context, after uint64, limit int) ([]journal.Notice, error) {
	r.n.Add(1)
	return r.Backend.Notices(ctx, after, limit)
}

func (r *reads) Take(ctx context.Context) ([]journal.Request, error) {
	r.n.Add(1)
	return r.Backend.Take(ctx)
}

// kinds returns servers that open PostgreSQL stores, each with its own connections, as in separate
// processes.
func kinds() store.Servers { return store.Servers{Postgres: pghome.New(nil)} }

// process returns a handle and a driver, as one process has them; the store cannot distinguish two
// handles of one process from two processes.
func process(b *testing.B, path string, models model.Client, hooks embedded.Hooks) (*embedded.Driver, *reads) {
	b.Helper()
	at, err := store.Parse(path, kinds())
	if err != nil {
		b.Fatal(err)
	}
	home, err := at.Open(context.Background(), store.Config{Kind: journal.KindServe})
	if err != nil {
		b.Fatal(err)
	}
	counted := &reads{Backend: home.Journal}
	d, err := embedded.New(embedded.Config{Store: counted, MaxCalls: 4096, Hooks: hooks,
		Open: func(context.Context, driver.Info) (*driver.RunResources, error) {
			return &driver.RunResources{Models: models, DefaultModel: "none", Stateless: true}, nil
		}})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := d.Close(context.Background()); err != nil {
			b.Error(err)
		}
		if err := home.Close(); err != nil {
			b.Error(err)
		}
	})
	return d, counted
}

func percentiles(b *testing.B, all []time.Duration) {
	slices.Sort(all)
	for _, p := range []int{50, 99} {
		b.ReportMetric(all[len(all)*p/100].Seconds()*1000, fmt.Sprintf("delay-p%d-ms", p))
	}
	b.ReportMetric(0, "ns/op")
}

// BenchmarkEventSeen measures the delay between storing an event and a watcher receiving it, in the
// process that drives the run and in another one. Models take 50 ms.
func BenchmarkEventSeen(b *testing.B) {
	for _, other := range []bool{false, true} {
		b.Run(map[bool]string{false: "same", true: "other"}[other], func(b *testing.B) {
			slow, gate := &slowModel{}, make(chan struct{})
			slow.gate.Store(&gate)
			close(gate)
			var mu sync.Mutex
			stored := map[uint64]time.Time{}
			path := filepath.Join(b.TempDir(), "hocket.db")
			d, _ := process(b, path, slow, embedded.Hooks{Events: func(_ string, events []event.Event) {
				mu.Lock()
				defer mu.Unlock()
				for _, e := range events {
					stored[e.Seq] = time.Now()
				}
			}})
			watching := d
			if other {
				watching, _ = process(b, path, slow, embedded.Hooks{})
			}
			var all []time.Duration
			for b.Loop() {
				run, err := d.Start(b.Context(), driver.Spec{Workflow: agents(20), Input: event.Value(`"x"`)})
				if err != nil {
					b.Fatal(err)
				}
				for u, err := range watching.Watch(b.Context(), run, 0) {
					if err != nil {
						b.Fatal(err)
					}
					if u.Event == nil {
						continue
					}
					mu.Lock()
					// a watcher in the same process may receive it before the hook runs
					all = append(all, max(0, time.Since(stored[u.Event.Seq])))
					mu.Unlock()
				}
			}
			percentiles(b, all)
		})
	}
}

// BenchmarkRequest measures how long a request to a run driven by another process takes, including
// its result: cancelling a call in flight.
func BenchmarkRequest(b *testing.B) {
	slow, gate := &slowModel{}, make(chan struct{})
	slow.gate.Store(&gate)
	path := filepath.Join(b.TempDir(), "hocket.db")
	d, _ := process(b, path, slow, embedded.Hooks{})
	other, _ := process(b, path, slow, embedded.Hooks{})
	var all []time.Duration
	for b.Loop() {
		run, err := d.Start(b.Context(), driver.Spec{Workflow: agents(1), Input: event.Value(`"x"`)})
		if err != nil {
			b.Fatal(err)
		}
		began := time.Now()
		if err := other.Cancel(b.Context(), run, "enough"); err != nil {
			b.Fatal(err)
		}
		all = append(all, time.Since(began))
		if _, err := d.Wait(b.Context(), run); err != nil {
			b.Fatal(err)
		}
	}
	percentiles(b, all)
}

// BenchmarkIdle measures what an idle server costs over ten seconds: journal reads and processor
// time, with watchers of paused runs.
func BenchmarkIdle(b *testing.B) {
	for _, watchers := range []int{0, 100, 1000} {
		b.Run(fmt.Sprintf("watchers=%d", watchers), func(b *testing.B) {
			const lasts = 10 * time.Second
			d, counted := process(b, filepath.Join(b.TempDir(), "hocket.db"), models{}, embedded.Hooks{})
			ctx, cancel := context.WithCancel(b.Context())
			defer cancel()
			var wg sync.WaitGroup
			defer wg.Wait()
			defer cancel()
			wg.Go(func() { d.Maintain(ctx) })
			w := &workflow.Workflow{Name: "paused", Entry: "ok",
				Nodes: []workflow.Node{{ID: "ok", Kind: workflow.KindWait,
					Wait: &workflow.Wait{Kind: workflow.WaitApproval, Prompt: "go on?"}}}}
			for range watchers {
				run, err := d.Start(b.Context(), driver.Spec{Workflow: w, Input: event.Value(`"x"`)})
				if err == nil {
					_, err = d.Wait(b.Context(), run)
				}
				if err != nil {
					b.Fatal(err)
				}
				wg.Go(func() {
					for _, err := range d.Watch(ctx, run, 0) {
						if err != nil {
							return
						}
					}
				})
			}
			time.Sleep(5 * time.Second) // until it is quiet
			for b.Loop() {
				n, cpu := counted.n.Load(), processorTime(b)
				time.Sleep(lasts)
				b.ReportMetric(float64(counted.n.Load()-n)/lasts.Seconds(), "reads/s")
				b.ReportMetric((processorTime(b)-cpu).Seconds()*1000/lasts.Seconds(), "cpu-ms/s")
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

// processorTime returns the processor time of this process.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		b.Fatal(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
