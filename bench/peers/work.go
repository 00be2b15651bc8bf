package main

import "context"

// Sizes of the work.
const (
	chainNodes  = 100
	loopPasses  = 1000 // of a body and a check: 2,000 steps
	fanBranches = 100
	manyRuns    = 1000
	manyNodes   = 10
)

// state is the typed state of five fields.
type state struct {
	N     int      `json:"n"`
	Topic string   `json:"topic"`
	Draft string   `json:"draft,omitempty"`
	Done  bool     `json:"done"`
	Notes []string `json:"notes"`
}

func firstState() state {
	return state{Topic: "a state as small ones are", Draft: "a sentence of some length, \"quoted\" once", Notes: []string{"one", "two", "three", "four"}}
}

// change is what each node of the chain with a typed state does.
func (s *state) change() {
	s.Notes[s.N%len(s.Notes)] = "changed"
	s.N++
}

// count is the state of all other work: what the loop counts with.
type count struct {
	N int `json:"n"`
}

// workload is one piece of work, with how its cost is written.
type workload struct {
	name string
	// steps is how many nodes one operation runs; 1 where an operation is what is told.
	steps float64
	// rate writes steps a second; false: time for each step.
	rate bool
	// atOnce is how many operations run at the same time; 1: one after another.
	atOnce int
	// durable says that results are stored before the next step.
	durable bool
}

// The work, in the order of the table.
var (
	chainWork   = &workload{name: "chain of 100, a step", steps: chainNodes, atOnce: 1}
	loopWork    = &workload{name: "loop of 2,000 steps, a step", steps: 2 * loopPasses, atOnce: 1}
	fanWork     = &workload{name: "fan-out of 100 and join", steps: 1, atOnce: 1}
	typedWork   = &workload{name: "state of 5 fields, chain of 100, a step", steps: chainNodes, atOnce: 1}
	manyWork    = &workload{name: "1,000 runs of 10 nodes at once", steps: manyNodes, rate: true, atOnce: manyRuns}
	oneDurable  = &workload{name: "durable, runs of 10 nodes one at a time", steps: manyNodes, rate: true, atOnce: 1, durable: true}
	manyDurable = &workload{name: "durable, 1,000 runs of 10 nodes at once", steps: manyNodes, rate: true, atOnce: manyRuns, durable: true}
)

var workloads = []*workload{chainWork, loopWork, fanWork, typedWork, manyWork, oneDurable, manyDurable}

// engine is one of those that are compared.
type engine interface {
	name() string
	// open makes what a workload needs; dir is a folder for its files. The operation that it gives carries the work out once and is safe for concurrent use. A nil
	// operation: the engine does no such work. Without an error, close is called once at the end; it is nil where the operation is.
	open(ctx context.Context, w *workload, dir string) (op func(context.Context) error, close func() error, err error)
}

// timer is an engine that does its own timing.
type timer interface {
	// rate gives steps a second; ok is false where there is no such work.
	rate(ctx context.Context, w *workload, dir string) (perSecond float64, ok bool, err error)
}
