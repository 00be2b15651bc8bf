package run_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hocket-run/hocket/internal/documents/linked"
	"github.com/hocket-run/hocket/internal/engine/enginetest"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/waits"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/workflow"
)

// orders returns all permutations of n items.
func orders(n int) [][]int {
	if n == 0 {
		return [][]int{nil}
	}
	var all [][]int
	for _, o := range orders(n - 1) {
		for at := range n {
			next := append(append(append([]int{}, o[:at]...), n-1), o[at:]...)
			all = append(all, next)
		}
	}
	return all
}

// P1: four branches wait for a person while a sibling still works. For each of the 24 orders of the
// answers, with any number of them before the sibling is done, each branch gets its own answer
// once, and the run waits until the last. An answer that names no wait is rejected while several
// are open, and changes nothing.
func TestApprovals_AnswerOrder(t *testing.T) {
	t.Parallel()
	const n = 4
	names := []string{"p", "q", "r", "s"}
	decisions := []string{"approve", "reject", "approve", "reject"}
	nodes := enginetest.Fork("f", workflow.Fork{}, "p", "q", "r", "s", "slow")
	edges := "f:slow -> slow; slow -> f/join; f/join -> end"
	for _, name := range names {
		nodes = append(nodes, enginetest.In("f", enginetest.Approval(name)))
		edges += fmt.Sprintf("; f:%s -> %s; %s:approve -> f/join; %s:reject -> f/join", name, name, name, name)
	}
	nodes = append(nodes, enginetest.In("f", enginetest.Agent("slow")), enginetest.Agent("end"))
	w := agentGraph(edges, nodes...)
	for i, order := range orders(n) {
		early := i % (n + 1)
		t.Run(fmt.Sprintf("%v, %d early", order, early), func(t *testing.T) {
			t.Parallel()
			release := make(chan struct{})
			s := opened(t, "", func(ctx context.Context, q model.Request) (string, error) {
				if q.Node == "slow" {
					select {
					case <-release:
					case <-ctx.Done():
						return "", ctx.Err()
					}
				}
				return q.Agent, nil
			})
			run := begin(t, s, service.StartRequest{Workflow: w})
			opened := map[string]string{}
			for u, err := range s.Watch(t.Context(), run, 0) {
				if err != nil {
					t.Fatal(err)
				}
				if u.Event == nil {
					continue
				}
				if d, ok := u.Event.Data.(*event.WaitOpened); ok {
					opened[u.Event.Node] = d.Wait
				}
				if len(opened) == n {
					break
				}
			}
			for k, at := range order {
				if k == early {
					close(release)
				}
				if k < n-1 {
					before := seq(t, s, run)
					err := s.Answer(t.Context(), run, service.AnswerRequest{By: event.LocalBy(event.ChannelProgram),
						Value: event.Value(`"approve"`)})
					if !errors.Is(err, waits.ErrAmbiguous) || service.CodeOf(err) != service.CodeConflict {
						t.Errorf("an answer without id while %d wait: %v, want 409", n-k, err)
					}
					if k < early && seq(t, s, run) != before {
						t.Error("a refused answer changed the run")
					}
				}
				id := opened[names[at]]
				if err := s.Answer(t.Context(), run, service.AnswerRequest{By: event.LocalBy(event.ChannelProgram),
					Wait: id, Value: event.Value(fmt.Sprintf("%q", decisions[at]))}); err != nil {
					t.Fatal(err)
				}
				if k >= early && k < n-1 {
					if o := ended(t, s, run); o.Status != event.StatusPaused || len(o.Waiting) != n-1-k {
						t.Errorf("after %d answers: %s with %d waits", k+1, o.Status, len(o.Waiting))
					}
				}
			}
			if early == n {
				close(release)
			}
			if o := ended(t, s, run); o.Status != event.StatusCompleted {
				t.Errorf("status %s, %v", o.Status, o.Error)
			}
			events, err := s.Events(t.Context(), run, 0)
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]string{}
			for _, e := range events {
				if d, ok := e.Data.(*event.WaitAnswered); ok {
					got[e.Node] += d.Decision
				}
			}
			for i, name := range names {
				if got[name] != decisions[i] {
					t.Errorf("%s was answered %q, want %q once", name, got[name], decisions[i])
				}
			}
		})
	}
}

func seq(t *testing.T, s *service.Service, run string) uint64 {
	t.Helper()
	h, err := s.Head(t.Context(), run)
	if err != nil {
		t.Fatal(err)
	}
	return h.LastSeq
}

// P24: 100 identical concurrent decisions have one effect and all get the same response; the
// opposite decision is a conflict; a decision on a cancelled run, or after the deadline, comes too
// late.
func TestDecisions_IdempotentAndExpired(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, err := service.Open(t.Context(), service.Config{Documents: linked.Kit(), DB: service.Memory,
			Kind: journal.KindServe, Env: func(string) string { return "" }})
		if err != nil {
			t.Fatal(err)
		}
		late := enginetest.Approval("ok")
		late.Wait.Deadline = workflow.Duration(time.Hour)
		w := agentGraph("", late)
		run := begin(t, s, service.StartRequest{Workflow: w})
		id := paused(t, s, run).ID
		answer := func(run, decision string) error {
			return s.Answer(t.Context(), run, service.AnswerRequest{By: event.LocalBy(event.ChannelProgram), Wait: id,
				Value: event.Value(fmt.Sprintf("%q", decision))})
		}
		var wg sync.WaitGroup
		for range 100 {
			wg.Go(func() {
				if err := answer(run, "approve"); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		ended(t, s, run)
		events, err := s.Events(t.Context(), run, 0)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, e := range events {
			if _, ok := e.Data.(*event.WaitAnswered); ok {
				n++
			}
		}
		if n != 1 {
			t.Errorf("%d answers in the journal, want 1", n)
		}
		if err := answer(run, "reject"); service.CodeOf(err) != service.CodeConflict {
			t.Errorf("the opposite decision: %v, want 409", err)
		}

		cancelled := begin(t, s, service.StartRequest{Workflow: w})
		paused(t, s, cancelled)
		if err := s.Cancel(t.Context(), cancelled, ""); err != nil {
			t.Fatal(err)
		}
		expired := begin(t, s, service.StartRequest{Workflow: w})
		paused(t, s, expired)
		time.Sleep(time.Hour + time.Second)
		synctest.Wait()
		for what, run := range map[string]string{"cancelled": cancelled, "expired": expired} {
			before := seq(t, s, run)
			if err := answer(run, "approve"); !errors.Is(err, waits.ErrClosed) ||
				service.CodeOf(err) != service.CodeGone {
				t.Errorf("a decision on a run that is %s: %v, want 410", what, err)
			}
			if seq(t, s, run) != before {
				t.Errorf("the decision changed the run that is %s", what)
			}
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}
