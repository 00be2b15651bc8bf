package drivertest

import (
	"context"
	"fmt"
	"iter"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/driver/stored"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/sim"
	"github.com/hocket-run/hocket/workflow"
)

// Options are what a process of a cluster is made with.
type Options struct {
	// World is the outside. Its calls are checked against the journal unless Unchecked is set, which long runs do.
	World      *sim.World
	Unchecked  bool
	ApproveAll bool
	MaxCalls   int
	// TakeOverAfter is for how long others give no sign of life before Tend takes their runs over; 0: never.
	TakeOverAfter time.Duration
	// Place makes the process one of those that continue each other's runs, and is where it is. NoDrive: it drives nothing. MaxDriven bounds the runs that it drives; 0: no bound.
	Place     string
	NoDrive   bool
	MaxDriven int
	// Deaf: the process is handed no requests that others leave for its runs.
	Deaf bool
	// Foreign: the process has no functions; those of every workflow belong to another program.
	Foreign bool
	// Now is the clock for the times of events; nil: the system's, or that of the bubble.
	Now func() time.Time
	// Fault tells what happens at each write of the process; nil: nothing.
	Fault func(op string, n int) sim.Fault
}

// Process is a driver as one process has it.
type Process interface {
	driver.Driver
	// Recover takes up interrupted runs of the process's kind.
	Recover(ctx context.Context) error
	// Kill lets the process die: nothing of it reaches the journal any more. It returns when its goroutines are gone.
	Kill()
	// Dead is closed when the process has died, by Kill or by a fault.
	Dead() <-chan struct{}
	// Fence makes the other processes take this one for dead, which it does not know.
	Fence()
	// Mute keeps the process's signs of life from the others, as if it hung, until it is called with false.
	Mute(mute bool)
	// Writes counts the writes so far.
	Writes() int
}

// Cluster is a place where runs are kept. Processes that are still open at the end of the test are closed by it.
type Cluster interface {
	Open(t *testing.T, o Options) Process
	// Events reads a run's journal; nil where there is no such run.
	Events(t *testing.T, run string) []engine.Event
	// Runs gives the stored runs, which no driver is needed for.
	Runs(t *testing.T) *stored.Runs
	// Fresh makes another empty cluster.
	Fresh(t *testing.T) Cluster
	// Slow tells that writes take long: faults come at every fourth write only, at each with make test-all.
	Slow() bool
}

// flow is a workflow in the making.
type flow struct{ workflow.Workflow }

func agent(id string) workflow.Node {
	return workflow.Node{ID: id, Kind: workflow.KindAgent, Agent: &workflow.AgentNode{Agent: id, Prompt: workflow.Prompt{Mode: workflow.PromptTemplate}}}
}

func toolNode(id, tool string) workflow.Node {
	return workflow.Node{ID: id, Kind: workflow.KindTool, Tool: &workflow.ToolNode{Tool: tool}}
}

func approval(id string) workflow.Node {
	return workflow.Node{ID: id, Kind: workflow.KindWait, Wait: &workflow.Wait{Kind: workflow.WaitApproval, Prompt: "go on with " + id + "?"}}
}

func within(parent string, n workflow.Node) workflow.Node {
	n.Parent = parent
	return n
}

// chain joins nodes one after another. Agents get an entry each.
func chain(nodes ...workflow.Node) *flow {
	f := &flow{}
	f.Name = "test"
	for i, n := range nodes {
		f.add(n)
		if i == 0 {
			f.Entry = n.ID
		} else {
			port := ""
			if nodes[i-1].Kind == workflow.KindWait && nodes[i-1].Wait.Kind == workflow.WaitApproval {
				port = workflow.PortApprove
			}
			f.edge(nodes[i-1].ID, port, n.ID)
		}
	}
	return f
}

func (f *flow) add(n workflow.Node) {
	f.Nodes = append(f.Nodes, n)
	if n.Kind == workflow.KindAgent {
		f.Agents = append(f.Agents, workflow.Agent{ID: n.ID, Name: n.ID})
	}
}

func (f *flow) edge(from, port, to string) {
	f.Edges = append(f.Edges, workflow.Edge{From: from, Port: port, To: to})
}

