package bench

import (
	"fmt"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/expr/celexpr"
	"github.com/hocket-run/hocket/workflow"
)

func funcNode(id string) workflow.Node {
	return workflow.Node{ID: id, Kind: workflow.KindFunc, Func: &workflow.FuncNode{Func: "noop"}}
}

// chain returns a workflow of n function nodes in a row.
func chain(n int) *workflow.Workflow {
	w := &workflow.Workflow{Entry: "n0"}
	for i := range n {
		w.Nodes = append(w.Nodes, funcNode(fmt.Sprintf("n%d", i)))
		if i > 0 {
			w.Edges = append(w.Edges, workflow.Edge{From: fmt.Sprintf("n%d", i-1), To: fmt.Sprintf("n%d", i)})
		}
	}
	return w
}

// decisions returns a workflow of n decide nodes in a row: steps without side effects.
func decisions(n int) *workflow.Workflow {
	w := &workflow.Workflow{Entry: "n0"}
	for i := range n {
		w.Nodes = append(w.Nodes, workflow.Node{ID: fmt.Sprintf("n%d", i), Kind: workflow.KindDecide,
			Decide: &workflow.Decide{Cases: []workflow.Case{
				{Port: "out", When: workflow.Condition{Language: workflow.LangMatch, Op: "contains", Text: "x"}}},
				Else: "out"}})
		if i > 0 {
			w.Edges = append(w.Edges, workflow.Edge{From: fmt.Sprintf("n%d", i-1), To: fmt.Sprintf("n%d", i)})
		}
	}
	return w
}

// loop returns a workflow with one function node that runs n times.
func loop(n int) *workflow.Workflow {
	most := n
	return &workflow.Workflow{
		Entry: "a", Nodes: []workflow.Node{
			funcNode("a"), {ID: "d", Kind: workflow.KindDecide, Decide: &workflow.Decide{Cases: []workflow.Case{
				{Port: "done", When: workflow.Condition{Language: workflow.LangMatch, Op: "equal", Text: "done"}}},
				Else: "again"}}},
		Edges:  []workflow.Edge{{From: "a", To: "d"}, {From: "d", Port: "again", To: "a", Loop: true}},
		Limits: workflow.Limits{MaxLoopIterations: n + 1, MaxSteps: new(2*most + 2)},
	}
}

// fan returns a workflow that forks into n function nodes and joins them.
func fan(n int) *workflow.Workflow {
	f := &workflow.Fork{Join: "j", Shape: workflow.ShapeMap}
	w := &workflow.Workflow{Entry: "f", Nodes: []workflow.Node{{ID: "f", Kind: workflow.KindFork, Fork: f},
		{ID: "j", Kind: workflow.KindJoin, Hidden: true, Join: &workflow.Join{Fork: "f"}}}}
	for i := range n {
		id := fmt.Sprintf("n%d", i)
		f.Branches = append(f.Branches, workflow.Branch{ID: id})
		node := funcNode(id)
		node.Parent = "f"
		w.Nodes = append(w.Nodes, node)
		w.Edges = append(w.Edges, workflow.Edge{From: "f", Port: id, To: id}, workflow.Edge{From: id, To: "j"})
	}
	return w
}

var (
	at      = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	more    = event.Value(`"more"`)
	done    = event.Value(`"done"`)
	approve = event.Value(`"approve"`)
)

// answerAll runs a workflow in memory, answering every call immediately, and checks the number of
// calls.
func answerAll(b *testing.B, p *engine.Plan, calls int) {
	r := engine.New(p, "run")
	d, err := r.Activate([]engine.Input{{At: at, Data: engine.Start{}}})
	queue := d.Commands
	for n := 1; err == nil && len(queue) > 0; {
		c, ok := queue[0].(*engine.CallFunc)
		queue = queue[1:]
		if !ok {
			continue
		}
		out := more
		if n++; n > calls {
			out = done
		}
		d, err = r.Activate([]engine.Input{{At: at, Data: engine.FuncResult{ID: c.ID, Output: out}}})
		queue = append(queue, d.Commands...)
	}
	if err != nil || r.Status() != event.StatusCompleted {
		b.Fatalf("%v, %v", r.Status(), err)
	}
}

