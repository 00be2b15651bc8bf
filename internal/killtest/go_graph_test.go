package killtest_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hocket-run/hocket/graph"
)

// order is the state of the killed graph.
type order struct {
	Drafts int      `json:"drafts"`
	Log    []string `json:"log,omitempty"`
	Wish   string   `json:"wish,omitempty"`
	Paid   bool     `json:"paid,omitempty"`
}

// finished is the final state of each run.
var finished = order{Drafts: 3, Log: []string{"plan", "left", "right", "right2", "flaky", "greet", "author", "reader",
	"ship"}, Wish: "gift wrap", Paid: true}

// Kinds of diary entries: a node function was called, a sub-step started, a sub-step returned its
// value.
const (
	wroteCall  = "call"
	wroteBegun = "begun"
	wroteTook  = "took"
)

// diary is what the functions record outside the journal: a line for each entry, on disk before the
// function continues.
type diary struct {
	run   string // the run being executed
	mu    sync.Mutex
	file  *os.File
	count atomic.Int64
}

func openDiary(path, run string) (*diary, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	return &diary{file: f, run: run}, err
}

func (d *diary) write(kind, key, value string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, err := fmt.Fprintln(d.file, kind, key, value); err != nil {
		return err
	}
	return d.file.Sync()
}

type call = graph.Context[order]

// node returns a node whose function records its calls and then does its work, which takes a while,
// so that kills hit it.
func (d *diary) node(id string, do func(ctx context.Context, c *call) error,
	opts ...graph.NodeOptions) graph.Node[order] {
	return graph.NewNode(id, graph.TypeTool, func(ctx context.Context, c *call) (graph.Result[order], error) {
		if err := d.write(wroteCall, c.Key, ""); err != nil {
			return graph.Result[order]{}, err
		}
		if err := work(ctx); err != nil {
			return graph.Result[order]{}, err
		}
		if do != nil {
			if err := do(ctx, c); err != nil {
				return graph.Result[order]{}, err
			}
		}
		return graph.Result[order]{Update: &c.State}, nil
	}, opts...)
}

// logs returns a node that adds its id to the log and then calls do.
func (d *diary) logs(id string, do func(ctx context.Context, c *call) error,
	opts ...graph.NodeOptions) graph.Node[order] {
	return d.node(id, func(ctx context.Context, c *call) error {
		c.State.Log = append(c.State.Log, id)
		if do == nil {
			return nil
		}
		return do(ctx, c)
	}, opts...)
}

