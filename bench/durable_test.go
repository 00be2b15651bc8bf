package bench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hocket-run/hocket/bench/internal/floor"
	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/driver/embedded"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/store"
	"github.com/hocket-run/hocket/workflow"
)

// models answers every call immediately with the same text.
type models struct{}

func (models) Call(context.Context, model.Request, func(model.Delta)) (model.Reply, error) {
	return model.Reply{Message: chat.Message{Role: chat.RoleAssistant, Text: chat.NewText("x")},
		Usage: &chat.Usage{InputTokens: 1, OutputTokens: 1}, Model: "none"}, nil
}

func open(b testing.TB, path string) (journal.Backend, *embedded.Driver) {
	b.Helper()
	home, err := store.Open(context.Background(), path, store.Config{Kind: journal.KindServe})
	if err != nil {
		b.Fatal(err)
	}
	d, err := embedded.New(embedded.Config{Store: home.Journal, MaxCalls: 4096,
		Open: func(context.Context, driver.Info) (*driver.RunResources, error) {
			return &driver.RunResources{Models: models{}, DefaultModel: "none", Stateless: true}, nil
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
	return home.Journal, d
}

// agents returns a workflow of n agent nodes in a row, each with one model call.
func agents(n int) *workflow.Workflow {
	w := &workflow.Workflow{Name: "bench", Entry: "n0", Agents: []workflow.Agent{{ID: "a"}}}
	for i := range n {
		w.Nodes = append(w.Nodes, workflow.Node{ID: fmt.Sprintf("n%d", i), Kind: workflow.KindAgent,
			Agent: &workflow.AgentNode{Agent: "a", Prompt: workflow.Prompt{Mode: workflow.PromptTemplate}}})
		if i > 0 {
			w.Edges = append(w.Edges, workflow.Edge{From: fmt.Sprintf("n%d", i-1), To: fmt.Sprintf("n%d", i)})
		}
	}
	return w
}

// BenchmarkDurable runs agent steps whose results are on disk, with fsync, before the next step
// starts: one run, and 1,000 runs concurrently. Compare with BenchmarkFloorInserts.
func BenchmarkDurable(b *testing.B) {
	for _, bc := range []struct{ runs, steps int }{{1, 500}, {1000, 20}} {
		b.Run(fmt.Sprintf("runs=%d", bc.runs), func(b *testing.B) {
			_, d := open(b, filepath.Join(b.TempDir(), "hocket.db"))
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
							return
						}
						if st, err := d.Wait(context.Background(), id); err != nil ||
							st.Status != event.StatusCompleted {
							b.Errorf("%v %v", st.Status, err)
						}
					})
				}
				wg.Wait()
			}
			b.ReportMetric(float64(b.N*bc.runs*bc.steps)/b.Elapsed().Seconds(), "steps/s")
		})
	}
}

// BenchmarkFloorInserts inserts rows of a step's size with the same driver and settings, one or
// 1,000 per transaction, from one goroutine.
func BenchmarkFloorInserts(b *testing.B) {
	for _, batch := range []int{1, 1000} {
		b.Run(fmt.Sprintf("batch=%d", batch), func(b *testing.B) {
			dir := b.TempDir()
			var rate float64
			for n := 0; b.Loop(); n++ {
				r, err := floor.Inserts(b.Context(), filepath.Join(dir, fmt.Sprint(n, ".db")), batch, time.Second)
				if err != nil {
					b.Fatal(err)
				}
				rate = max(rate, r)
			}
			b.ReportMetric(rate, "rows/s")
		})
	}
}

// paused returns a workflow that waits for a person after one agent step.
func paused() *workflow.Workflow {
	w := agents(1)
	w.Nodes = append(w.Nodes, workflow.Node{ID: "ok", Kind: workflow.KindWait,
		Wait: &workflow.Wait{Kind: workflow.WaitApproval}})
	w.Edges = append(w.Edges, workflow.Edge{From: "n0", To: "ok"})
	return w
}