func compile(b *testing.B, w *workflow.Workflow) *engine.Plan {
	b.Helper()
	p, err := engine.Compile(w, nil, celexpr.Compiler{})
	if err != nil {
		b.Fatal(err)
	}
	return p
}

// BenchmarkMemory measures the engine without a store: time and allocations per run and per step.
func BenchmarkMemory(b *testing.B) {
	for _, bc := range []struct {
		name  string
		w     *workflow.Workflow
		steps int // nodes of one run
		calls int
	}{
		{"chain of 100 functions", chain(100), 100, 100},
		{"chain of 100 decisions", decisions(100), 100, 0},
		{"loop of 1000", loop(1000), 2000, 1000},
		{"fan-out of 100 with join", fan(100), 101, 100},
	} {
		b.Run(bc.name, func(b *testing.B) {
			p := compile(b, bc.w)
			b.ReportAllocs()
			for b.Loop() {
				answerAll(b, p, bc.calls)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(bc.steps), "ns/step")
		})
	}
}

// BenchmarkMemoryThousandRuns interleaves 1,000 runs of a chain of 100 functions, one call of each
// in turn.
func BenchmarkMemoryThousandRuns(b *testing.B) {
	const runs, steps = 1000, 100
	p := compile(b, chain(steps))
	for b.Loop() {
		list := make([]*engine.Run, runs)
		next := make([]string, runs)
		for i := range list {
			list[i] = engine.New(p, "run")
			d, err := list[i].Activate([]engine.Input{{At: at, Data: engine.Start{}}})
			if err != nil {
				b.Fatal(err)
			}
			next[i] = d.Commands[0].(*engine.CallFunc).ID
		}
		for range steps {
			for i, r := range list {
				d, err := r.Activate([]engine.Input{{At: at, Data: engine.FuncResult{ID: next[i], Output: more}}})
				if err != nil {
					b.Fatal(err)
				}
				if c, ok := d.Commands[0].(*engine.CallFunc); ok {
					next[i] = c.ID
				}
			}
		}
	}
	b.ReportMetric(float64(b.N)*runs*steps/b.Elapsed().Seconds(), "steps/s")
}

// BenchmarkFloorClosures measures a chain of 100 closures without any engine.
func BenchmarkFloorClosures(b *testing.B) {
	fs := make([]func(event.Value) event.Value, 100)
	for i := range fs {
		fs[i] = func(v event.Value) event.Value { return v }
	}
	for b.Loop() {
		v := more
		for _, f := range fs {
			v = f(v)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/100, "ns/step")
}

// BenchmarkAnswers measures what an answer costs in a run with that many waits that have ended.
func BenchmarkAnswers(b *testing.B) {
	p := compile(b, &workflow.Workflow{Entry: "ok", Nodes: []workflow.Node{{ID: "ok", Kind: workflow.KindWait,
		Wait: &workflow.Wait{Kind: workflow.WaitApproval}}},
		Edges:  []workflow.Edge{{From: "ok", Port: workflow.PortApprove, To: "ok", Loop: true}},
		Limits: workflow.Limits{MaxLoopIterations: 1_000_000, MaxSteps: new(1_000_000)}})
	for _, ended := range []int{1000, 2000, 4000} {
		b.Run(fmt.Sprint(ended), func(b *testing.B) {
			var r *engine.Run
			answer := func() {
				if _, err := r.Activate([]engine.Input{{At: at, Data: engine.Answer{Value: approve}}}); err != nil {
					b.Fatal(err)
				}
			}
			for i := 0; b.Loop(); i = (i + 1) % 100 {
				if i == 0 {
					b.StopTimer()
					r = engine.New(p, "run")
					if _, err := r.Activate([]engine.Input{{At: at, Data: engine.Start{}}}); err != nil {
						b.Fatal(err)
					}
					for range ended {
						answer()
					}
					b.StartTimer()
				}
				answer()
			}
		})
	}
}
