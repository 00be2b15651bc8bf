package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/hocket-run/hocket"
	"github.com/hocket-run/hocket/graph"
	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/documents/linked"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/internal/text"
	"github.com/hocket-run/hocket/workflow"
)

// row is one kind of growth.
type row struct {
	name string
	// what describes the items that there are n of.
	what string
	// n is the smaller of the two numbers in the table; small is the one used in the test.
	n, small int
	// run does the work on a new store at path db, and closes the store.
	run func(ctx context.Context, db string, n int) (done, error)
}

// done is the work that a row has done.
type done struct {
	// run is the id of the run to inspect; "" means the list of all runs.
	run string
	// unique is how many bytes the run took in and produced, each counted once. steps is how many
	// nodes ran.
	unique, steps int
}

// outputBytes is the size of one output of an agent, a tool or a function.
const outputBytes = 5 << 10

// itemBytes is the size of the output of a map item.
const itemBytes = 500

// rows lists all kinds of growth, in the order of the table.
var rows = []row{
	{"steps", "agent steps of a chain, 5 KB each", 200, 24, steps},
	{"state", "Go steps that append 5 KB to a list", 200, 14, appending(outputBytes)},
	{"elements", "Go steps that append 100 bytes to a list", 500, 80, appending(100)},
	{"rounds", "rounds of two agents, 5 KB each", 100, 24, rounds},
	{"turns", "turns of an agent with a tool, 5 KB each", 250, 16, turns},
	{"branches", "branches after an output of 100 KB", 250, 12, branches},
	{"items", "items of a map, sixteen at once, 500 bytes each", 5000, 40, items},
	{"goitems", "items of a map of a Go graph, sixteen at once, 500 bytes each", 5000, 40, goItems},
	{"children", "runs of sub-agents, 5 KB each", 50, 6, children},
	{"events", "passes of a Go loop", 1000, 60, events},
	{"decisions", "decisions of one activation", 30_000, 3000, decisions},
	{"runs", "stored runs of one step", 250, 12, storedRuns},
	{"line", "runs of one concurrency key, sixteen at once, all started before the first ends", 250, 24, queuedRuns},
}

// unique returns n incompressible bytes that differ for each number.
func unique(number, n int) string {
	var s strings.Builder
	x := uint64(number)*0x9e3779b97f4a7c15 + 1
	for s.Len() < n {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		fmt.Fprintf(&s, "%016x", x)
	}
	return s.String()[:n]
}

// writer answers each model call with unique text: the first call with first bytes, the others with
// outputBytes. If turns is set, it calls the tool think that many times before it answers.
type writer struct {
	first int
	// each is the size of the other replies; 0 means outputBytes.
	each  int
	turns int64
	calls atomic.Int64
}

// Call implements model.Client.
func (w *writer) Call(context.Context, model.Request, func(model.Delta)) (model.Reply, error) {
	n := w.calls.Add(1)
	size := cmp.Or(w.each, outputBytes)
	if n == 1 && w.first > 0 {
		size = w.first
	}
	said := unique(int(n), size)
	m := chat.Message{Role: chat.RoleAssistant, Text: text.Of(said)}
	if n <= w.turns {
		arguments, err := json.Marshal(map[string]string{"thought": said})
		if err != nil {
			return model.Reply{}, err
		}
		m = chat.Message{Role: chat.RoleAssistant,
			ToolCalls: []chat.ToolCall{{ID: fmt.Sprint("c", n), Name: "think", Arguments: arguments}}}
	}
	return model.Reply{Message: m, Usage: &chat.Usage{InputTokens: 1, OutputTokens: 1}, Model: "own/m"}, nil
}

// document runs a document to its end. Its agents use the model own/m.
func document(ctx context.Context, db, name, source string, m model.Client, limits workflow.Limits) (
	id string, err error) {
	s, err := service.Open(ctx, service.Config{Documents: linked.Kit(), DB: db, Env: noEnv,
		Models: map[string]model.Client{"own": m}})
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	w, list, err := s.Load(ctx, name, []byte(source), service.LoadOptions{})
	if err != nil || list.HasErrors() {
		return "", fmt.Errorf("load %s: %w", name, errors.Join(list.Err(), err))
	}
	if id, err = s.Start(ctx, service.StartRequest{Workflow: w, Input: "go", Limits: limits}); err != nil {
		return "", err
	}
	st, err := s.Wait(ctx, id)
	if err != nil {
		return "", err
	}
	if st.Status != event.StatusCompleted {
		return "", fmt.Errorf("run %s is %s", id, st.Status)
	}
	return id, nil
}

func noEnv(string) string { return "" }

func steps(ctx context.Context, db string, n int) (done, error) {
	var doc strings.Builder
	doc.WriteString("agents:\n  a: {model: own/m, instruction: x}\nworkflow:\n")
	for i := range n {
		fmt.Fprintf(&doc, "  - {id: n%d, type: agent, name: a}\n", i)
	}
	id, err := document(ctx, db, "steps.yaml", doc.String(), &writer{}, workflow.Limits{MaxSteps: new(n + 1)})
	return done{id, n * outputBytes, n}, err
}