// BenchmarkPaused stores 10,000 paused runs and reports what they cost: bytes on disk and in an
// idle process, time to list them all, and time from an answer to the end of the run.
func BenchmarkPaused(b *testing.B) {
	const runs = 10_000
	for b.Loop() {
		path := filepath.Join(b.TempDir(), "hocket.db")
		store, d := open(b, path)
		before := heap()
		w := paused()
		var wg sync.WaitGroup
		slots := make(chan struct{}, 500)
		for i := range runs {
			slots <- struct{}{}
			wg.Go(func() {
				defer func() { <-slots }()
				id := fmt.Sprintf("run%d", i)
				if _, err := d.Start(context.Background(), driver.Spec{Run: id, Workflow: w}); err != nil {
					b.Error(err)
					return
				}
				if st, err := d.Wait(context.Background(), id); err != nil || st.Status != event.StatusPaused {
					b.Errorf("%v %v", st.Status, err)
				}
			})
		}
		wg.Wait()
		after := heap()
		begin := time.Now()
		n, cursor := 0, ""
		for {
			page, next, err := store.List(context.Background(),
				journal.Query{Statuses: []journal.Status{journal.StatusPaused}, Limit: 1000, Cursor: cursor})
			if err != nil {
				b.Fatal(err)
			}
			n += len(page)
			if cursor = next; next == "" {
				break
			}
		}
		listed := time.Since(begin)
		if n != runs {
			b.Fatalf("listed %d runs", n)
		}
		var took []time.Duration
		for i := range 200 {
			begin := time.Now()
			id := fmt.Sprintf("run%d", i*37)
			if err := d.Answer(context.Background(), id, engine.Answer{Value: event.Value(`"approve"`)}); err != nil {
				b.Fatal(err)
			}
			if st, err := d.Wait(context.Background(), id); err != nil || st.Status != event.StatusCompleted {
				b.Fatalf("%v %v", st.Status, err)
			}
			took = append(took, time.Since(begin))
		}
		b.ReportMetric(float64(diskSize(b, path))/runs, "disk-B/run")
		b.ReportMetric(float64(max(0, after-before))/runs, "heap-B/run")
		b.ReportMetric(listed.Seconds()*1000, "list-ms")
		b.ReportMetric(median(took).Seconds()*1000, "resume-p50-ms")
	}
}

func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// diskSize returns the size of a store including its log.
func diskSize(b testing.TB, path string) int64 {
	b.Helper()
	var n int64
	for _, p := range []string{path, path + "-wal"} {
		if st, err := os.Stat(p); err == nil {
			n += st.Size()
		}
	}
	return n
}

func median(d []time.Duration) time.Duration {
	for i := range d { // insertion sort: the lists are short
		for j := i; j > 0 && d[j] < d[j-1]; j-- {
			d[j], d[j-1] = d[j-1], d[j]
		}
	}
	return d[len(d)/2]
}

// talker calls a tool 100 times with 5 KB of unique text each time.
type talker struct{ turn int }

const turnBytes = 5 << 10

func (t *talker) Call(_ context.Context, r model.Request, _ func(model.Delta)) (model.Reply, error) {
	t.turn++
	if t.turn > 100 {
		return model.Reply{Message: chat.Message{Role: chat.RoleAssistant, Text: chat.NewText("done")}}, nil
	}
	args := fmt.Sprintf(`{"input":%q}`, unique(t.turn))
	return model.Reply{Message: chat.Message{Role: chat.RoleAssistant,
		ToolCalls: []chat.ToolCall{{ID: fmt.Sprint("c", t.turn), Name: "sub", Arguments: []byte(args)}}}}, nil
}

// unique returns incompressible text of turnBytes bytes that differs for each turn.
func unique(turn int) string {
	var s strings.Builder
	x := uint64(turn)*0x9e3779b97f4a7c15 + 1
	for s.Len() < turnBytes {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		fmt.Fprintf(&s, "%016x", x)
	}
	return s.String()[:turnBytes]
}

// BenchmarkConversation runs an agent with 100 tool turns of 5 KB (P6) and reports how many bytes
// the store holds per unique byte.
func BenchmarkConversation(b *testing.B) {
	for b.Loop() {
		path := filepath.Join(b.TempDir(), "hocket.db")
		home, err := store.Open(context.Background(), path, store.Config{})
		if err != nil {
			b.Fatal(err)
		}
		d, err := embedded.New(embedded.Config{
			Store: home.Journal, Open: func(context.Context, driver.Info) (*driver.RunResources, error) {
				return &driver.RunResources{Models: &talker{}, DefaultModel: "none", Stateless: true}, nil
			}})
		if err != nil {
			b.Fatal(err)
		}
		w := agents(1)
		w.Agents[0].MaxTurns = 200
		id, err := d.Start(context.Background(), driver.Spec{Workflow: w})
		if err != nil {
			b.Fatal(err)
		}
		if st, err := d.Wait(context.Background(), id); err != nil || st.Status != event.StatusCompleted {
			b.Fatalf("%v %v", st.Status, err)
		}
		records, err := home.Journal.Read(context.Background(), id, 0)
		if err != nil {
			b.Fatal(err)
		}
		var early, late, total int
		for i, r := range records {
			total += len(r.Data)
			switch {
			case i >= 10 && i < 20:
				early += len(r.Data)
			case i >= len(records)-12 && i < len(records)-2:
				late += len(r.Data)
			}
		}
		if err := d.Close(context.Background()); err != nil {
			b.Fatal(err)
		}
		if err := home.Close(); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(diskSize(b, path))/(100*turnBytes), "disk-B/unique-B")
		b.ReportMetric(float64(total)/(100*turnBytes), "journal-B/unique-B")
		b.ReportMetric(float64(late)/float64(early), "late/early")
	}
}
