package run_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/hocket-run/hocket/internal/documents/linked"
	"github.com/hocket-run/hocket/internal/engine/enginetest"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/internal/service/run"
	"github.com/hocket-run/hocket/workflow"
)

// envStarter makes the test binary a process that starts runs of one session in the store named by
// its value.
const envStarter = "HOCKET_TEST_STARTER"

// started is the report of a child process about one start.
type started struct{ Run, Busy, Err string }

// startAtOnce is the child process: when told to, it starts 50 runs concurrently, reports each, and
// stays until its input ends.
func startAtOnce(db string) int {
	s, err := service.Open(context.Background(), service.Config{Documents: linked.Kit(), DB: db,
		Kind: journal.KindServe, Env: func(string) string { return "" }})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	in := bufio.NewReader(os.Stdin)
	fmt.Println("ready")
	if _, err := in.ReadString('\n'); err != nil {
		return 1
	}
	w := agentGraph("", enginetest.Approval("ok"))
	list := make([]started, 50)
	var wg sync.WaitGroup
	for i := range list {
		wg.Go(func() {
			run, err := s.Start(context.Background(), service.StartRequest{Workflow: w, Session: "s"})
			list[i].Run = run
			if busy, ok := errors.AsType[*service.BusyError](err); ok && service.CodeOf(err) == service.CodeConflict {
				list[i].Busy = busy.Run
			} else if err != nil {
				list[i].Err = err.Error()
			}
		})
	}
	wg.Wait()
	if err := json.NewEncoder(os.Stdout).Encode(list); err != nil {
		return 1
	}
	_, _ = io.Copy(io.Discard, in)
	if err := s.Close(); err != nil {
		return 1
	}
	return 0
}