func work(ctx context.Context) error {
	select {
	case <-time.After(2 * time.Millisecond):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// once runs a sub-step with an unpredictable value, so that a repetition is detected.
func (d *diary) once(ctx context.Context, c *call, key string) error {
	name := c.Key + "/" + key
	v, err := graph.Once(ctx, key, func(ctx context.Context) (string, error) {
		if err := d.write(wroteBegun, name, ""); err != nil {
			return "", err
		}
		return fmt.Sprintf("%d-%d", os.Getpid(), d.count.Add(1)), work(ctx)
	})
	if err != nil {
		return err
	}
	return d.write(wroteTook, name, strconv.Quote(v))
}

// graph returns the graph to kill: a chain, a loop whose body has a sub-step in each round, a
// parallel block with concurrent sub-steps, retries between sub-steps, a question inside a subgraph
// between nodes with sub-steps, a node of two sub-steps, an agent and a sub-agent.
func (d *diary) graph() (*graph.Compiled[order], error) {
	desk, err := graph.New[order]("desk").
		Start(d.logs("greet", func(ctx context.Context, c *call) error { return d.once(ctx, c, "ring") })).
		Then(graph.WaitConfig[order]{ID: "ask", Prompt: "any wishes?", Input: func(s *order, answer string) error {
			s.Wish = answer
			return nil
		}}).
		Then(d.node("note", func(ctx context.Context, c *call) error { return d.once(ctx, c, "ring") })).
		Compile()
	if err != nil {
		return nil, err
	}
	retry := graph.NodeOptions{Retry: graph.Retry{MaxAttempts: 3, Backoff: time.Millisecond, Multiplier: 1}}
	return graph.New[order]("order").
		Start(d.logs("plan", nil)).
		Loop(graph.LoopConfig[order]{Until: func(v graph.View[order]) bool { return v.State.Drafts >= 3 }},
			d.node("draft", func(ctx context.Context, c *call) error {
				c.State.Drafts++
				return d.once(ctx, c, "fetch")
			}), d.node("check", nil)).
		Parallel(graph.ParallelConfig[order]{Branches: []string{"left", "right"}}).
		Node(d.logs("left", func(ctx context.Context, c *call) error {
			var wg sync.WaitGroup
			errs := make([]error, 4)
			for i := range errs {
				wg.Go(func() { errs[i] = d.once(ctx, c, []string{"one", "two", "both", "both"}[i]) })
			}
			wg.Wait()
			return errors.Join(errs...)
		})).
		Node(d.logs("right", nil), d.logs("right2", nil)).
		Then(d.logs("flaky", func(ctx context.Context, c *call) error {
			for i, key := range []string{"first", "second", "third"} {
				if err := d.once(ctx, c, key); err != nil {
					return err
				}
				if c.Attempt == i+1 && i < 2 {
					return errors.New("try again")
				}
			}
			return nil
		}, retry)).
		Then(graph.SubgraphConfig[order, order]{ID: "desk", Graph: desk, Output: func(s *order, last order) error {
			*s = last
			return nil
		}}).
		Then(d.node("pay", func(ctx context.Context, c *call) error {
			c.State.Paid = true
			return errors.Join(d.once(ctx, c, "charge"), d.once(ctx, c, "mail"))
		})).
		Then(graph.AgentConfig[order]{ID: "author", AgentType: "author", MessageFunc: func(graph.View[order]) string {
			return "Write a note."
		}, Output: func(s *order, m []graph.AgentMessage) error {
			if len(m) != 1 || m[0].Content == "" {
				return fmt.Errorf("the answer is %v", m)
			}
			s.Log = append(s.Log, "author")
			for range 5 { // kills hit this: the answer is stored by now
				if err := work(context.Background()); err != nil {
					return err
				}
			}
			return nil
		}}).
		Subagent(graph.SubagentConfig[order]{ID: "reader", Agent: "reader", Task: "Read it.",
			Output: func(s *order, _ graph.SubagentResult) error {
				s.Log = append(s.Log, "reader")
				return nil
			}}).
		Then(d.logs("ship", nil)).
		Compile(graph.Config{Reducers: map[string]graph.Reducer{"log": graph.Append()}, Runtime: graph.Runtime{
			ClientProvider: func(string) graph.Client { return agent{d} }, Subagents: agent{d}, Registry: agent{d},
		}})
}

// agent is a coding agent that records each message it receives, and a bridge that records each
// task.
type agent struct{ d *diary }

func (a agent) CreateSession(context.Context, graph.SessionConfig) (graph.Session, error) {
	return a, nil
}

func (agent) ID() string { return "a" }

func (a agent) Stream(ctx context.Context, _ string) iter.Seq2[graph.AgentMessage, error] {
	return func(yield func(graph.AgentMessage, error) bool) {
		err := a.d.write(wroteBegun, a.d.run+agentAnswered, "")
		if err == nil {
			err = work(ctx)
		}
		yield(graph.AgentMessage{Type: graph.MessageText, Role: "assistant",
			Content: fmt.Sprintf("%d-%d", os.Getpid(), a.d.count.Add(1))}, err)
	}
}

// agentAnswered, appended to its run, names the sub-step that stores the agent's reply.
const agentAnswered = "/author"

func (agent) ContextUsage(context.Context) (graph.SessionUsage, error) {
	return graph.SessionUsage{InputTokens: 1, MaxTokens: 100}, nil
}

func (agent) Summarize(context.Context) error { return graph.ErrNoSummarize }
func (agent) Destroy(context.Context) error   { return nil }

func (agent) Get(name string) (graph.SubagentInfo, bool) {
	return graph.SubagentInfo{Name: name}, true
}
func (agent) All() []graph.SubagentInfo { return nil }

func (a agent) Spawn(ctx context.Context, o graph.SpawnOptions) (graph.SubagentResult, error) {
	if err := a.d.write(wroteCall, o.Key, ""); err != nil {
		return graph.SubagentResult{}, err
	}
	return graph.SubagentResult{AgentID: o.AgentID, Success: true}, work(ctx)
}

func (agent) SpawnParallel(context.Context, []graph.SpawnOptions) ([]graph.SubagentResult, error) {
	return nil, errors.ErrUnsupported
}