// fork adds a block with one branch for each list of nodes, after the node before. Branches are named by their first node.
func (f *flow) fork(before, id string, set workflow.Fork, branches ...[]workflow.Node) *flow {
	join := id + "/join"
	set.Join = join
	for _, b := range branches {
		set.Branches = append(set.Branches, workflow.Branch{ID: b[0].ID})
	}
	f.add(workflow.Node{ID: id, Kind: workflow.KindFork, Fork: &set})
	if before == "" {
		f.Entry = id
	} else {
		f.edge(before, "", id)
	}
	for _, b := range branches {
		last := ""
		for i, n := range b {
			f.add(within(id, n))
			if i == 0 {
				f.edge(id, n.ID, n.ID)
			} else {
				f.edge(last, portOf(b[i-1]), n.ID)
			}
			last = n.ID
		}
		f.edge(last, portOf(b[len(b)-1]), join)
	}
	f.add(workflow.Node{ID: join, Kind: workflow.KindJoin, Hidden: true, Join: &workflow.Join{Fork: id}})
	return f
}

func portOf(n workflow.Node) string {
	if n.Kind == workflow.KindWait && n.Wait.Kind == workflow.WaitApproval {
		return workflow.PortApprove
	}
	return ""
}

func (f *flow) then(after string, n workflow.Node) *flow {
	f.add(n)
	f.edge(after, "", n.ID)
	return f
}

func (f *flow) workflow() *workflow.Workflow {
	if f.Name == "" {
		f.Name = "test"
	}
	return &f.Workflow
}

func text(s string) engine.Value { return engine.Value(fmt.Sprintf("%q", s)) }

func start(t *testing.T, p Process, w *flow) string {
	t.Helper()
	run, err := p.Start(t.Context(), driver.Spec{Workflow: w.workflow(), Input: text("in")})
	if err != nil {
		t.Fatalf("start: %v", err)
	}
	return run
}

// settle waits for the run and fails where its state is not want.
func settle(t *testing.T, c Cluster, p Process, run string, want engine.Status) {
	t.Helper()
	s, err := p.Wait(t.Context(), run)
	if err != nil {
		t.Fatalf("wait: %v", err)
	}
	if s.Status != want || s.Interrupted {
		t.Fatalf("the run is %+v, want %s\n%s", s, want, show(c.Events(t, run)))
	}
}

func closeAll(t *testing.T, ps ...Process) {
	t.Helper()
	for _, p := range ps {
		if err := p.Close(t.Context()); err != nil {
			t.Errorf("close: %v", err)
		}
	}
}

// count tells how many events of a type there are.
func count(events []engine.Event, typ engine.Type) int {
	n := 0
	for _, e := range events {
		if e.Data.Type() == typ {
			n++
		}
	}
	return n
}

// outputs gives the outputs of all model replies by node, in order.
func replies(events []engine.Event) map[string][]string {
	out := map[string][]string{}
	for _, e := range events {
		if d, ok := e.Data.(*engine.ModelReplied); ok && !d.Late {
			out[e.Node] = append(out[e.Node], d.Message.Text.String())
		}
	}
	return out
}

// collect reads a watch to its end.
func collect(seq iter.Seq2[driver.Update, error]) (events []engine.Event, deltas []driver.Delta, err error) {
	for u, e := range seq {
		switch {
		case e != nil:
			return events, deltas, e
		case u.Event != nil:
			events = append(events, *u.Event)
		default:
			deltas = append(deltas, *u.Delta)
		}
	}
	return events, deltas, nil
}

func retryOnce() *workflow.Retry { return &workflow.Retry{MaxRetries: 1} }

// tryStart starts a run under an id.
func tryStart(t *testing.T, p Process, run string, f *flow) error {
	_, err := p.Start(t.Context(), driver.Spec{Run: run, Workflow: f.workflow(), Input: text("in")})
	return err
}

// journalHas tells whether the run is stored.
func journalHas(t *testing.T, c Cluster, run string) ([]engine.Event, bool) {
	events := c.Events(t, run)
	return events, len(events) > 0
}
