package main

import "context"

// Sizes of the workloads.
const (
	chainNodes  = 100
	loopPasses  = 1000 // of a body and a check, 2,000 steps in all
	fanBranches = 100
	manyRuns    = 1000
	manyNodes   = 10
)

// state is a typed state with five fields.
type state struct {
	N     int      `json:"n"`
	Topic string   `json:"topic"`
	Draft string   `json:"draft,omitempty"`
	Done  bool     `json:"done"`
	Notes []string `json:"notes"`
}

func firstState() state {
	return state{Topic: "a state as small ones are", Draft: "a sentence of some length, \"quoted\" once",
		Notes: []string{"one", "two", "three", "four"}}
}

// change is the work of each node of the chain with a typed state.
func (s *state) change() {
	s.Notes[s.N%len(s.Notes)] = "changed"
	s.N++
}

// count is the state of all other workloads, used as the loop counter.
type count struct {
	N int `json:"n"`
}

// workload is one piece of work, and how its cost is formatted.
type workload struct {
	name string
	// steps is how many nodes one operation runs; 1 if the figure is per operation.
	steps float64
	// rate selects steps per second; if false, the figure is the time per step.
	rate bool
	// atOnce is how many operations run concurrently; 1 means sequentially.
	atOnce int
	// durable reports whether results are stored before the next step.
	durable bool
}

// The workloads, in the order of the table.
var (
	chainWork  = &workload{name: "chain of 100, a step", steps: chainNodes, atOnce: 1}
	loopWork   = &workload{name: "loop of 2,000 steps, a step", steps: 2 * loopPasses, atOnce: 1}
	fanWork    = &workload{name: "fan-out of 100 and join", steps: 1, atOnce: 1}
	typedWork  = &workload{name: "state of 5 fields, chain of 100, a step", steps: chainNodes, atOnce: 1}
	manyWork   = &workload{name: "1,000 runs of 10 nodes at once", steps: manyNodes, rate: true, atOnce: manyRuns}
	oneDurable = &workload{name: "durable, runs of 10 nodes one at a time", steps: manyNodes, rate: true, atOnce: 1,
		durable: true}
	manyDurable = &workload{name: "durable, 1,000 runs of 10 nodes at once", steps: manyNodes, rate: true,
		atOnce: manyRuns, durable: true}
)

var workloads = []*workload{chainWork, loopWork, fanWork, typedWork, manyWork, oneDurable, manyDurable}

// engine is one of the engines compared.
type engine interface {
	name() string
	// open sets up a workload; dir is a folder for its files. The returned op runs the workload
	// once and is safe for concurrent use. A nil op means that the engine does not support the
	// workload. Unless err is set, close is called once at the end; it is nil if op is nil.
	open(ctx context.Context, w *workload, dir string) (op func(context.Context) error, close func() error, err error)
}

// timer is an engine that measures its own time.
type timer interface {
	// rate returns steps per second; ok is false if the engine does not support the workload.
	rate(ctx context.Context, w *workload, dir string) (perSecond float64, ok bool, err error)
}
