package temporaldriver_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/driver/drivertest"
	"github.com/hocket-run/hocket/internal/driver/embedded"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/expr/celexpr"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/randtest"
	"github.com/hocket-run/hocket/internal/sim"
	"github.com/hocket-run/hocket/temporal/internal/temporaldriver"
	"github.com/hocket-run/hocket/workflow"
)

// story is a run that is driven on two drivers.
type story struct {
	flow  *workflow.Workflow
	world func() *sim.World
	// answer is submitted when the run pauses; "" means none.
	answer string
	status event.Status
}

func quoted(s string) event.Value { v, _ := json.Marshal(s); return v }

func node(id string, kind workflow.Kind) workflow.Node { return workflow.Node{ID: id, Kind: kind} }

// line returns a workflow of nodes in sequence.
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

// sideBySide returns a fork with an agent in each branch.
func sideBySide(set workflow.Fork, ids ...string) *workflow.Workflow {
	set.Join = "join"
	w := &workflow.Workflow{Name: "test", Entry: "f"}
	for _, id := range ids {
		set.Branches = append(set.Branches, workflow.Branch{ID: id})
	}
	w.Nodes = append(w.Nodes, workflow.Node{ID: "f", Kind: workflow.KindFork, Fork: &set})
	for _, id := range ids {
		w.Nodes = append(w.Nodes, workflow.Node{ID: id, Kind: workflow.KindAgent, Parent: "f",
			Agent: &workflow.AgentNode{Agent: id, Prompt: workflow.Prompt{Mode: workflow.PromptTemplate}}})
		w.Agents = append(w.Agents, workflow.Agent{ID: id, Name: id})
		w.Edges = append(w.Edges, workflow.Edge{From: "f", Port: id, To: id}, workflow.Edge{From: id, To: "join"})
	}
	w.Nodes = append(w.Nodes, workflow.Node{ID: "join", Kind: workflow.KindJoin, Hidden: true,
		Join: &workflow.Join{Fork: "f"}})
	return w
}

func plainWorld() *sim.World { return &sim.World{} }

