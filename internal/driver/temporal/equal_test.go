package temporal_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/driver/drivertest"
	"github.com/hocket-run/hocket/internal/driver/embedded"
	"github.com/hocket-run/hocket/internal/driver/temporal"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/sim"
	"github.com/hocket-run/hocket/workflow"
)

// story is a run as it is driven on two drivers.
type story struct {
	flow  *workflow.Workflow
	world func() *sim.World
	// answer is given where the run pauses; "" for none.
	answer string
	// concurrent: the order of some events depends on which call ends first.
	concurrent bool
	status     engine.Status
}

func quoted(s string) engine.Value { v, _ := json.Marshal(s); return v }

func node(id string, kind workflow.Kind) workflow.Node { return workflow.Node{ID: id, Kind: kind} }

// line is a workflow of nodes one after another.
func line(nodes ...workflow.Node) *workflow.Workflow {
	w := &workflow.Workflow{Name: "test", Entry: nodes[0].ID}
	for i, n := range nodes {
		switch n.Kind {
		case workflow.KindAgent:
			n.Agent = &workflow.AgentNode{Agent: n.ID, Prompt: workflow.Prompt{Mode: workflow.PromptTemplate}}
			w.Agents = append(w.Agents, workflow.Agent{ID: n.ID, Name: n.ID})
		case workflow.KindTool:
			n.Tool = &workflow.ToolNode{Tool: n.ID}
		case workflow.KindFunc:
			n.Func = &workflow.FuncNode{Func: n.ID}
		}
		if n.Parent == "" && i > 0 {
			port := ""
			if before := w.Nodes[i-1]; before.Wait != nil {
				port = workflow.PortApprove
			}
			w.Edges = append(w.Edges, workflow.Edge{From: w.Nodes[i-1].ID, Port: port, To: n.ID})
		}
		w.Nodes = append(w.Nodes, n)
	}
	return w
}

// sideBySide is a fork with an agent in each branch.
func sideBySide(set workflow.Fork, ids ...string) *workflow.Workflow {
	set.Join = "join"
	w := &workflow.Workflow{Name: "test", Entry: "f"}
	for _, id := range ids {
		set.Branches = append(set.Branches, workflow.Branch{ID: id})
	}
	w.Nodes = append(w.Nodes, workflow.Node{ID: "f", Kind: workflow.KindFork, Fork: &set})
	for _, id := range ids {
		w.Nodes = append(w.Nodes, workflow.Node{ID: id, Kind: workflow.KindAgent, Parent: "f", Agent: &workflow.AgentNode{Agent: id, Prompt: workflow.Prompt{Mode: workflow.PromptTemplate}}})
		w.Agents = append(w.Agents, workflow.Agent{ID: id, Name: id})
		w.Edges = append(w.Edges, workflow.Edge{From: "f", Port: id, To: id}, workflow.Edge{From: id, To: "join"})
	}
	w.Nodes = append(w.Nodes, workflow.Node{ID: "join", Kind: workflow.KindJoin, Hidden: true, Join: &workflow.Join{Fork: "f"}})
	return w
}

func plainWorld() *sim.World { return &sim.World{} }

// stories are what both drivers are told.
func stories() map[string]story {
	const soon = workflow.Duration(200 * time.Millisecond)
	approve := workflow.Node{ID: "ok", Kind: workflow.KindWait, Wait: &workflow.Wait{Kind: workflow.WaitApproval, Prompt: "go on?"}}
	late := approve
	late.Wait = &workflow.Wait{Kind: workflow.WaitApproval, Prompt: "go on?", Deadline: soon}
	timed := line(late, node("a", workflow.KindAgent))
	timed.Nodes = append(timed.Nodes, line(node("late", workflow.KindAgent)).Nodes...)
	timed.Agents = append(timed.Agents, workflow.Agent{ID: "late", Name: "late"})
	timed.Edges = append(timed.Edges, workflow.Edge{From: "ok", Port: workflow.PortTimeout, To: "late"})
	again := node("a", workflow.KindAgent)
	again.Retry = &workflow.Retry{MaxRetries: 2, Delay: soon}
	fn := node("f", workflow.KindFunc)
	fn.Retry = &workflow.Retry{MaxRetries: 2, Delay: soon}
	return map[string]story{
		"agents and tools": {flow: line(node("a", workflow.KindAgent), node("act", workflow.KindTool), node("b", workflow.KindAgent)), world: func() *sim.World {
			return (&settings{quiet: true}).world()
		}, status: engine.StatusCompleted},
		"an approval":            {flow: line(approve, node("a", workflow.KindAgent)), world: plainWorld, answer: "approve", status: engine.StatusCompleted},
		"a deadline that passes": {flow: timed, world: plainWorld, status: engine.StatusCompleted},
		"retries that sleep": {flow: line(again), world: func() *sim.World {
			var n atomic.Int64
			return &sim.World{Model: func(context.Context, model.Request) (model.Reply, error) {
				if n.Add(1) < 3 {
					return model.Reply{}, &model.Error{Kind: model.KindOverloaded, Message: "later"}
				}
				return sim.Reply("done"), nil
			}}
		}, status: engine.StatusCompleted},
		"a call that fails": {flow: line(node("a", workflow.KindAgent), node("b", workflow.KindAgent)), world: func() *sim.World {
			return &sim.World{Model: func(_ context.Context, q model.Request) (model.Reply, error) {
				if q.Node == "b" {
					return model.Reply{}, &model.Error{Kind: model.KindInvalidRequest, Message: "no"}
				}
				return sim.Reply("done"), nil
			}}
		}, status: engine.StatusFailed},
		"sub-steps of functions": {flow: line(fn), world: func() *sim.World {
			w := &sim.World{}
			w.Func = func(_ context.Context, run string, c *engine.CallFunc, rec driver.Caller) engine.FuncResult {
				for i, key := range []string{"k1", "k2"} {
					_, err := w.Once(run, c, rec, key, func() (engine.Value, error) { return quoted("did " + key), nil })
					if err == nil && i == 0 && c.Attempt == 1 {
						err = errors.New("try again")
					}
					if err != nil {
						return engine.FuncResult{Failure: &engine.Failure{Code: engine.CodeFunc, Message: err.Error(), Retryable: true}}
					}
				}
				return engine.FuncResult{Output: quoted("done")}
			}
			return w
		}, status: engine.StatusCompleted},
		"runs below a function": {flow: line(fn), world: func() *sim.World {
			return &sim.World{Func: func(ctx context.Context, run string, _ *engine.CallFunc, by driver.Caller) engine.FuncResult {
				if _, err := by.Begin(ctx, run+".below", 1, nil); err != nil {
					return engine.FuncResult{Failure: &engine.Failure{Code: engine.CodeFunc, Message: err.Error()}}
				}
				by.Idle()
				if err := by.Use(engine.CallUse{Run: run + ".below", Ended: true}); err != nil {
					return engine.FuncResult{Failure: &engine.Failure{Code: engine.CodeFunc, Message: err.Error()}}
				}
				return engine.FuncResult{Output: quoted("done")}
			}}
		}, status: engine.StatusCompleted},
		"twelve branches": {flow: sideBySide(workflow.Fork{}, strings.Split("abcdeghijklm", "")...), world: plainWorld, concurrent: true, status: engine.StatusCompleted},
		"a branch that loses": {flow: sideBySide(workflow.Fork{Until: workflow.UntilAny}, "slow", "fast"), world: func() *sim.World {
			return &sim.World{Model: func(ctx context.Context, q model.Request) (model.Reply, error) {
				if q.Node == "slow" {
					<-ctx.Done()
					return model.Reply{}, ctx.Err()
				}
				return sim.Reply("fast"), nil
			}}
		}, concurrent: true, status: engine.StatusCompleted},
	}
}

