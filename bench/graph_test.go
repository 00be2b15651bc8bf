package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"github.com/hocket-run/hocket"
	"github.com/hocket-run/hocket/bench/internal/drive"
	"github.com/hocket-run/hocket/graph"
	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/driver/embedded"
	"github.com/hocket-run/hocket/internal/driver/program"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/store"
	"github.com/hocket-run/hocket/workflow"
)

// smallState is the typed state of the graphs measured here: what a small agent workflow keeps.
type smallState struct {
	N     int      `json:"n"`
	Topic string   `json:"topic"`
	Draft string   `json:"draft,omitempty"`
	Done  bool     `json:"done"`
	Notes []string `json:"notes"`
}

func first() smallState {
	return smallState{Topic: "a state as small ones are", Draft: "a sentence of some length, \"quoted\" once",
		Notes: []string{"one", "two", "three", "four"}}
}

// change is what every node does: it sets one number and one list element.
func change(s *smallState) {
	s.Notes[s.N%len(s.Notes)] = "changed"
	s.N++
}

func changing(id string) graph.Node[smallState] {
	return graph.Do(id, func(_ context.Context, s *smallState) error {
		change(s)
		return nil
	})
}

// goGraph is one of the benchmarked graphs: steps is how many nodes run, want the number in the
// final state.
type goGraph struct {
	name        string
	build       func() (*graph.Compiled[smallState], error)
	steps, want int
	direct      func(*smallState) // the same work without an engine
}

const (
	chainLength = 100
	loopLength  = 1000
	fanWidth    = 100
)

func goGraphs() []goGraph {
	return []goGraph{
		{"chain of 100", func() (*graph.Compiled[smallState], error) {
			b := graph.New[smallState]("chain")
			for i := range chainLength {
				b.Then(changing(fmt.Sprintf("n%d", i)))
			}
			return b.Compile()
		}, chainLength, chainLength, func(s *smallState) {
			for range chainLength {
				call(s)
			}
		}},
		{"loop of 1000", func() (*graph.Compiled[smallState], error) {
			until := func(v graph.View[smallState]) bool { return v.State.N >= loopLength }
			return graph.New[smallState]("loop").
				Loop(graph.LoopConfig[smallState]{Until: until, MaxIterations: loopLength + 1}, changing("body")).
				Compile(graph.Config{MaxSteps: 3 * loopLength})
		}, 2*loopLength + 1, loopLength, func(s *smallState) {
			// 2*loopLength + 1 steps: the body and the check of each pass, and the loop's start
			for s.N < loopLength {
				call(s)
			}
		}},
		{"fan-out of 100 with join", func() (*graph.Compiled[smallState], error) {
			b := graph.New[smallState]("fan")
			var ids []string
			for i := range fanWidth {
				ids = append(ids, fmt.Sprintf("n%d", i))
			}
			b.Parallel(graph.ParallelConfig[smallState]{ID: "fan", Branches: ids})
			for _, id := range ids {
				b.Node(graph.Do(id, func(_ context.Context, s *smallState) error {
					s.N++
					return nil
				}))
			}
			return b.Compile(graph.Config{Reducers: map[string]graph.Reducer{"n": graph.Sum()}})
		}, fanWidth + 1, fanWidth, func(s *smallState) {
			for range fanWidth {
				call(s)
			}
		}},
	}
}

// call keeps the compiler from optimizing a loop of closures away.
var call = change

// BenchmarkGraph runs Go graphs with a small typed state on the engine alone, on the embedded
// driver with a journal in memory, with hocket.Run in memory, and on the embedded driver with
// SQLite and fsync. Compare with BenchmarkFloorGraph.
func BenchmarkGraph(b *testing.B) {
	for _, gg := range goGraphs() {
		g, err := gg.build()
		if err != nil {
			b.Fatal(err)
		}
		input, err := json.Marshal(first())
		if err != nil {
			b.Fatal(err)
		}
		b.Run("engine/"+gg.name, func(b *testing.B) {
			p := program.New(g.Running().Program())
			plan, err := engine.Compile(g.Workflow(), p, nil)
			if err != nil {
				b.Fatal(err)
			}
			perStep(b, gg.steps, func() {
				if err := drive.Graph(b.Context(), plan, p, input, gg.want); err != nil {
					b.Fatal(err)
				}
			})
		})
		b.Run("memory/"+gg.name, func(b *testing.B) {
			store := journal.NewMemory().Open(journal.KindServe)
			driver := openGraph(b, store, g)
			perStep(b, gg.steps, func() {
				ended := runGraph(b, driver, g.Workflow(), input)
				if _, err := store.Prune(b.Context(), journal.PruneQuery{Runs: []string{ended}}); err != nil {
					b.Fatal(err) // kept runs would fill the memory
				}
			})
		})
		b.Run("run/"+gg.name, func(b *testing.B) {
			eng, err := hocket.Open(b.Context(), hocket.Config{})
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(func() {
				if err := eng.Close(); err != nil {
					b.Error(err)
				}
			})
			perStep(b, gg.steps, func() {
				res, err := hocket.Run(b.Context(), eng, g, first())
				if err != nil || res.Status != hocket.StatusCompleted || res.State.N != gg.want {
					b.Fatalf("%+v, %v", res, err)
				}
			})
		})
		b.Run("sqlite/"+gg.name, func(b *testing.B) {
			home, err := store.Open(b.Context(), filepath.Join(b.TempDir(), "hocket.db"),
				store.Config{Kind: journal.KindServe})
			if err != nil {
				b.Fatal(err)
			}
			driver := openGraph(b, home.Journal, g)
			perStep(b, gg.steps, func() { runGraph(b, driver, g.Workflow(), input) })
		})
	}
}

