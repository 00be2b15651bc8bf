package temporaldriver_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/driver/drivertest"
	"github.com/hocket-run/hocket/internal/driver/embedded"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/expr/celexpr"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/pgtest"
	"github.com/hocket-run/hocket/internal/sim"
	"github.com/hocket-run/hocket/internal/store/postgres"
	"github.com/hocket-run/hocket/internal/tool"
	"github.com/hocket-run/hocket/temporal/internal/temporaldriver"
	"github.com/hocket-run/hocket/workflow"
)

// workerEnv is the environment variable that turns this program into a worker; it holds the
// settings as JSON.
const workerEnv = "HOCKET_TEST_WORKER"

// workerHeartbeat keeps tests in which workers die short.
const workerHeartbeat = 2 * time.Second

// settings configures a worker that runs in its own process.
type settings struct {
	Address, Temporal, Namespace, Store string
	// Folder contains the book of calls, and the files that record what was done once.
	Folder string
	// DieIn kills the worker in the first call of a node or a tool, DieAfter after the append of
	// the first event of that type.
	DieIn, DieAfter string

	quiet bool // keeps no book
}

func TestMain(m *testing.M) {
	if text := os.Getenv(workerEnv); text != "" {
		if err := beWorker(text); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// once reports whether this is the first time that any worker of a test does what name stands for.
func (s *settings) once(name string) bool {
	f, err := os.OpenFile(filepath.Join(s.Folder, name), os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return false
	}
	f.Close()
	return true
}

// die ends the process like kill -9.
func die() {
	if p, err := os.FindProcess(os.Getpid()); err == nil {
		_ = p.Kill()
	}
	select {}
}

// called writes a call into the book, and dies if it is the call configured for that.
func (s *settings) called(name string) {
	if s.quiet {
		return
	}
	f, err := os.OpenFile(filepath.Join(s.Folder, "book"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = fmt.Fprintln(f, name)
		f.Close()
	}
	if err != nil || s.DieIn == name && s.once("died") {
		die()
	}
}

// world returns the simulated outside world of the workers: agents that call the tools that their
// prompt names.
func (s *settings) world() *sim.World {
	do := func(_ context.Context, c tool.Call) (tool.Result, error) {
		s.called(c.Name)
		return tool.Result{Text: "did " + c.Name}, nil
	}
	return &sim.World{
		Model: func(_ context.Context, q model.Request) (model.Reply, error) {
			s.called(q.Node)
			last := q.Messages[len(q.Messages)-1]
			if name, ok := strings.CutPrefix(last.Text.String(), "call "); ok && last.Role == chat.RoleUser {
				return model.Reply{Message: chat.Message{
					ToolCalls: []chat.ToolCall{{ID: "c1", Name: name, Arguments: []byte(`{}`)}},
				}}, nil
			}
			return sim.Reply("%s", last.Text.String()), nil
		},
		Tools: map[string]sim.Tool{"act": {Policy: tool.PolicyAsk, Do: do}, "read": {Policy: tool.PolicyRetry, Do: do}},
	}
}

// beWorker accepts calls until its standard input is closed.
func beWorker(text string) error {
	var s settings
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return err
	}
	store, err := postgres.Open(context.Background(), postgres.Config{URL: s.Store, Kind: journal.KindServe})
	if err != nil {
		return err
	}
	c, err := client.NewLazyClient(client.Options{HostPort: s.Address, Namespace: s.Temporal,
		Logger: log.NewStructuredLogger(logger())})
	if err != nil {
		return err
	}
	w := s.world()
	d, err := temporaldriver.New(temporaldriver.Config{
		Config: embedded.Config{
			Expressions: celexpr.Compiler{},
			Store:       store, Open: w.Open, Logger: logger(),
			Hooks: embedded.Hooks{Events: func(_ string, events []event.Event) {
				for _, e := range events {
					if string(e.Data.Type()) == s.DieAfter && s.once("died") {
						die()
					}
				}
			}},
		},
		Client: c, Namespace: s.Namespace, Queues: temporaldriver.Queues(), HeartbeatTimeout: workerHeartbeat,
	})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, bufio.NewReader(os.Stdin)) // waits for the end of input
		cancel()
	}()
	d.Maintain(ctx)
	return d.Close(context.Background())
}