func rounds(ctx context.Context, db string, n int) (done, error) {
	doc := fmt.Sprintf(`{"name": "rounds", "maxRounds": %d,
 "agents": [{"id": "a", "name": "A", "model": "own/m", "systemPrompt": "x"}, {"id": "b", "name": "B", "model": `+
		`"own/m", "systemPrompt": "x"}],
 "nodes": [{"id": "n1", "type": "agent", "config": {"agentId": "a"}}, {"id": "n2", "type": "agent", "config": `+
		`{"agentId": "b"}}],
 "edges": [{"id": "e1", "from": "n1", "to": "n2"}, {"id": "e2", "from": "n2", "to": "n1"}]}`, n)
	id, err := document(ctx, db, "rounds.json", doc, &writer{}, workflow.Limits{MaxSteps: new(2*n + 1)})
	return done{id, 2 * n * outputBytes, 2 * n}, err
}

func turns(ctx context.Context, db string, n int) (done, error) {
	doc := fmt.Sprintf("agents:\n  a: {model: own/m, instruction: x, max_iterations: %d, toolsets: [{type: "+
		"think}]}\nworkflow:\n  - {type: agent, name: a}\n", n+1)
	id, err := document(ctx, db, "turns.yaml", doc, &writer{turns: int64(n)}, workflow.Limits{})
	return done{id, n * outputBytes, n}, err
}

func branches(ctx context.Context, db string, n int) (done, error) {
	const first = 100 << 10
	var doc strings.Builder
	doc.WriteString("agents:\n  a: {model: own/m, instruction: x}\nworkflow:\n  - {id: first, type: agent, name: " +
		"a}\n  - id: all\n    type: parallel\n    steps:\n")
	for i := range n {
		fmt.Fprintf(&doc, "      - {id: b%d, type: agent, name: a}\n", i)
	}
	id, err := document(ctx, db, "branches.yaml", doc.String(), &writer{first: first},
		workflow.Limits{MaxSteps: new(n + 3)})
	return done{id, first + n*outputBytes, n + 1}, err
}

func items(ctx context.Context, db string, n int) (done, error) {
	var doc strings.Builder
	doc.WriteString("agents:\n  a: {model: own/m, instruction: x}\nworkflow:\n  - id: all\n    type: map\n    " +
		"max_concurrency: 16\n    steps: [{type: agent, name: a}]\n    over:\n")
	for i := range n {
		fmt.Fprintf(&doc, "      - %d\n", i)
	}
	id, err := document(ctx, db, "items.yaml", doc.String(), &writer{each: itemBytes}, workflow.Limits{})
	return done{id, n * itemBytes, n + 1}, err
}

// mapItem is a map item of a Go graph.
type mapItem struct {
	N    int    `json:"n"`
	Text string `json:"text"`
}

// goItems is like items, for a Go graph.
func goItems(ctx context.Context, db string, n int) (done, error) {
	over := func(graph.View[list]) []mapItem {
		cells := make([]mapItem, n)
		for i := range cells {
			cells[i].N = i
		}
		return cells
	}
	g, err := graph.New[list]("items").Then(
		graph.Map("all", over, graph.Do("write", func(_ context.Context, c *mapItem) error {
			c.Text = unique(c.N, itemBytes)
			return nil
		})).AtOnce(16)).Compile()
	if err != nil {
		return done{}, err
	}
	id, err := runGraph(ctx, db, g)
	return done{id, n * itemBytes, 2*n + 1}, err
}

// list is the state of the Go graphs.
type list struct {
	N     int      `json:"n"`
	Items []string `json:"items"`
}

// runGraph runs a Go graph to its end.
func runGraph(ctx context.Context, db string, g *graph.Compiled[list], options ...hocket.Option) (
	id string, err error) {
	e, err := hocket.Open(ctx, hocket.Config{DB: db, Env: noEnv}, options...)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	res, err := hocket.Run(ctx, e, g, list{}, hocket.RunOptions{ID: "run"})
	if err != nil {
		return "", err
	}
	if res.Status != hocket.StatusCompleted {
		return "", fmt.Errorf("run: %s %w", res.Status, res.Err)
	}
	return "run", nil
}

// appending returns a function that runs a chain of steps, each of which appends a string of the
// given size to the list in the state.
func appending(size int) func(context.Context, string, int) (done, error) {
	return func(ctx context.Context, db string, n int) (done, error) {
		b := graph.New[list]("appending")
		for i := range n {
			b.Then(graph.Do(fmt.Sprintf("n%d", i), func(_ context.Context, s *list) error {
				s.Items = append(s.Items, unique(i, size))
				return nil
			}))
		}
		g, err := b.Compile(graph.Config{MaxSteps: n + 1})
		if err != nil {
			return done{}, err
		}
		id, err := runGraph(ctx, db, g)
		return done{id, n * size, n}, err
	}
}

