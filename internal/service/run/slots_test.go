package run_test

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"testing"

	"github.com/hocket-run/hocket/internal/engine/enginetest"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/errcode"
	"github.com/hocket-run/hocket/internal/expr"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/internal/view"
	"github.com/hocket-run/hocket/workflow"
)

// waiting returns a workflow that waits for a person, with a concurrency limit.
func waiting(c workflow.Concurrency) *workflow.Workflow {
	w := agentGraph("", enginetest.Approval("ok"))
	w.ID, w.Concurrency = "w", &c
	return w
}

func startRun(t *testing.T, s *service.Service, w *workflow.Workflow, input string) string {
	t.Helper()
	id, err := s.Start(t.Context(), service.StartRequest{Workflow: w, Input: input})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// reaches waits until a run has a status.
func reaches(t *testing.T, s *service.Service, run string, want journal.Status) {
	t.Helper()
	st, err := s.Wait(t.Context(), run)
	if err != nil || st.Status != want {
		t.Fatalf("run %s is %s, %v; want %s", run, st.Status, err, want)
	}
}

func status(t *testing.T, s *service.Service, run string) journal.Status {
	t.Helper()
	h, err := s.Head(t.Context(), run)
	if err != nil {
		t.Fatal(err)
	}
	return h.Status
}

func yes(t *testing.T, s *service.Service, run string) {
	t.Helper()
	if err := s.Answer(t.Context(), run, service.AnswerRequest{Value: expr.Quote("approve"),
		By: event.LocalBy(event.ChannelProgram)}); err != nil {
		t.Fatal(err)
	}
}

// as many runs of a key are active as allowed, including a paused one; others wait in
// order, and runs of other keys do not wait.
func TestConcurrencyQueue(t *testing.T) {
	t.Parallel()
	s := inMemory(t)
	w := waiting(workflow.Concurrency{Key: "{{ $input }}", Max: 2})
	var runs []string
	for range 5 {
		runs = append(runs, startRun(t, s, w, "a"))
	}
	other := startRun(t, s, w, "b")
	reaches(t, s, runs[0], journal.StatusPaused)
	reaches(t, s, runs[1], journal.StatusPaused)
	reaches(t, s, other, journal.StatusPaused)
	for _, run := range runs[2:] {
		if got := status(t, s, run); got != journal.StatusPending {
			t.Errorf("run %s is %s, want that it waits for its turn", run, got)
		}
	}
	turns := func() (out []string) {
		for _, run := range runs {
			r, err := s.View(t.Context(), run)
			if err != nil {
				t.Fatal(err)
			}
			o, err := r.Run(t.Context(), view.Page{})
			if whole, err := s.Show(t.Context(), run); err != nil || !reflect.DeepEqual(whole.Turn, o.Turn) {
				t.Errorf("run %s: %+v and %+v, %v", run, whole.Turn, o.Turn, err)
			}
			if err != nil {
				t.Fatal(err)
			}
			if o.Turn == nil {
				out = append(out, "-")
			} else {
				out = append(out, fmt.Sprint(o.Turn.Before, " ", slices.Index(runs, o.Turn.Run)))
			}
		}
		return out
	}
	if got, want := turns(), []string{"-", "-", "0 0", "1 2", "2 3"}; !slices.Equal(got, want) {
		t.Errorf("places in the line: %q, want %q", got, want)
	}
	if err := s.Cancel(t.Context(), runs[2], "changed my mind"); err != nil {
		t.Fatal(err)
	}
	reaches(t, s, runs[2], journal.StatusCancelled)
	if got, want := turns(), []string{"-", "-", "-", "0 0", "1 3"}; !slices.Equal(got, want) {
		t.Errorf("places in the line after a run left it: %q, want %q", got, want)
	}
	yes(t, s, runs[1])
	reaches(t, s, runs[3], journal.StatusPaused)
	if got := status(t, s, runs[4]); got != journal.StatusPending {
		t.Errorf("the last run is %s", got)
	}
	if err := s.Cancel(t.Context(), runs[0], ""); err != nil {
		t.Fatal(err)
	}
	reaches(t, s, runs[4], journal.StatusPaused)
}

// with skip a run is not started, and the error names the active one; with cancel the oldest
// is cancelled first.
func TestConcurrencySkipAndCancel(t *testing.T) {
	t.Parallel()
	s := inMemory(t)
	w := waiting(workflow.Concurrency{IfBusy: workflow.BusySkip})
	first := startRun(t, s, w, "a")
	_, err := s.Start(t.Context(), service.StartRequest{Workflow: w, Input: "b", RunID: "second"})
	code, fields := errcode.Of(err)
	if code != errcode.ConcurrencyBusy || fields["run"] != first || !errors.Is(err, journal.ErrBusy) {
		t.Errorf("error %v with %v, want one that names run %s", err, fields, first)
	}
	if _, err := s.Head(t.Context(), "second"); !errors.Is(err, journal.ErrNotFound) {
		t.Errorf("the run that was skipped: %v, want none", err)
	}
	w = waiting(workflow.Concurrency{IfBusy: workflow.BusyCancel})
	second := startRun(t, s, w, "b")
	if got := status(t, s, first); got != journal.StatusCancelled {
		t.Errorf("the former run is %s, want cancelled", got)
	}
	reaches(t, s, second, journal.StatusPaused)
	yes(t, s, second)
	reaches(t, s, second, journal.StatusCompleted)
	startRun(t, s, w, "c")
}

// of 50 runs started concurrently, never more than 3 are active, and all complete.
func TestConcurrencyAtOnce(t *testing.T) {
	t.Parallel()
	s := inMemory(t)
	w := waiting(workflow.Concurrency{Max: 3})
	runs := make([]string, 50)
	var wg sync.WaitGroup
	for i := range runs {
		wg.Go(func() { runs[i] = startRun(t, s, w, fmt.Sprint(i)) })
	}
	wg.Wait()
	for left := map[string]bool{}; len(left) < len(runs); {
		paused := 0
		for _, run := range runs {
			switch status(t, s, run) {
			case journal.StatusPaused:
				if paused++; paused == 1 {
					yes(t, s, run)
					reaches(t, s, run, journal.StatusCompleted)
				}
			case journal.StatusCompleted:
				left[run] = true
			case journal.StatusPending, journal.StatusRunning:
			default:
				t.Fatalf("run %s is %s", run, status(t, s, run))
			}
		}
		on, _, err := s.List(t.Context(),
			journal.Query{Statuses: []journal.Status{journal.StatusRunning, journal.StatusPaused}, Limit: 100})
		if err != nil || len(on) > 3 {
			t.Fatalf("%d runs go on, %v; want at most 3", len(on), err)
		}
	}
}

// a key whose expression fails, or that is too long, makes the start fail.
func TestConcurrencyKeyFails(t *testing.T) {
	t.Parallel()
	s := inMemory(t)
	for key, input := range map[string]string{"{{ $input.none }}": "a", "{{ 1 / 0 }}": "a",
		"{{ $input }}": string(make([]byte, 1025)), "{{ $steps.a.output }}": "a"} {
		w := waiting(workflow.Concurrency{Key: key})
		_, err := s.Start(t.Context(), service.StartRequest{Workflow: w, Input: input, RunID: "r"})
		if code, _ := errcode.Of(err); code != errcode.InvalidConcurrency {
			t.Errorf("key %s: %v", key, err)
		}
		if _, err := s.Head(t.Context(), "r"); !errors.Is(err, journal.ErrNotFound) {
			t.Errorf("key %s: a run was stored: %v", key, err)
		}
	}
}

// a fork and a retry take their own slots, and do not wait for them.
func TestConcurrencyFork(t *testing.T) {
	t.Parallel()
	s := inMemory(t)
	w := waiting(workflow.Concurrency{})
	first := startRun(t, s, w, "a")
	reaches(t, s, first, journal.StatusPaused)
	_, err := s.Fork(t.Context(), first, 2, service.ForkRights{})
	if code, fields := errcode.Of(err); code != errcode.ConcurrencyBusy || fields["run"] != first {
		t.Errorf("a fork beside the run: %v", err)
	}
	if err := s.Cancel(t.Context(), first, ""); err != nil {
		t.Fatal(err)
	}
	fork, err := s.Fork(t.Context(), first, 2, service.ForkRights{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Resume(t.Context(), fork); err != nil {
		t.Fatal(err)
	}
	reaches(t, s, fork, journal.StatusPaused)
	_, err = s.Retry(t.Context(), first, service.RetryRequest{})
	if code, fields := errcode.Of(err); code != errcode.ConcurrencyBusy || fields["run"] != fork {
		t.Errorf("a retry beside the fork: %v", err)
	}
	next := startRun(t, s, w, "b")
	if got := status(t, s, next); got != journal.StatusPending {
		t.Errorf("a run beside the fork is %s, want that it waits", got)
	}
	if err := s.Cancel(t.Context(), fork, ""); err != nil {
		t.Fatal(err)
	}
	reaches(t, s, next, journal.StatusPaused)
}

// a run that ended at a limit takes a slot again when it is reopened, and does not wait for
// it.
func TestConcurrencyReopen(t *testing.T) {
	t.Parallel()
	s := opened(t, "", replyWithAgentName)
	w := agentGraph("a -> ok", enginetest.Agent("a"), enginetest.Approval("ok"))
	w.ID, w.Concurrency = "w", &workflow.Concurrency{}
	first, err := s.Start(t.Context(), service.StartRequest{Workflow: w, Limits: workflow.Limits{MaxSteps: new(1)}})
	if err != nil {
		t.Fatal(err)
	}
	reaches(t, s, first, journal.StatusFailed)
	beside := startRun(t, s, w, "b")
	reaches(t, s, beside, journal.StatusPaused)
	by, larger := event.LocalBy(event.ChannelProgram), workflow.Limits{MaxSteps: new(5)}
	err = s.Reopen(t.Context(), first, larger, by)
	if code, fields := errcode.Of(err); code != errcode.ConcurrencyBusy || fields["run"] != beside {
		t.Errorf("reopened beside another run: %v", err)
	}
	if got := status(t, s, first); got != journal.StatusFailed {
		t.Errorf("the run that was refused is %s", got)
	}
	if err := s.Cancel(t.Context(), beside, ""); err != nil {
		t.Fatal(err)
	}
	if err := s.Reopen(t.Context(), first, larger, by); err != nil {
		t.Fatal(err)
	}
	reaches(t, s, first, journal.StatusPaused)
	next := startRun(t, s, w, "c")
	if got := status(t, s, next); got != journal.StatusPending {
		t.Errorf("a run beside the reopened one is %s, want that it waits", got)
	}
	yes(t, s, first)
	reaches(t, s, next, journal.StatusPaused)
}

// a child run of the same workflow and key uses the slot of its parent run, which holds it
// until the parent run itself ends; a child run with another key has its own.
func TestConcurrencyOfChildren(t *testing.T) {
	t.Parallel()
	s := inMemory(t)
	w := waiting(workflow.Concurrency{Key: "{{ $input }}"})
	parent := startRun(t, s, w, "a")
	reaches(t, s, parent, journal.StatusPaused)
	next := startRun(t, s, w, "a")
	child := func(input string) string {
		t.Helper()
		id, err := s.Start(t.Context(), service.StartRequest{Workflow: w, Input: input, ParentRun: parent})
		if err != nil {
			t.Fatal(err)
		}
		reaches(t, s, id, journal.StatusPaused)
		return id
	}
	same, other := child("a"), child("b")
	grandchild, err := s.Start(t.Context(), service.StartRequest{Workflow: w, Input: "a", ParentRun: other})
	if err != nil {
		t.Fatal(err)
	}
	reaches(t, s, grandchild, journal.StatusPaused)
	if got := status(t, s, startRun(t, s, w, "b")); got != journal.StatusPending {
		t.Errorf("a run of the other child's key is %s, want that it waits", got)
	}
	yes(t, s, same)
	reaches(t, s, same, journal.StatusCompleted)
	if got := status(t, s, next); got != journal.StatusPending {
		t.Errorf("the next run is %s when the child has ended, and its parent has not", got)
	}
	yes(t, s, parent)
	reaches(t, s, next, journal.StatusPaused)
}
