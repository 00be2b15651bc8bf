package conformance_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hocket-run/hocket"
	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/graph"
	"github.com/hocket-run/hocket/internal/graphtest"
)

// sheet is the graph state in these tests.
type sheet struct {
	N    int            `json:"n"`
	Text string         `json:"text,omitempty"`
	Log  []string       `json:"log,omitempty"`
	Seen map[string]int `json:"seen,omitempty"`
}

type (
	gBuilder  = graph.Builder[sheet]
	gNode     = graph.Node[sheet]
	gOptions  = graph.NodeOptions
	gContext  = graph.Context[sheet]
	gResult   = graph.Result[sheet]
	gParallel = graph.ParallelConfig[sheet]
	gLoop     = graph.LoopConfig[sheet]
	gAction   = graph.ErrorAction[sheet]
	gRun      = hocket.RunOptions
)

func newGraph() *gBuilder { return graph.New[sheet]("t") }

// does returns a node that calls fn.
func does(id string, fn func(ctx context.Context, c *gContext) (gResult, error), o ...gOptions) gNode {
	return graph.NewNode(id, graph.TypeTool, fn, o...)
}

// idle returns a node that does nothing.
func idle(id string, o ...gOptions) gNode {
	return does(id, func(context.Context, *gContext) (gResult, error) { return gResult{}, nil }, o...)
}

// changes returns a node that changes the state.
func changes(id string, fn func(*sheet), o ...gOptions) gNode {
	return graph.Do(id, func(_ context.Context, s *sheet) error {
		fn(s)
		return nil
	}, o...)
}

// recordsID returns a node that records its own id.
func recordsID(id string, o ...gOptions) gNode {
	return changes(id, func(s *sheet) { s.Log = append(s.Log, id) }, o...)
}

func counts(id string) gNode { return changes(id, func(s *sheet) { s.N++ }) }

// outputs returns a node with an output.
func outputs(id string, v any) gNode {
	return does(id, func(context.Context, *gContext) (gResult, error) { return gResult{Output: v}, nil })
}

// leads returns a node that continues with the given nodes.
func leads(id string, to ...string) gNode {
	return does(id, func(context.Context, *gContext) (gResult, error) { return gResult{Goto: to}, nil })
}

// raises returns a node that raises a signal.
func raises(id string, s graph.Signal) gNode {
	return does(id, func(context.Context, *gContext) (gResult, error) {
		return gResult{Signals: []graph.Signal{s}}, nil
	})
}

// capturesContext returns a node that copies its context to into.
func capturesContext(id string, into *gContext, o ...gOptions) gNode {
	return does(id, func(_ context.Context, c *gContext) (gResult, error) {
		*into = *c
		return gResult{}, nil
	}, o...)
}

var errBroken = errors.New("it is broken")

// breaks returns a node that fails its first n attempts, or all attempts if n is negative.
func breaks(id string, n int, o ...gOptions) gNode {
	return does(id, func(_ context.Context, c *gContext) (gResult, error) {
		if n < 0 || c.Attempt <= n {
			return gResult{}, errBroken
		}
		return gResult{}, nil
	}, o...)
}

// blocksUntilCancelled returns a node that ends when it is cancelled, and sends its id to
// cancelled.
func blocksUntilCancelled(id string, cancelled chan<- string) gNode {
	return does(id, func(ctx context.Context, _ *gContext) (gResult, error) {
		<-ctx.Done()
		cancelled <- id
		return gResult{}, ctx.Err()
	})
}

// endsLater returns a node that ends after a second of fake time, when all concurrent nodes are
// running.
func endsLater(id string, err error) gNode {
	return does(id, func(context.Context, *gContext) (gResult, error) {
		<-time.After(time.Second)
		return gResult{}, err
	}, single())
}

// single returns options with one attempt.
func single() gOptions { return gOptions{Retry: graph.Retry{MaxAttempts: 1}} }

// handled returns the options of single with an error handler.
func handled(a gAction) gOptions {
	return gOptions{OnError: graph.OnError(func(error, *gContext) gAction { return a })}
}

func always(graph.View[sheet]) bool { return true }
func never(graph.View[sheet]) bool  { return false }

func upTo(n int) gLoop { return gLoop{MaxIterations: n} }

func compiled(t *testing.T, b *gBuilder, cfg ...graph.Config) *graph.Compiled[sheet] {
	t.Helper()
	g, err := b.Compile(cfg...)
	if err != nil {
		t.Fatalf("compile: %v", err)
	}
	return g
}

// misused returns the error messages of Compile.
func misused(t *testing.T, b *gBuilder, cfg ...graph.Config) []string {
	t.Helper()
	_, err := b.Compile(cfg...)
	var list diag.List
	if !errors.As(err, &list) {
		t.Fatalf("the error of Compile is %v", err)
	}
	return messages(list, diag.Error)
}