// stories returns the stories that are played on both drivers.
func stories() map[string]story {
	const soon = workflow.Duration(200 * time.Millisecond)
	approve := workflow.Node{ID: "ok", Kind: workflow.KindWait, Wait: &workflow.Wait{Kind: workflow.WaitApproval,
		Prompt: "go on?"}}
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
		"agents and tools": {flow: line(node("a", workflow.KindAgent), node("act", workflow.KindTool),
			node("b", workflow.KindAgent)), world: func() *sim.World {
			return (&settings{quiet: true}).world()
		}, status: event.StatusCompleted},
		"an approval": {flow: line(approve, node("a", workflow.KindAgent)), world: plainWorld,
			answer: "approve", status: event.StatusCompleted},
		"a deadline that passes": {flow: timed, world: plainWorld, status: event.StatusCompleted},
		"retries that sleep": {flow: line(again), world: func() *sim.World {
			var n atomic.Int64
			return &sim.World{Model: func(context.Context, model.Request) (model.Reply, error) {
				if n.Add(1) < 3 {
					return model.Reply{}, &model.Error{Kind: model.KindOverloaded, Message: "later"}
				}
				return sim.Reply("done"), nil
			}}
		}, status: event.StatusCompleted},
		"a call that fails": {flow: line(node("a", workflow.KindAgent), node("b", workflow.KindAgent)),
			world: func() *sim.World {
				return &sim.World{Model: func(_ context.Context, q model.Request) (model.Reply, error) {
					if q.Node == "b" {
						return model.Reply{}, &model.Error{Kind: model.KindInvalidRequest, Message: "no"}
					}
					return sim.Reply("done"), nil
				}}
			}, status: event.StatusFailed},
		"sub-steps of functions": {flow: line(fn), world: func() *sim.World {
			w := &sim.World{}
			w.Func = func(_ context.Context, run string, c *engine.CallFunc, rec driver.Caller) engine.FuncResult {
				for i, key := range []string{"k1", "k2"} {
					_, err := w.Once(run, c, rec, key, func() (event.Value, error) {
						return quoted("did " + key), nil
					})
					if err == nil && i == 0 && c.Attempt == 1 {
						err = errors.New("try again")
					}
					if err != nil {
						return engine.FuncResult{Failure: &event.Failure{Code: event.CodeFunc, Message: err.Error(),
							Retryable: true}}
					}
				}
				return engine.FuncResult{Output: quoted("done")}
			}
			return w
		}, status: event.StatusCompleted},
		"runs below a function": {flow: line(fn), world: func() *sim.World {
			return &sim.World{
				Func: func(ctx context.Context, run string, _ *engine.CallFunc, by driver.Caller) engine.FuncResult {
					if _, err := by.Begin(ctx, run+".below", 1, nil); err != nil {
						return engine.FuncResult{Failure: &event.Failure{Code: event.CodeFunc, Message: err.Error()}}
					}
					by.Idle()
					if err := by.Use(engine.CallUse{Run: run + ".below", Ended: true}); err != nil {
						return engine.FuncResult{Failure: &event.Failure{Code: event.CodeFunc, Message: err.Error()}}
					}
					return engine.FuncResult{Output: quoted("done")}
				}}
		}, status: event.StatusCompleted},
		"twelve branches": {flow: sideBySide(workflow.Fork{}, strings.Split("abcdeghijklm", "")...), world: plainWorld,
			status: event.StatusCompleted},
		"a branch that loses": {flow: sideBySide(workflow.Fork{Until: workflow.UntilAny}, "slow", "fast"),
			world: func() *sim.World {
				slow := make(chan struct{})
				return &sim.World{Model: func(ctx context.Context, q model.Request) (model.Reply, error) {
					if q.Node == "slow" {
						close(slow)
						<-ctx.Done()
						return model.Reply{}, ctx.Err()
					}
					<-slow // a call cancelled before it begins has a different result
					return sim.Reply("fast"), nil
				}}
			}, status: event.StatusCompleted},
	}
}

// play plays a story on a driver and returns the events.
func (s story) play(t *testing.T, d driver.Driver, events func(run string) []event.Event) []event.Event {
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
		case state.Status != event.StatusPaused || answered:
			t.Fatalf("the run is %+v, want %s\n%s", state, s.status, shown(events(run)))
		case s.answer != "":
			answered = true
			if err := d.Answer(t.Context(), run, engine.Answer{Value: quoted(s.answer)}); err != nil {
				t.Fatal(err)
			}
		default:
			time.Sleep(20 * time.Millisecond) // Wait reports a paused run immediately
		}
	}
}

// shown formats events without their times, one per line.
func shown(events []event.Event) string {
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

// TestEqualJournals checks that a run has the same journal on both drivers, as compared by
// sim.Diff.
func TestEqualJournals(t *testing.T) {
	newCluster(t)
	for name, s := range stories() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := journal.NewMemory()
			world := s.world()
			reader := &cluster{reader: m.Open("")}
			world.Check(func(run string) []event.Event { return reader.Events(t, run) })
			d, err := embedded.New(embedded.Config{Expressions: celexpr.Compiler{}, Store: m.Open(journal.KindServe),
				Open: world.Open, Program: func(*workflow.Workflow) (driver.Program, error) {
					return world.Program(), nil
				}})
			if err != nil {
				t.Fatal(err)
			}
			want := s.play(t, d, func(run string) []event.Event { return reader.Events(t, run) })
			if err := d.Close(t.Context()); err != nil {
				t.Error(err)
			}
			world = s.world()
			c := memoryCluster(t)
			p := c.process(t, drivertest.Options{World: world}, temporaldriver.Queues())
			got := s.play(t, p, func(run string) []event.Event { return c.Events(t, run) })
			if diff, err := sim.Diff(want, got); err != nil || diff != "" {
				t.Errorf("embedded - temporal +: %v\n%s", err, diff)
			}
			for _, wrong := range world.Wrong() {
				t.Error(wrong)
			}
		})
	}
}

