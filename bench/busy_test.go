//go:build unix

package bench

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/driver/embedded"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/pgtest"
)

// streamingModel is a model that takes one second per call and streams ten chunks meanwhile.
type streamingModel struct{}

func (streamingModel) Call(ctx context.Context, q model.Request, say func(model.Delta)) (model.Reply, error) {
	t := time.NewTicker(100 * time.Millisecond)
	defer t.Stop()
	for range 10 {
		select {
		case <-t.C:
		case <-ctx.Done():
			return model.Reply{}, ctx.Err()
		}
		if say != nil {
			say(model.Delta{Text: "and so on "})
		}
	}
	return model.Reply{Message: chat.Message{Role: chat.RoleAssistant, Text: chat.NewText("done")},
		Usage: &chat.Usage{InputTokens: 1, OutputTokens: 1}, Model: q.Model, StopReason: model.StopEnd}, nil
}

// BenchmarkEventSeenBusy measures the delay between storing an event and a watcher receiving it
// while 1,000 runs are busy, each with calls of one second: in the process that drives the runs, in
// another process on the same file, and in another process on the same PostgreSQL database. 50 runs
// are watched.
func BenchmarkEventSeenBusy(b *testing.B) {
	const runs, watched = 1000, 50
	for _, c := range []struct {
		name  string
		db    func() string
		other bool
	}{
		{"file/same", func() string { return filepath.Join(b.TempDir(), "hocket.db") }, false},
		{"file/other", func() string { return filepath.Join(b.TempDir(), "hocket.db") }, true},
		{"postgres/same", func() string { return pgtest.URL(b) }, false},
		{"postgres/other", func() string { return pgtest.URL(b) }, true},
	} {
		b.Run(c.name, func(b *testing.B) {
			var mu sync.Mutex
			stored := map[string]time.Time{}
			path := c.db()
			d, _ := process(b, path, streamingModel{}, embedded.Hooks{Events: func(run string, events []event.Event) {
				mu.Lock()
				defer mu.Unlock()
				for _, e := range events {
					stored[fmt.Sprint(run, e.Seq)] = time.Now()
				}
			}})
			watching := d
			if c.other {
				watching, _ = process(b, path, streamingModel{}, embedded.Hooks{})
			}
			var all []time.Duration
			pieces := 0
			for b.Loop() {
				var wg sync.WaitGroup
				for i := range runs {
					run, err := d.Start(b.Context(), driver.Spec{Workflow: agents(10), Input: event.Value(`"x"`)})
					if err != nil {
						b.Fatal(err)
					}
					if i%(runs/watched) != 0 {
						continue
					}
					wg.Go(func() {
						for u, err := range watching.Watch(b.Context(), run, 0) {
							if err != nil {
								b.Error(err)
								return
							}
							mu.Lock()
							if u.Event == nil {
								pieces++
							} else if at, ok := stored[fmt.Sprint(run, u.Event.Seq)]; u.Event.Seq > 20 {
								// the first events may predate the watcher
								if !ok {
									at = time.Now() // a watcher may receive it before the hook runs
								}
								all = append(all, time.Since(at))
							}
							mu.Unlock()
						}
					})
				}
				wg.Wait()
			}
			slices.Sort(all)
			for _, p := range []int{50, 95, 99} {
				b.ReportMetric(all[len(all)*p/100].Seconds()*1000, fmt.Sprintf("delay-p%d-ms", p))
			}
			b.ReportMetric(float64(pieces)/float64(b.N*watched), "pieces/run")
			b.ReportMetric(0, "ns/op")
		})
	}
}