// opened opens an engine that is closed with the test.
func opened(t *testing.T, cfg hocket.Config, o ...hocket.Option) *hocket.Engine {
	t.Helper()
	e, err := hocket.Open(t.Context(), cfg, o...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

// played is the execution of a graph: its steps, its progress, and what remains.
type played struct {
	*hocket.Snapshot[sheet]
	t      *testing.T
	e      *hocket.Engine
	g      *graph.Compiled[sheet]
	steps  []hocket.Step[sheet]
	told   []hocket.Progress[sheet]
	signal []string // in snapshot order, as type and message
}

// play runs a graph in memory.
func play(t *testing.T, b *gBuilder, first sheet, cfg ...graph.Config) *played {
	t.Helper()
	return playOn(t, opened(t, hocket.Config{}), compiled(t, b, cfg...), first, gRun{})
}

// playOn runs a graph; the run's id is "r" unless the options specify one.
func playOn(t *testing.T, e *hocket.Engine, g *graph.Compiled[sheet], first sheet, o gRun) *played {
	t.Helper()
	if o.ID == "" && o.ResumeFrom == nil {
		o.ID = "r"
	}
	p := &played{t: t, e: e, g: g}
	o.OnProgress = hocket.OnProgress(func(e hocket.Progress[sheet]) { p.told = append(p.told, e) })
	p.follow(o.ID, hocket.Stream(t.Context(), e, g, first, o))
	return p
}

// follow reads a stream to the end.
func (p *played) follow(run string, stream iter.Seq2[hocket.Step[sheet], error]) {
	p.t.Helper()
	p.steps = nil
	for s, err := range stream {
		if err != nil {
			p.t.Fatalf("after %d steps: %v", len(p.steps), err)
		}
		p.steps = append(p.steps, s)
	}
	if run == "" {
		return
	}
	s, err := hocket.SnapshotOf(p.t.Context(), p.e, p.g, run)
	if err != nil {
		p.t.Fatal(err)
	}
	p.Snapshot, p.signal = s, nil
	for _, sig := range s.Signals {
		p.signal = append(p.signal, strings.TrimSpace(string(sig.Type)+" "+sig.Message))
	}
}

// answers answers the open question and continues to follow the run.
func (p *played) answers(value any) {
	p.t.Helper()
	p.follow(p.ExecutionID, hocket.ResumeStream(p.t.Context(), p.e, p.g, p.ExecutionID, hocket.Answer{Value: value}))
}

// began returns the nodes in the order in which they started.
func (p *played) began() string {
	var out []string
	for _, e := range p.told {
		if e.Type == hocket.ProgressNodeStarted {
			out = append(out, e.NodeID)
		}
	}
	return strings.Join(out, ", ")
}

// stepped returns the nodes of the steps, in order.
func (p *played) stepped() string {
	var out []string
	for _, s := range p.steps {
		out = append(out, s.NodeID)
	}
	return strings.Join(out, ", ")
}

// end returns the error message of the failure, or the status of the last step.
func (p *played) end() string {
	p.t.Helper()
	last := p.steps[len(p.steps)-1]
	same(p.t, "status of the last step and of the snapshot", last.Status, p.Status)
	if last.Status == hocket.StatusFailed {
		return last.Error.Error()
	}
	return string(last.Status)
}

// went checks the nodes that started and the end.
func (p *played) went(what, began, end string) {
	p.t.Helper()
	same(p.t, what+": nodes", p.began(), began)
	same(p.t, what+": end", p.end(), end)
}

// output returns the output of a node in the snapshot.
func (p *played) output(id string) string { return string(p.Outputs[id]) }

// file returns the content of a file in the repository.
func file(t *testing.T, path string) string {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// clock returns a function that records the fake time of its calls since clock was called, and a
// function that returns these times.
func clock() (note func(), noted func() string) {
	begin := time.Now()
	var list []string
	return func() { list = append(list, time.Since(begin).String()) }, func() string { return strings.Join(list, " ") }
}

// decoded decodes JSON into a value of any type.
func decoded(t *testing.T, raw json.RawMessage) any {
	t.Helper()
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return v
}

// attempts returns the failed attempts in the snapshot.
func (p *played) attempts() []string {
	var out []string
	for _, e := range p.Errors {
		out = append(out, fmt.Sprintf("%s#%d %s", e.NodeID, e.Attempt, e.Message))
	}
	return out
}

// coder is a coding agent whose sessions record their calls.
type coder struct{ graphtest.Agent }

// runtime offers the agent as the type claude.
func (a *coder) runtime() graph.Runtime { return a.Runtime("claude") }

// noted returns the recorded calls except those for the usage.
func (a *coder) noted() []string {
	calls := slices.DeleteFunc(a.Calls(), func(call string) bool { return call == "usage" })
	return append([]string(nil), calls...)
}

// filled returns the usage of a window of 100 tokens.
func filled(percent int) *graph.SessionUsage {
	return &graph.SessionUsage{InputTokens: percent, MaxTokens: 100}
}

type (
	crew    = graphtest.Team
	toolbox = graphtest.Tools
)