var equalSeeds = flag.Int("temporal.equal", 200, "how many random workflows TestEqualRandomJournals runs")

// TestEqualRandomJournals checks that random workflows with the same replies have the same journals
// on the embedded driver with an in-memory store and on Temporal with a store in PostgreSQL.
// TestJournalsAreEqual of package sim compares the embedded driver's stores.
func TestEqualRandomJournals(t *testing.T) {
	newCluster(t)
	c := postgresCluster(t)
	d, worlds := c.worlds(t)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Hour) // ten times as many workflows in make test-all
	defer cancel()
	t.Run("seeds", func(t *testing.T) {
		for seed := range randtest.Seeds(*equalSeeds) {
			run := fmt.Sprint("seed-", seed)
			worlds.set(run, seed)
			t.Run(run, func(t *testing.T) {
				t.Parallel()
				want := embeddedJournal(ctx, t, run, seed)
				events := func() []event.Event { return c.Events(t, run) }
				if err := sim.Play(ctx, d, run, seed, brisk(seed), events); err != nil {
					t.Fatal(err)
				}
				if diff, err := sim.Diff(want, events()); err != nil || diff != "" {
					t.Errorf("embedded - temporal +: %v\n%s", err, diff)
				}
			})
		}
	})
}

// brisk returns a random workflow whose retries have almost no delay.
func brisk(seed uint64) *workflow.Workflow {
	w := sim.Generate(seed)
	for i := range w.Nodes {
		if r := w.Nodes[i].Retry; r != nil {
			r.Delay /= 100
		}
	}
	return w
}

func briskWorld(seed uint64) *sim.World {
	w := sim.BehaveAtOnce(seed)
	w.ByContent()
	return w
}

// embeddedJournal runs a random workflow on the embedded driver and returns its events.
func embeddedJournal(ctx context.Context, t *testing.T, run string, seed uint64) []event.Event {
	t.Helper()
	m, w := journal.NewMemory(), briskWorld(seed)
	reader := &cluster{reader: m.Open("")}
	d, err := embedded.New(embedded.Config{Expressions: celexpr.Compiler{}, Store: m.Open(journal.KindServe),
		Open: w.Open, Program: func(*workflow.Workflow) (driver.Program, error) { return w.Program(), nil }})
	if err != nil {
		t.Fatal(err)
	}
	events := func() []event.Event { return reader.Events(t, run) }
	if err := errors.Join(sim.Play(ctx, d, run, seed, brisk(seed), events), d.Close(ctx)); err != nil {
		t.Fatal(err)
	}
	return events()
}

// worlds holds one world per run; the workflows have the names of the runs.
type worlds struct {
	mu  sync.Mutex
	all map[string]*sim.World
}

func (w *worlds) set(run string, seed uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all[run] = briskWorld(seed)
}

func (w *worlds) get(run string) *sim.World {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.all[run]
}

// worlds opens a process that runs each workflow in its own world.
func (c *cluster) worlds(t *testing.T) (*temporaldriver.Driver, *worlds) {
	t.Helper()
	w := &worlds{all: map[string]*sim.World{}}
	d, err := temporaldriver.New(temporaldriver.Config{
		Config: embedded.Config{
			Expressions: celexpr.Compiler{},
			Store:       c.open(), Logger: logger(),
			Open: func(ctx context.Context, info driver.Info) (*driver.RunResources, error) {
				return w.get(info.Run).Open(ctx, info)
			},
			Program: func(flow *workflow.Workflow) (driver.Program, error) { return w.get(flow.Name).Program(), nil },
		},
		Client: dial(t, c.address, c.temporal), Namespace: c.namespace, Queues: temporaldriver.Queues(),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		d.Maintain(ctx)
	}()
	t.Cleanup(func() {
		if err := d.Close(context.Background()); err != nil {
			t.Error(err)
		}
		cancel()
		<-ended
	})
	return d, w
}
