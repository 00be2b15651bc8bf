package killtest_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/documents/linked"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/killtest"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/internal/tool"
	"github.com/hocket-run/hocket/internal/tool/tooltest"
)

// envSteps makes a child execute a run of stepsDocument.
const envSteps = "HOCKET_TEST_STEPS"

// stepsDocument covers what people, other programs and other workflows do to a run, and a handled
// failure.
const stepsDocument = `
workflow:
  - {id: early, type: tool, tool: count, args: {n: 1}}
  - {id: broken, type: tool, tool: broken, args: {n: 2}, on_error: {default: {v: none}}}
  - {id: paid, type: signal, signal: paid, filter: "{{ $signal.n > 1 }}"}
  - {id: gate, type: approval, prompt: "Ship {{ $steps.paid.output.n }}?"}
  - {id: who, type: ask, prompt: Who?, schema: {type: object, required: [name]}}
  - {id: below, type: workflow, workflow: below, input: "{{ $steps.who.output.name }}"}
  - id: each
    type: map
    over: [3, 4, 5]
    max_concurrency: 2
    steps: [{id: item, type: tool, tool: count, args: {n: "{{ $item }}"}}]
  - {type: end, output: {n: "{{ $steps.paid.output.n }}", note: "{{ $steps.gate.note }}", below: "{{ ` +
	`$steps.below.output }}", broken: "{{ $steps.broken.error.code }}", each: "{{ size($steps.each.output) }}"}}
`

const (
	belowDocument = "workflow:\n  - {id: inner, type: tool, tool: count, args: {n: 6}}\n  - {type: sleep, for: " +
		"10ms}\n  - {type: end, output: \"for {{ $input }}\"}\n"
	stepsOutput = `{"below":"for Ann","broken":"failed","each":3,"n":7,"note":"fine"}`
)