// startWorker starts a worker in its own process, which ends with the test.
func startWorker(t *testing.T, s settings) {
	t.Helper()
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(context.Background(), os.Args[0])
	c.Env = append(os.Environ(), workerEnv+"="+string(text))
	var said bytes.Buffer
	c.Stderr = &said
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		_ = c.Wait() // it may have been killed
		if t.Failed() {
			t.Log(said.String())
		}
	})
}

// workers returns a cluster whose calls are made by separate processes, and a process that starts
// runs and answers.
func workers(t *testing.T, change func(s *settings)) (*cluster, *process, settings) {
	t.Helper()
	url := pgtest.URL(t)
	c := newCluster(t)
	c.open = func() journal.Backend {
		s, err := postgres.Open(context.Background(), postgres.Config{URL: url, Kind: journal.KindServe})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		return s
	}
	c.reader = c.open()
	s := settings{Address: c.address, Temporal: c.temporal, Namespace: c.namespace, Store: url, Folder: t.TempDir()}
	change(&s)
	for range 2 {
		startWorker(t, s)
	}
	return c, c.process(t, drivertest.Options{}, nil), s
}

// book returns the number of times that each call was made.
func (s *settings) book(t *testing.T) map[string]int {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(s.Folder, "book"))
	if err != nil {
		t.Fatal(err)
	}
	made := map[string]int{}
	for name := range strings.FieldsSeq(string(data)) {
		made[name]++
	}
	return made
}

// pair returns a workflow of two agents in sequence.
func pair() *workflow.Workflow {
	w := &workflow.Workflow{Name: "pair", Entry: "a", Edges: []workflow.Edge{{From: "a", To: "b"}}}
	for _, id := range []string{"a", "b"} {
		w.Nodes = append(w.Nodes, workflow.Node{ID: id, Kind: workflow.KindAgent,
			Agent: &workflow.AgentNode{Agent: id, Prompt: workflow.Prompt{Mode: workflow.PromptTemplate}}})
		w.Agents = append(w.Agents, workflow.Agent{ID: id, Name: id})
	}
	return w
}

// TestKilled checks that a worker that is killed at the worst moments repeats no journaled call,
// and makes no tool call twice without asking (P12).
func TestKilled(t *testing.T) {
	newCluster(t)
	for _, tt := range []struct {
		name, input     string
		dieIn, dieAfter string
		want            map[string]int
		status          event.Status
	}{
		{"in a model call", "hello", "a", "", map[string]int{"a": 2, "b": 1}, event.StatusCompleted},
		{"between append and report", "hello", "", "model.replied", map[string]int{"a": 1, "b": 1},
			event.StatusCompleted},
		{"in a call of an idempotent tool", "call read", "read", "", map[string]int{"a": 2, "read": 2, "b": 1},
			event.StatusCompleted},
		{"in a tool call", "call act", "act", "", map[string]int{"a": 1, "act": 1}, event.StatusPaused},
		{"between the append of a tool's result and its report", "call act", "", "tool.returned",
			map[string]int{"a": 2, "act": 1, "b": 1}, event.StatusCompleted},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, p, s := workers(t, func(s *settings) { s.DieIn, s.DieAfter = tt.dieIn, tt.dieAfter })
			input, err := json.Marshal(tt.input)
			if err != nil {
				t.Fatal(err)
			}
			run, err := p.Start(t.Context(), driver.Spec{Workflow: pair(), Input: input})
			if err != nil {
				t.Fatal(err)
			}
			state, err := p.Wait(t.Context(), run)
			if err != nil || state != (driver.State{Status: tt.status}) {
				t.Fatalf("the run is %+v, %v; want %s", state, err, tt.status)
			}
			if made := s.book(t); fmt.Sprint(made) != fmt.Sprint(tt.want) {
				t.Errorf("calls made: %v, want %v", made, tt.want)
			}
			if tt.status != event.StatusPaused {
				return
			}
			if err := p.Answer(t.Context(), run, engine.Answer{Value: event.Value(`"skip"`)}); err != nil {
				t.Fatal(err)
			}
			if state, err := p.Wait(t.Context(), run); err != nil || state.Status != event.StatusCompleted {
				t.Errorf("after the answer the run is %+v, %v", state, err)
			}
			if made := s.book(t); made["act"] != 1 {
				t.Errorf("the tool was called %d times", made["act"])
			}
		})
	}
}