// P19: of 100 concurrent starts of one session, by two processes, exactly one is accepted, and all
// others receive the active run.
func TestSession_TwoProcesses(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	db := filepath.Join(t.TempDir(), "hocket.db")
	type child struct {
		cmd *exec.Cmd
		in  io.WriteCloser
		out *bufio.Reader
	}
	var children []child
	for range 2 {
		c := child{cmd: exec.Command(self)}
		c.cmd.Env = append(os.Environ(), envStarter+"="+db)
		c.cmd.Stderr = os.Stderr
		out, err := c.cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if c.in, err = c.cmd.StdinPipe(); err != nil {
			t.Fatal(err)
		}
		if err := c.cmd.Start(); err != nil {
			t.Fatal(err)
		}
		c.out = bufio.NewReader(out)
		children = append(children, c)
	}
	for _, c := range children {
		if _, err := c.out.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range children {
		if _, err := fmt.Fprintln(c.in, "go"); err != nil {
			t.Fatal(err)
		}
	}
	var all []started
	for _, c := range children {
		var list []started
		if err := json.NewDecoder(c.out).Decode(&list); err != nil {
			t.Fatal(err)
		}
		all = append(all, list...)
	}
	for _, c := range children {
		_ = c.in.Close()
		if err := c.cmd.Wait(); err != nil {
			t.Error(err)
		}
	}
	var runs []string
	for _, o := range all {
		if o.Run != "" {
			runs = append(runs, o.Run)
		}
	}
	if len(all) != 100 || len(runs) != 1 {
		t.Fatalf("%d of %d starts were accepted, want 1 of 100", len(runs), len(all))
	}
	for _, o := range all {
		if o.Run == "" && (o.Busy != runs[0] || o.Err != "") {
			t.Errorf("a start was refused because of %q, error %q; want run %s", o.Busy, o.Err, runs[0])
		}
	}
	s := opened(t, db, replyWithAgentName)
	heads, _, err := s.List(t.Context(), journal.Query{Session: "s"})
	if err != nil || len(heads) != 1 || heads[0].Run != runs[0] || heads[0].Status != journal.StatusPaused {
		t.Errorf("runs of the session: %+v, %v", heads, err)
	}
}

func approve(t *testing.T, s *service.Service, run string) {
	t.Helper()
	if err := s.Answer(t.Context(), run, service.AnswerRequest{By: event.LocalBy(event.ChannelProgram),
		Value: event.Value(`"approve"`)}); err != nil {
		t.Fatal(err)
	}
}

// P19, queue: requests wait for the runs ahead of them, including paused ones, and begin in the
// order in which they came.
func TestSessionQueue(t *testing.T) {
	t.Parallel()
	s := opened(t, "", replyWithAgentName)
	w := agentGraph("", enginetest.Approval("ok"))
	run := begin(t, s, service.StartRequest{Workflow: w, Session: "s", IfBusy: service.IfBusyQueue})
	var (
		mu    sync.Mutex
		order []int
		wg    sync.WaitGroup
	)
	const waiting = 3
	begun := make(chan string, waiting)
	for i := range waiting {
		wg.Go(func() {
			run, err := s.Start(t.Context(),
				service.StartRequest{Workflow: w, Session: "s", IfBusy: service.IfBusyQueue})
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			order = append(order, i)
			mu.Unlock()
			begun <- run
		})
		s.AwaitLine(t, "s", i+1)
	}
	if _, err := s.Start(t.Context(), service.StartRequest{Workflow: w, Session: "other",
		IfBusy: service.IfBusyQueue}); err != nil {
		t.Errorf("another session: %v", err)
	}
	for range waiting {
		heads, _, err := s.List(t.Context(),
			journal.Query{Session: "s", Statuses: []journal.Status{journal.StatusPaused, journal.StatusRunning}})
		if err != nil || len(heads) != 1 || heads[0].Run != run {
			t.Fatalf("unended runs of the session: %+v, %v; want %s alone", heads, err, run)
		}
		paused(t, s, run)
		approve(t, s, run)
		run = <-begun
	}
	wg.Wait()
	if !slices.Equal(order, []int{0, 1, 2}) {
		t.Errorf("began in the order %v", order)
	}
}

// P19: a waiting request ends with its context, and the queue has a limit that its error names.
func TestSessionQueueBounds(t *testing.T) {
	t.Parallel()
	s := opened(t, "", replyWithAgentName)
	w := agentGraph("", enginetest.Approval("ok"))
	begin(t, s, service.StartRequest{Workflow: w, Session: "s"})
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for range run.MaxQueue {
		wg.Go(func() {
			if _, err := s.Start(ctx, service.StartRequest{Workflow: w, Session: "s",
				IfBusy: service.IfBusyQueue}); !errors.Is(err, context.Canceled) {
				t.Errorf("a request whose context is done: %v", err)
			}
		})
	}
	s.AwaitLine(t, "s", run.MaxQueue)
	_, err := s.Start(t.Context(), service.StartRequest{Workflow: w, Session: "s", IfBusy: service.IfBusyQueue})
	if limit, ok := errors.AsType[*service.LimitError](err); !ok || limit.Max != run.MaxQueue ||
		service.CodeOf(err) != service.CodeLimit {
		t.Errorf("one more: %v, want *LimitError", err)
	}
	cancel()
	wg.Wait()
	s.AwaitLine(t, "s", 0)
}

// P19, cancel_previous: the previous run is cancelled, together with its current call or wait, and
// the new one begins after its end.
func TestSessionCancelPrevious(t *testing.T) {
	t.Parallel()
	calling := make(chan struct{}, 10)
	s := opened(t, "", func(ctx context.Context, _ model.Request) (string, error) {
		calling <- struct{}{}
		<-ctx.Done()
		return "", ctx.Err()
	})
	for name, w := range map[string]*workflow.Workflow{
		"calling": agentGraph("", enginetest.Agent("a")),
		"paused":  agentGraph("", enginetest.Approval("ok")),
	} {
		q := service.StartRequest{Workflow: w, Session: name, IfBusy: service.IfBusyCancelPrevious}
		first := begin(t, s, q)
		if name == "calling" {
			<-calling
		}
		second := begin(t, s, q)
		for run, want := range map[string]bool{first: true, second: false} {
			h, err := s.Head(t.Context(), run)
			if err != nil || (h.Status == journal.StatusCancelled) != want {
				t.Errorf("%s: run %s is %s, %v", name, run, h.Status, err)
			}
		}
		a, _ := s.Head(t.Context(), first)
		b, _ := s.Head(t.Context(), second)
		if b.Created.Before(a.Ended) {
			t.Errorf("%s: the second run began at %s, before the first ended at %s", name, b.Created, a.Ended)
		}
	}
}

// P19, D20: a run that ended at a limit is not reopened while its session has another run.
func TestSessionReopen(t *testing.T) {
	t.Parallel()
	s := opened(t, "", replyWithAgentName)
	one := 1
	first := begin(t, s, service.StartRequest{
		Workflow: agentGraph("a -> b", enginetest.Agent("a"), enginetest.Agent("b")), Session: "s",
		Limits: workflow.Limits{MaxSteps: &one},
	})
	if o := ended(t, s, first); o.Status != event.StatusFailed {
		t.Fatalf("status %s", o.Status)
	}
	second := begin(t, s, service.StartRequest{Workflow: agentGraph("", enginetest.Approval("ok")), Session: "s"})
	three := 3
	err := s.Reopen(t.Context(), first, workflow.Limits{MaxSteps: &three}, event.LocalBy(event.ChannelCLI))
	if busy, ok := errors.AsType[*service.BusyError](err); !ok || busy.Run != second ||
		service.CodeOf(err) != service.CodeConflict {
		t.Errorf("reopened beside run %s: %v, want *BusyError", second, err)
	}
	ended(t, s, first) // it has left memory again
	if h, err := s.Head(t.Context(), first); err != nil || h.Status != journal.StatusFailed || h.Owner != "" {
		t.Errorf("after the refusal: %+v, %v", h, err)
	}
	paused(t, s, second)
	approve(t, s, second)
	ended(t, s, second)
	if err := s.Reopen(t.Context(), first, workflow.Limits{MaxSteps: &three},
		event.LocalBy(event.ChannelCLI)); err != nil {
		t.Fatal(err)
	}
	if o := ended(t, s, first); o.Status != event.StatusCompleted {
		t.Errorf("status %s after it was opened again", o.Status)
	}
}

func TestBadSessions(t *testing.T) {
	t.Parallel()
	s := opened(t, "", replyWithAgentName)
	for name, q := range map[string]service.StartRequest{
		"control character": {Session: "a\x00"},
		"too long":          {Session: string(make([]byte, service.MaxKey+1))},
		"unknown policy":    {Session: "s", IfBusy: "perhaps"},
		"policy alone":      {IfBusy: service.IfBusyQueue},
	} {
		q.Workflow = agentGraph("", enginetest.Agent("a"))
		if _, err := s.Start(t.Context(), q); service.CodeOf(err) != service.CodeInvalid {
			t.Errorf("%s: %v, want *InvalidError", name, err)
		}
	}
	// A fork of a run does not belong to its session: both may continue.
	run := begin(t, s, service.StartRequest{Workflow: agentGraph("", enginetest.Approval("ok")), Session: "s"})
	paused(t, s, run)
	events, err := s.Events(t.Context(), run, 0)
	if err != nil {
		t.Fatal(err)
	}
	fork, err := s.Fork(t.Context(), run, events[len(events)-1].Seq, service.ForkRights{})
	if err != nil {
		t.Fatal(err)
	}
	if h, err := s.Head(t.Context(), fork); err != nil || h.Session != "" {
		t.Errorf("session %q of the fork, %v", h.Session, err)
	}
}