// childSteps executes a run to its end: it acts as the process, the person and the other program at
// the same time, so that kills come between their input and its effects.
func childSteps(run string) (err error) {
	ctx := context.Background()
	d, err := openDiary(os.Getenv(envDiary), run)
	if err != nil {
		return err
	}
	count := &tooltest.Tool{Name: "count", Retry: true, Fn: func(_ context.Context, c tool.Call) (tool.Result, error) {
		return tool.Result{Text: "counted"}, d.write(wroteCall, run+"/"+string(c.Arguments), "")
	}}
	broken := &tooltest.Tool{Name: "broken", Retry: true,
		Fn: func(_ context.Context, c tool.Call) (tool.Result, error) {
			return tool.Result{},
				errors.Join(errors.New("no route"), d.write(wroteCall, run+"/"+string(c.Arguments), ""))
		}}
	s, err := service.Open(ctx, service.Config{Documents: linked.Kit(), DB: os.Getenv(envDB), Env: func(string) string {
		return ""
	}, Tools: []tool.Tool{count, broken}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	w, list, err := s.Load(ctx, "steps.yaml", []byte(stepsDocument), service.LoadOptions{})
	if err != nil || list.HasErrors() {
		return errors.Join(list.Err(), err)
	}
	if _, err = s.Start(ctx, service.StartRequest{RunID: run, Workflow: w}); errors.Is(err, journal.ErrExists) {
		err = s.Resume(ctx, run)
	}
	for err == nil {
		st, err := s.Wait(ctx, run)
		if err != nil || st.Status.Ended() {
			return err
		}
		if err := sendInput(ctx, s, run); err != nil {
			return err
		}
	}
	return err
}

// sendInput sends the input that the run waits for, each item under its own key, like a sender that
// does not know whether the item was received.
func sendInput(ctx context.Context, s *service.Service, run string) error {
	by := event.LocalBy(event.ChannelProgram)
	o, err := s.Show(ctx, run)
	if err != nil || len(o.Waiting) == 0 {
		return err
	}
	switch w := o.Waiting[0]; w.Node {
	case "paid":
		for n, value := range []string{`{"n":0}`, `{"n":7}`} { // the first one is kept
			if _, err := s.Signal(ctx, run, service.SignalRequest{Name: "paid", Value: event.Value(value),
				Key: fmt.Sprint("k", n), By: by}); err != nil {
				return err
			}
		}
		return nil
	case "gate":
		return s.Answer(ctx, run, service.AnswerRequest{Wait: w.ID,
			Value: event.Value(`{"decision":"approve","note":"fine"}`), Key: "gate", By: by})
	default:
		return s.Answer(ctx, run, service.AnswerRequest{Wait: w.ID, Value: event.Value(`{"name":"Ann"}`), Key: "who",
			By: by})
	}
}

// TestKillSteps checks that a run with signals, answers, a handled failure, a child run and a map
// ends as if its process had not been killed: no signal is duplicated, no answer is lost, one child
// run did the work, and no call whose result is in the journal is repeated.
func TestKillSteps(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	db, path := filepath.Join(folder, "hocket.db"), filepath.Join(folder, "diary")
	watch, err := service.Open(t.Context(), service.Config{Documents: linked.Kit(), DB: db})
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Close()
	if _, problems, err := watch.Apply(t.Context(), service.ApplyRequest{ID: "below", Documents: []service.Document{
		{File: "below.yaml", Data: []byte(belowDocument)},
	}}); err != nil || problems.HasErrors() {
		t.Fatal(err, problems)
	}
	read := 0
	done := map[string]bool{} // calls whose results are in the journal, by run and arguments
	h := killtest.Harness{
		Env: func(string) []string {
			return []string{envDB + "=" + db, envDiary + "=" + path, envSteps + "=1"}
		},
		After: func(run string) bool {
			raw, err := os.ReadFile(path)
			if err != nil && !errors.Is(err, os.ErrNotExist) {
				t.Fatal(err)
			}
			for line := range strings.Lines(string(raw[read:])) {
				if !strings.HasSuffix(line, "\n") {
					break // the child was killed while writing
				}
				read += len(line)
				if key := strings.TrimSpace(strings.TrimPrefix(line, wroteCall)); done[key] {
					t.Errorf("%s was called again though its result was in the journal", key)
				}
			}
			events, err := watch.Events(t.Context(), run, 0)
			if errors.Is(err, journal.ErrNotFound) {
				return false
			}
			if err != nil {
				t.Fatalf("run %s: %v", run, err)
			}
			ended := resultsOf(t, run, events, done)
			kids, _, err := watch.List(t.Context(), journal.Query{Parent: run})
			if err != nil || len(kids) > 1 || ended && len(kids) != 1 {
				t.Fatalf("run %s has %d child runs: %v", run, len(kids), err)
			}
			for _, kid := range kids {
				below, err := watch.Events(t.Context(), kid.Run, 0)
				if err != nil {
					t.Fatal(err)
				}
				resultsOf(t, run, below, done)
			}
			if !ended {
				return false
			}
			o, err := watch.Show(t.Context(), run)
			if err != nil || o.Status != event.StatusCompleted || string(o.Output) != stepsOutput {
				t.Fatalf("run %s is %s with %s: %v %v", run, o.Status, o.Output, o.Error, err)
			}
			return true
		},
	}
	h.Kill(t, killtest.Kills())
}

// resultsOf records the calls whose results are in a journal, and reports whether its run has
// ended. Each signal and each answer must be there once.
func resultsOf(t *testing.T, run string, events []event.Event, done map[string]bool) (ended bool) {
	t.Helper()
	args, once := map[int]string{}, map[string]bool{}
	hear := func(what string) {
		if once[what] {
			t.Errorf("run %s: %s is there twice", run, what)
		}
		once[what] = true
	}
	for _, e := range events {
		switch d := e.Data.(type) {
		case *event.StepStarted:
			args[e.Step] = string(d.Input)
		case *event.ToolReturned:
			done[run+"/"+args[e.Step]] = true
		case *event.ToolFailed:
			done[run+"/"+args[e.Step]] = !d.Unknown
		case *event.SignalReceived:
			hear("signal " + string(d.Value))
		case *event.WaitAnswered:
			hear("answer to " + d.Wait)
		case *event.RunCompleted, *event.RunFailed, *event.RunCancelled:
			ended = true
		}
	}
	return ended
}
