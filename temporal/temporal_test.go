package temporal_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/hocket-run/hocket"
	"github.com/hocket-run/hocket/graph"
	"github.com/hocket-run/hocket/internal/config"
	"github.com/hocket-run/hocket/internal/pgtest"
	"github.com/hocket-run/hocket/internal/temporalserver"
	"github.com/hocket-run/hocket/postgres"
	"github.com/hocket-run/hocket/temporal"
	"github.com/hocket-run/hocket/temporal/internal/dial"
)

type state struct {
	Text string `json:"text"`
}

// canary appears in the states of all runs.
const canary = "zebra-crossing"

// program holds what the processes of a test share: a store, a server, and a record of what their
// functions did.
type program struct {
	t               *testing.T
	db              string
	server          temporal.Server
	wrote, finished atomic.Int64
	began, let      chan struct{} // finish sends on began, then waits
}

func newProgram(t *testing.T) *program {
	t.Helper()
	address, namespace := temporalserver.Namespace(t)
	return &program{t: t, db: pgtest.URL(t), server: temporal.Server{Address: address, Namespace: namespace},
		began: make(chan struct{}, 100), let: make(chan struct{})}
}

// open opens a process of the program.
func (p *program) open() *hocket.Engine {
	p.t.Helper()
	e, err := hocket.Open(p.t.Context(), hocket.Config{Program: "newsroom"}, postgres.Open(p.db),
		temporal.Carry(p.server))
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { _ = e.Close() })
	return e
}

// graph returns a graph that writes, asks if asks is set, and finishes.
func (p *program) graph(asks bool) *graph.Compiled[state] {
	p.t.Helper()
	b := graph.New[state]("g").Start(graph.Do("write", func(ctx context.Context, s *state) error {
		text, err := graph.Once(ctx, "text", func(context.Context) (string, error) {
			p.wrote.Add(1)
			return s.Text + " written", nil
		})
		s.Text = text
		return err
	}))
	if asks {
		b = b.Wait("Publish it?")
	}
	g, err := b.Then(graph.Do("finish", func(ctx context.Context, s *state) error {
		p.finished.Add(1)
		p.began <- struct{}{}
		select {
		case <-p.let:
		case <-ctx.Done():
			return ctx.Err()
		}
		s.Text += " finished"
		return nil
	})).Compile()
	if err != nil {
		p.t.Fatal(err)
	}
	return g
}

// carried checks that Temporal has a workflow for a run.
func (p *program) carried(run string) {
	p.t.Helper()
	c, err := dial.New(dial.Config{Settings: config.Temporal{Address: p.server.Address, Namespace: p.server.Namespace}})
	if err != nil {
		p.t.Fatal(err)
	}
	defer c.Close()
	is, err := c.Client().DescribeWorkflowExecution(p.t.Context(), run, "")
	if err != nil || is.GetWorkflowExecutionInfo().GetType().GetName() != "hocket.run" ||
		!strings.HasSuffix(is.GetWorkflowExecutionInfo().GetTaskQueue(), ".default.func.newsroom") {
		p.t.Errorf("Temporal has %v, %v", is.GetWorkflowExecutionInfo(), err)
	}
}

// TestRun_OnTemporal checks that a graph runs on Temporal, waits for its answer without a workflow,
// and continues.
func TestRun_OnTemporal(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	close(p.let)
	e, g := p.open(), p.graph(true)
	r, err := hocket.Run(t.Context(), e, g, state{Text: canary}, hocket.RunOptions{ID: "r"})
	if err != nil || r.Status != hocket.StatusPaused {
		t.Fatalf("%+v, %v", r, err)
	}
	p.carried("r")
	if r, err = hocket.Resume(t.Context(), e, g, "r", hocket.Answer{Value: "yes"}); err != nil ||
		r.Status != hocket.StatusCompleted || r.State.Text != canary+" written finished" {
		t.Fatalf("%+v, %v", r, err)
	}
	if n, m := p.wrote.Load(), p.finished.Load(); n != 1 || m != 1 {
		t.Errorf("the functions were called %d and %d times", n, m)
	}
	var nodes []string
	for step, err := range hocket.Stream(t.Context(), e, p.graph(false), state{Text: canary}) {
		if err != nil {
			t.Fatal(err)
		}
		nodes = append(nodes, step.NodeID)
	}
	if got := strings.Join(nodes, " "); !strings.HasPrefix(got, "write finish") {
		t.Errorf("steps of %s", got)
	}
}

// TestProcessEnds checks that another process of the program continues a run whose process was
// closed, and that a result of Once is not computed again.
func TestProcessEnds(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	first, second := p.open(), p.open()
	if err := hocket.Register(second, p.graph(false)); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		_, err := hocket.Run(context.WithoutCancel(t.Context()), first, p.graph(false), state{Text: canary},
			hocket.RunOptions{ID: "r"})
		done <- err
	}()
	<-p.began
	if err := first.Close(); err != nil {
		t.Error(err)
	}
	if err := <-done; !errors.Is(err, hocket.ErrInterrupted) {
		t.Errorf("Run of the engine that was closed gives %v", err)
	}
	if err := second.Recover(t.Context()); err != nil {
		t.Fatal(err)
	}
	<-p.began
	close(p.let)
	if info, err := second.Wait(t.Context(), "r"); err != nil || info.Status != hocket.StatusCompleted {
		t.Errorf("%+v, %v", info, err)
	}
	if n := p.wrote.Load(); n != 1 {
		t.Errorf("what Once gives was made %d times", n)
	}
}

