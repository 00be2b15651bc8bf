package service

import (
	"context"
	"iter"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/workflow"
)

// Resume continues an interrupted run. On a paused one it fires deadlines that are due.
func (s *Service) Resume(ctx context.Context, run string) error { return s.driver.Resume(ctx, run) }

// Answer answers a wait: by its id, by its node, or the only open one where both are "" (D17). It returns when the answer is durable.
func (s *Service) Answer(ctx context.Context, run string, a AnswerRequest) error {
	wait := a.Wait
	if wait == "" && a.Node != "" {
		var err error
		if wait, err = s.waitOf(ctx, run, a.Node); err != nil {
			return err
		}
	}
	return s.driver.Answer(ctx, run, engine.Answer{Wait: wait, Value: a.Value, Note: a.Note})
}

// AnswerRequest is an answer to a wait.
type AnswerRequest struct {
	Wait, Node string
	Value      engine.Value
	Note       string
}

// waitOf finds the open wait of a node.
func (s *Service) waitOf(ctx context.Context, run, node string) (string, error) {
	r, err := s.Show(ctx, run)
	if err != nil {
		return "", err
	}
	found := ""
	for _, w := range r.Waiting {
		if w.Node != node {
			continue
		}
		if found != "" {
			return "", invalidf("node %q waits more than once; name one wait: %s or %s", node, found, w.ID)
		}
		found = w.ID
	}
	if found == "" {
		return "", invalidf("run %s does not wait at node %q", run, node)
	}
	return found, nil
}

// Cancel stops a run, whoever drives it.
func (s *Service) Cancel(ctx context.Context, run, reason string) error {
	return s.driver.Cancel(ctx, run, reason)
}

// Reopen lets a run that ended by a limit go on under new limits (D20).
func (s *Service) Reopen(ctx context.Context, run string, limits workflow.Limits) error {
	return s.driver.Reopen(ctx, run, limits)
}

// Wait waits until the run has ended, is paused with no call in flight, or has no living owner.
func (s *Service) Wait(ctx context.Context, run string) (driver.State, error) {
	return s.driver.Wait(ctx, run)
}

// Interrupt stops driving a run, so that it can be resumed.
func (s *Service) Interrupt(ctx context.Context, run string) error {
	return s.driver.Interrupt(ctx, run)
}

// Watch gives the events after from and then what happens, until the run ends or the consumer leaves.
func (s *Service) Watch(ctx context.Context, run string, from uint64) iter.Seq2[driver.Update, error] {
	return s.driver.Watch(ctx, run, from)
}

// Prune deletes runs as q says.
func (s *Service) Prune(ctx context.Context, q journal.PruneQuery) (journal.PruneResult, error) {
	return s.store.Prune(ctx, q)
}
