package drivertest

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/driver/stored"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/sim"
	"github.com/hocket-run/hocket/workflow"
)

// Options configures a process of a cluster.
type Options struct {
	// World simulates the outside world. Its calls are checked against the journal unless Unchecked
	// is set, which long runs do.
	World      *sim.World
	Unchecked  bool
	ApproveAll bool
	MaxCalls   int
	// TakeOverAfter is the time without heartbeats after which Maintain takes over the runs of
	// other processes; 0 means never.
	TakeOverAfter time.Duration
	// Place is the location of the process, and makes it one of the processes that continue each
	// other's runs. With NoDrive it drives nothing. MaxDriven is the maximum number of runs that it
	// drives; 0 means no limit.
	Place     string
	NoDrive   bool
	MaxDriven int
	// Deaf makes the process receive no requests that others leave for its runs.
	Deaf bool
	// Foreign means that the process has no functions; the functions of every workflow belong to
	// another program.
	Foreign bool
	// Now is the clock for the times of events; nil means the system's clock, or the bubble's.
	Now func() time.Time
	// Fault returns what happens at each write of the process; if nil, nothing does.
	Fault func(op string, n int) sim.Fault
}

// Process is a driver as seen by one process.
type Process interface {
	driver.Driver
	// Recover resumes interrupted runs of the process's kind.
	Recover(ctx context.Context) error
	// Kill kills the process: nothing that it does reaches the journal any more. It returns when
	// its goroutines are gone.
	Kill()
	// Dead is closed when the process has died, through Kill or a fault.
	Dead() <-chan struct{}
	// Fence makes the other processes treat this one as dead, without its knowledge.
	Fence()
	// Mute withholds the process's heartbeats from the other processes, as if it hung, until it is
	// called with false.
	Mute(mute bool)
	// Writes returns the number of writes so far.
	Writes() int
}

// Cluster is a store of runs and the processes on it. The end of the test closes processes that are
// still open.
type Cluster interface {
	Open(t *testing.T, o Options) Process
	// Events reads a run's journal. It returns nil if the run does not exist.
	Events(t *testing.T, run string) []event.Event
	// Store returns a handle of the store that outlives the processes.
	Store() journal.Backend
	// Runs returns the stored runs, which need no driver.
	Runs(t *testing.T) *stored.Runs
	// Fresh creates another empty cluster.
	Fresh(t *testing.T) Cluster
	// Slow reports whether writes take long: then faults occur only at every fourth write, or at
	// each one with make test-all.
	Slow() bool
}

// flow is a workflow under construction.
type flow struct{ workflow.Workflow }

func agent(id string) workflow.Node {
	return workflow.Node{ID: id, Kind: workflow.KindAgent,
		Agent: &workflow.AgentNode{Agent: id, Prompt: workflow.Prompt{Mode: workflow.PromptTemplate}}}
}

func toolNode(id, tool string) workflow.Node {
	return workflow.Node{ID: id, Kind: workflow.KindTool, Tool: &workflow.ToolNode{Tool: tool}}
}

func approval(id string) workflow.Node {
	return workflow.Node{ID: id, Kind: workflow.KindWait, Wait: &workflow.Wait{Kind: workflow.WaitApproval,
		Prompt: "go on with " + id + "?"}}
}

func within(parent string, n workflow.Node) workflow.Node {
	n.Parent = parent
	return n
}

// chain connects nodes in sequence. Each agent gets an entry.
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

// fork adds a block with one branch for each list of nodes, after the node before. Each branch is
// named after its first node.
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

func text(s string) event.Value { return event.Value(fmt.Sprintf("%q", s)) }

func start(t *testing.T, p Process, w *flow) string {
	t.Helper()
	run, err := p.Start(t.Context(), driver.Spec{Workflow: w.workflow(), Input: text("in")})
	if err != nil {
		t.Fatalf("start: %v", err)
	}
	return run
}

// settle waits for the run and fails if its state is not want.
func settle(t *testing.T, c Cluster, p Process, run string, want event.Status) {
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

// count returns the number of events of a type.
func count(events []event.Event, typ event.Type) int {
	n := 0
	for _, e := range events {
		if e.Data.Type() == typ {
			n++
		}
	}
	return n
}

// replies returns the outputs of all model replies by node, in order.
func replies(events []event.Event) map[string][]string {
	out := map[string][]string{}
	for _, e := range events {
		if d, ok := e.Data.(*event.ModelReplied); ok && !d.Late {
			out[e.Node] = append(out[e.Node], d.Message.Text.String())
		}
	}
	return out
}

// collect reads a watch to its end.
func collect(seq iter.Seq2[driver.Update, error]) (events []event.Event, deltas []driver.Delta, err error) {
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

// tryStart starts a run with a given id.
func tryStart(t *testing.T, p Process, run string, f *flow) error {
	_, err := p.Start(t.Context(), driver.Spec{Run: run, Workflow: f.workflow(), Input: text("in")})
	return err
}

// journalHas returns the stored events of the run, and reports whether there are any.
func journalHas(t *testing.T, c Cluster, run string) ([]event.Event, bool) {
	events := c.Events(t, run)
	return events, len(events) > 0
}

// show formats events, one per line.
func show(events []event.Event) string {
	var b strings.Builder
	for _, e := range events {
		data, err := json.Marshal(e.Data)
		if err != nil {
			data = []byte(err.Error())
		}
		fmt.Fprintf(&b, "%3d %s %-16s %-10s #%d %s\n", e.Seq, e.At.Format("15:04:05.000"), e.Data.Type(), e.Node,
			e.Step, data)
	}
	return b.String()
}