func events(ctx context.Context, db string, n int) (done, error) {
	until := func(v graph.View[list]) bool { return v.State.N >= n }
	g, err := graph.New[list]("loop").Loop(graph.LoopConfig[list]{Until: until, MaxIterations: n + 1},
		graph.Do("body", func(_ context.Context, s *list) error {
			s.N++
			return nil
		})).Compile(graph.Config{MaxSteps: 3*n + 3})
	if err != nil {
		return done{}, err
	}
	id, err := runGraph(ctx, db, g)
	return done{id, 8 * n, 2*n + 1}, err
}

// decisions runs a loop of decisions only, which ends at its step limit; all of them are one
// activation.
func decisions(ctx context.Context, db string, n int) (d done, err error) {
	s, err := service.Open(ctx, service.Config{Documents: linked.Kit(), DB: db, Env: noEnv})
	if err != nil {
		return done{}, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	never := []workflow.Case{
		{Port: "out", When: workflow.Condition{Language: workflow.LangMatch, Op: "contains", Text: "no such text"}},
	}
	id, err := s.Start(ctx, service.StartRequest{Input: "go", Workflow: &workflow.Workflow{
		Name: "decisions", Entry: "a", Limits: workflow.Limits{MaxSteps: &n, MaxLoopIterations: n},
		Nodes: []workflow.Node{
			{ID: "a", Kind: workflow.KindDecide, Decide: &workflow.Decide{Cases: never, Else: "on"}},
			{ID: "b", Kind: workflow.KindDecide, Decide: &workflow.Decide{Cases: never, Else: "on"}},
		},
		Edges: []workflow.Edge{{From: "a", Port: "on", To: "b"}, {From: "b", Port: "on", To: "a", Loop: true}},
	}})
	if err != nil {
		return done{}, err
	}
	st, err := s.Wait(ctx, id)
	if err == nil && st.Status != event.StatusFailed {
		err = fmt.Errorf("run %s is %s, not ended by its limit", id, st.Status)
	}
	return done{id, n, n}, err
}

// publicWriter answers like writer, using the types of the public package.
type publicWriter struct{ calls atomic.Int64 }

// Call implements hocket.Model.
func (s *publicWriter) Call(context.Context, hocket.ModelRequest) (hocket.ModelReply, error) {
	return hocket.ModelReply{Text: unique(int(s.calls.Add(1)), outputBytes),
		Usage: &hocket.TokenUsage{InputTokens: 1, OutputTokens: 1}}, nil
}

func children(ctx context.Context, db string, n int) (done, error) {
	b := graph.New[list]("children")
	for i := range n {
		b.Then(graph.SubagentConfig[list]{ID: fmt.Sprintf("n%d", i), Agent: "helper", Task: "help"})
	}
	g, err := b.Compile(graph.Config{MaxSteps: n + 1})
	if err != nil {
		return done{}, err
	}
	id, err := runGraph(ctx, db, g, hocket.WithModel("own", &publicWriter{}),
		hocket.WithAgent(hocket.Agent{Name: "helper", Model: "own/m"}))
	return done{id, n * outputBytes, 2 * n}, err
}

func storedRuns(ctx context.Context, db string, n int) (done, error) {
	const at = 50 // concurrent runs
	return manyRuns(ctx, db, n, "", at)
}

// queuedRuns starts all runs, of which the workflow lets sixteen execute concurrently; the others
// wait in its queue.
func queuedRuns(ctx context.Context, db string, n int) (done, error) {
	return manyRuns(ctx, db, n, "concurrency: 16\n", n)
}

// manyRuns executes n one-step runs, at most at of them concurrently, subject to the concurrency
// keys of their document.
func manyRuns(ctx context.Context, db string, n int, keys string, at int) (d done, err error) {
	s, err := service.Open(ctx, service.Config{Documents: linked.Kit(), DB: db, Env: noEnv,
		Models: map[string]model.Client{"own": &writer{}}})
	if err != nil {
		return done{}, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	w, list, err := s.Load(ctx, "one.yaml",
		[]byte(keys+"agents:\n  a: {model: own/m, instruction: x}\nworkflow:\n  - {type: agent, name: a}\n"),
		service.LoadOptions{})
	if err != nil || list.HasErrors() {
		return done{}, errors.Join(list.Err(), err)
	}
	errs := make([]error, n)
	slots := make(chan struct{}, at)
	var wg sync.WaitGroup
	for i := range n {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			id, err := s.Start(ctx, service.StartRequest{Workflow: w, Input: "go"})
			if err == nil {
				_, err = s.Wait(ctx, id)
			}
			errs[i] = err
		})
	}
	wg.Wait()
	return done{"", n * outputBytes, n}, errors.Join(errs...)
}

// storePath returns the path of a row's store.
func storePath(dir string) string { return filepath.Join(dir, "hocket.db") }