// TestRun_CallerContextDone checks that a run continues when the context of its caller is done.
func TestRun_CallerContextDone(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	e, g := p.open(), p.graph(false)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-p.began
		cancel()
	}()
	if _, err := hocket.Run(ctx, e, g, state{Text: canary}, hocket.RunOptions{ID: "r"}); !errors.Is(err,
		hocket.ErrInterrupted) {
		t.Errorf("got %v", err)
	}
	close(p.let)
	if info, err := e.Wait(t.Context(), "r"); err != nil || info.Status != hocket.StatusCompleted {
		t.Errorf("%+v, %v", info, err)
	}
	if n := p.finished.Load(); n != 1 {
		t.Errorf("the last function was called %d times", n)
	}
}

// TestErrors checks that settings that cannot work are reported when the engine is opened, without
// a secret.
func TestErrors(t *testing.T) {
	t.Parallel()
	db := pgtest.URL(t)
	file := filepath.Join(t.TempDir(), "hocket.db")
	yaml := filepath.Join(t.TempDir(), "hocket.yaml")
	if err := os.WriteFile(yaml, []byte("temporal: {address: 'nowhere'}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const at = "127.0.0.1:1"
	for want, options := range map[string][]hocket.Option{
		"Temporal carries runs of stores in PostgreSQL": {temporal.Carry(temporal.Server{Address: at})},
		"the address of the server is missing":          {postgres.Open(db), temporal.Carry(temporal.Server{})},
		"HOST:PORT": {postgres.Open(db),
			temporal.Carry(temporal.Server{Address: "nowhere"})},
		"must be HOST:PORT": {postgres.Open(db), temporal.Carry(temporal.Server{}),
			hocket.WithConfig(yaml)},
		"must be a reference": {postgres.Open(db),
			temporal.Carry(temporal.Server{Address: at, APIKey: "canary-77"})},
		"API key of Temporal cannot be read": {postgres.Open(db),
			temporal.Carry(temporal.Server{Address: at, APIKey: "${env.HOCKET_TEST_MISSING}"})},
		"together": {postgres.Open(db),
			temporal.Carry(temporal.Server{Address: at, Cert: "x.pem"})},
	} {
		cfg := hocket.Config{}
		if strings.Contains(want, "stores in PostgreSQL") {
			cfg.DB = file
		}
		_, err := hocket.Open(t.Context(), cfg, options...)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(fmt.Sprint(err), "canary") {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// TestOpen_ServerAway checks that an engine opens while the server is down, and that its runs are
// stored and wait.
func TestOpen_ServerAway(t *testing.T) {
	t.Parallel()
	p := &program{t: t, db: pgtest.URL(t), server: temporal.Server{Address: "127.0.0.1:1"},
		began: make(chan struct{}, 1), let: make(chan struct{})}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	e := p.open()
	go func() {
		defer cancel()
		for ctx.Err() == nil {
			if _, err := e.Get(ctx, "r"); err == nil {
				return
			}
			runtime.Gosched()
		}
	}()
	if _, err := hocket.Run(ctx, e, p.graph(false), state{}, hocket.RunOptions{ID: "r"}); !errors.Is(err,
		hocket.ErrInterrupted) {
		t.Errorf("got %v", err)
	}
	if info, err := e.Get(t.Context(), "r"); err != nil || info.Status != hocket.StatusRunning {
		t.Errorf("%+v, %v", info, err)
	}
	if err := e.Cancel(t.Context(), "r", "enough"); err != nil {
		t.Error(err)
	}
}

// TestRun_Queued checks that a run that waits for others of its key is stored and listed meanwhile,
// can be cancelled, and begins in its turn, also after its process has ended.
func TestRun_Queued(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	first, second := p.open(), p.open()
	if err := hocket.Register(second, p.graph(false)); err != nil {
		t.Fatal(err)
	}
	start := func(run string) <-chan error {
		done := make(chan error, 1)
		go func() {
			_, err := hocket.Run(context.WithoutCancel(t.Context()), first, p.graph(false), state{Text: canary},
				hocket.RunOptions{ID: run, Concurrency: hocket.Concurrency{Key: "k"}})
			done <- err
		}()
		return done
	}
	queued := func(run string) {
		t.Helper()
		for ; ; runtime.Gosched() {
			info, err := second.Get(t.Context(), run)
			if err == nil && info.Status == hocket.StatusPending {
				return
			}
			if err != nil && !errors.Is(err, hocket.ErrNotFound) || err == nil {
				t.Fatalf("%+v, %v; want a run that is pending", info, err)
			}
		}
	}
	a := start("a")
	<-p.began
	b := start("b")
	queued("b")
	c := start("c")
	queued("c")
	listed, _, err := second.List(t.Context(), hocket.Filter{Statuses: []hocket.Status{hocket.StatusPending}})
	if err != nil || len(listed) != 2 {
		t.Errorf("%d runs are listed as pending, %v; want 2", len(listed), err)
	}
	if err := second.Cancel(t.Context(), "b", "no longer"); err != nil {
		t.Fatal(err)
	}
	if err := <-b; err != nil {
		t.Error(err)
	}
	if info, err := second.Get(t.Context(), "b"); err != nil || info.Status != hocket.StatusCancelled {
		t.Errorf("%+v, %v; want a run that is cancelled", info, err)
	}
	if err := second.Recover(t.Context()); err != nil { // so that it knows the run that waits
		t.Fatal(err)
	}
	if err := first.Close(); err != nil {
		t.Error(err)
	}
	for _, done := range []<-chan error{a, c} {
		if err := <-done; !errors.Is(err, hocket.ErrInterrupted) {
			t.Errorf("Run of the engine that was closed: %v", err)
		}
	}
	close(p.let)
	for _, run := range []string{"a", "c"} {
		if info, err := second.Wait(t.Context(), run); err != nil || info.Status != hocket.StatusCompleted {
			t.Errorf("%+v, %v", info, err)
		}
	}
}
