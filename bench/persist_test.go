package bench

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/driver/embedded"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/store"
)

// timed measures how long appends take, from the call to the commit.
type timed struct {
	journal.Backend

	mu   sync.Mutex
	took []time.Duration
}

// Append implements journal.Log.
func (s *timed) Append(ctx context.Context, a journal.Append) error {
	began := time.Now()
	err := s.Backend.Append(ctx, a)
	d := time.Since(began)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.took = append(s.took, d)
	return err
}

// BenchmarkPersist measures how long a step waits for the disk, with fsync (P40): a single run, 200
// runs whose calls take 50 ms, and 200 runs whose calls take no time.
func BenchmarkPersist(b *testing.B) {
	for _, bc := range []struct {
		runs, steps int
		call        time.Duration
	}{{1, 200, 0}, {200, 10, 50 * time.Millisecond}, {200, 10, 0}} {
		b.Run(fmt.Sprintf("runs=%d/call=%s", bc.runs, bc.call), func(b *testing.B) {
			home, err := store.Open(context.Background(), filepath.Join(b.TempDir(), "hocket.db"),
				store.Config{Kind: journal.KindRun})
			if err != nil {
				b.Fatal(err)
			}
			s := &timed{Backend: home.Journal}
			d, err := embedded.New(embedded.Config{Store: s, Kind: journal.KindRun,
				Open: func(context.Context, driver.Info) (*driver.RunResources, error) {
					return &driver.RunResources{Models: models{}, DefaultModel: "none", Stateless: true,
						Admit: func(*driver.Info, *engine.CallModel) driver.Admission { return late{bc.call} }}, nil
				}})
			if err != nil {
				b.Fatal(err)
			}
			w := agents(bc.steps)
			n := 0
			for b.Loop() {
				var wg sync.WaitGroup
				for range bc.runs {
					n++
					id := fmt.Sprintf("run%d", n)
					wg.Go(func() {
						if _, err := d.Start(context.Background(), driver.Spec{Run: id, Workflow: w}); err != nil {
							b.Error(err)
						} else if st, err := d.Wait(context.Background(), id); err != nil ||
							st.Status != event.StatusCompleted {
							b.Errorf("%v %v", st.Status, err)
						}
					})
				}
				wg.Wait()
			}
			slices.Sort(s.took)
			for name, part := range map[string]float64{"p50-ms": 0.5, "p99-ms": 0.99} {
				b.ReportMetric(s.took[int(part*float64(len(s.took)-1))].Seconds()*1000, name)
			}
			if err := d.Close(context.Background()); err != nil {
				b.Error(err)
			}
			if err := home.Close(); err != nil {
				b.Error(err)
			}
		})
	}
}

// late admits a call after a delay, which simulates its latency.
type late struct{ call time.Duration }

func (l late) Ready(ctx context.Context) error {
	if l.call == 0 {
		return nil
	}
	t := time.NewTimer(l.call)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (late) Start() bool             { return true }
func (late) Leave()                  {}
func (late) Done(engine.ModelResult) {}