// tell plays a story on a driver and gives the events.
func (s story) tell(t *testing.T, d driver.Driver, events func(run string) []engine.Event) []engine.Event {
	t.Helper()
	run, err := d.Start(t.Context(), driver.Spec{Run: "r", Workflow: s.flow, Input: quoted("call read")})
	if err != nil {
		t.Fatal(err)
	}
	for answered := false; ; {
		state, err := d.Wait(t.Context(), run)
		switch {
		case err != nil:
			t.Fatal(err)
		case state.Status == s.status:
			return events(run)
		case state.Status != engine.StatusPaused || answered:
			t.Fatalf("the run is %+v, want %s\n%s", state, s.status, shown(events(run)))
		case s.answer != "":
			answered = true
			if err := d.Answer(t.Context(), run, engine.Answer{Value: quoted(s.answer)}); err != nil {
				t.Fatal(err)
			}
		default:
			time.Sleep(20 * time.Millisecond) // Wait tells of a run that is paused at once
		}
	}
}

// shown prints events without their times, a line each.
func shown(events []engine.Event) string {
	var lines []string
	for _, e := range events {
		data, err := json.Marshal(e.Data)
		if err != nil {
			data = []byte(err.Error())
		}
		lines = append(lines, cmp.Or(string(e.Data.Type()), "?")+" "+e.Node+" "+string(data))
	}
	return strings.Join(lines, "\n")
}

// timeless takes the times out of what events say, and for concurrent runs all but what happened where.
func timeless(events []engine.Event, concurrent bool) []string {
	var lines []string
	for _, e := range events {
		switch d := e.Data.(type) {
		case *engine.WaitOpened:
			d.Deadline = time.Time{}
		case *engine.StepRetrying:
			d.Until = time.Time{}
		}
		if concurrent {
			lines = append(lines, string(e.Data.Type())+" "+e.Node)
			continue
		}
		lines = append(lines, shown([]engine.Event{e}))
	}
	if concurrent {
		slices.Sort(lines)
	}
	return lines
}

// TestEqualJournals: a run has the same journal on both drivers, but for times and the order of what happens at once.
func TestEqualJournals(t *testing.T) {
	newCluster(t)
	for name, s := range stories() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := journal.NewMemory()
			world := s.world()
			reader := &cluster{reader: m.Open("")}
			world.Check(func(run string) []engine.Event { return reader.Events(t, run) })
			d, err := embedded.New(embedded.Config{Store: m.Open(journal.KindServe), Open: world.Open, Program: func(*workflow.Workflow) (driver.Program, error) { return world.Program(), nil }})
			if err != nil {
				t.Fatal(err)
			}
			want := s.tell(t, d, func(run string) []engine.Event { return reader.Events(t, run) })
			if err := d.Close(t.Context()); err != nil {
				t.Error(err)
			}
			world = s.world()
			c := memoryCluster(t)
			p := c.process(t, drivertest.Options{World: world}, temporal.Queues())
			got := s.tell(t, p, func(run string) []engine.Event { return c.Events(t, run) })
			if diff := gocmp.Diff(timeless(want, s.concurrent), timeless(got, s.concurrent)); diff != "" {
				t.Errorf("embedded - temporal +\n%s", diff)
			}
			for _, wrong := range world.Wrong() {
				t.Error(wrong)
			}
		})
	}
}