// BenchmarkGraphThousandRuns runs 1,000 graphs of ten nodes concurrently, in memory, with
// hocket.Run: it measures the cost of a step and the overhead of a run beyond its steps.
func BenchmarkGraphThousandRuns(b *testing.B) {
	const runs, length = 1000, 10
	g := graph.New[smallState]("chain")
	for i := range length {
		g.Then(changing(fmt.Sprintf("n%d", i)))
	}
	c, err := g.Compile()
	if err != nil {
		b.Fatal(err)
	}
	for _, bc := range []struct {
		name   string
		retain int
	}{{"1000 kept", 0}, {"none kept", -1}} {
		b.Run(bc.name, func(b *testing.B) {
			eng, err := hocket.Open(b.Context(), hocket.Config{RetainRuns: bc.retain})
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(func() {
				if err := eng.Close(); err != nil {
					b.Error(err)
				}
			})
			b.ReportAllocs()
			perStep(b, runs*length, func() {
				var wg sync.WaitGroup
				for range runs {
					wg.Go(func() {
						if res, err := hocket.Run(b.Context(), eng, c, first()); err != nil || res.State.N != length {
							b.Errorf("%+v, %v", res, err)
						}
					})
				}
				wg.Wait()
			})
			b.ReportMetric(float64(b.N)*runs*length/b.Elapsed().Seconds(), "steps/s")
		})
	}
}

// BenchmarkFloorGraph does the same work without an engine: as calls of closures on one state, and
// with a JSON round trip of the state around each call, which is what a copy that survives JSON
// (D27) costs with encoding/json. A step is one call here.
func BenchmarkFloorGraph(b *testing.B) {
	for _, gg := range goGraphs() {
		b.Run("closures/"+gg.name, func(b *testing.B) {
			perStep(b, gg.want, func() {
				s := first()
				gg.direct(&s)
			})
		})
		b.Run("json/"+gg.name, func(b *testing.B) {
			raw, err := json.Marshal(first())
			if err != nil {
				b.Fatal(err)
			}
			perStep(b, gg.want, func() {
				state := raw
				for range gg.want {
					var s smallState
					if err := json.Unmarshal(state, &s); err != nil {
						b.Fatal(err)
					}
					change(&s)
					if state, err = json.Marshal(s); err != nil {
						b.Fatal(err)
					}
				}
			})
		})
	}
}

// perStep measures run and reports its time and allocations per step.
func perStep(b *testing.B, steps int, run func()) {
	b.Helper()
	run() // opens files, fills pools
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	n := 0
	for b.Loop() {
		run()
		n++
	}
	b.StopTimer()
	runtime.ReadMemStats(&after)
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n)/float64(steps), "ns/step")
	b.ReportMetric(float64(after.Mallocs-before.Mallocs)/float64(n)/float64(steps), "allocs/step")
	b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/float64(n)/float64(steps), "B/step")
}

func openGraph(b *testing.B, store journal.Backend, g *graph.Compiled[smallState]) *embedded.Driver {
	b.Helper()
	p := program.New(g.Running().Program())
	d, err := embedded.New(embedded.Config{Store: store, Program: func(*workflow.Workflow) (driver.Program, error) {
		return p, nil
	}})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := d.Close(context.Background()); err != nil {
			b.Error(err)
		}
		if err := store.Close(); err != nil {
			b.Error(err)
		}
	})
	return d
}

func runGraph(b *testing.B, d *embedded.Driver, w *workflow.Workflow, input event.Value) string {
	id, err := d.Start(b.Context(), driver.Spec{Workflow: w, Input: input})
	if err != nil {
		b.Fatal(err)
	}
	if st, err := d.Wait(b.Context(), id); err != nil || st.Status != event.StatusCompleted {
		b.Fatalf("%v, %v", st.Status, err)
	}
	return id
}
