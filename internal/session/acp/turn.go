package acp

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/hocket-run/hocket/graph"
)

// turn is one message and what the agent makes of it.
type turn struct {
	// ctx ends when the turn is not awaited any more.
	ctx   context.Context
	wake  chan struct{}
	begun time.Time

	mu    sync.Mutex
	queue []graph.AgentMessage
	bytes int // in the queue
	// waits counts requests of the agent that we are busy with: it is we who are silent then, since the time of `since`, and were for `waited` before.
	waits  int
	since  time.Time
	waited time.Duration
}

// wait marks one more request that we are busy with, or one less.
func (t *turn) wait(d int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.waits == 0 {
		t.since = time.Now()
	}
	if t.waits += d; t.waits == 0 {
		t.waited += time.Since(t.since)
	}
}

// elapsed tells how long the agent has been at work, and whether it is: not while it waits for us.
func (t *turn) elapsed() (d time.Duration, working bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.waits > 0 {
		return t.since.Sub(t.begun) - t.waited, false
	}
	return time.Since(t.begun) - t.waited, true
}

func (t *turn) push(m ...graph.AgentMessage) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, m := range m {
		if t.bytes += len(m.Content) + len(m.Arguments); t.bytes > maxQueueBytes {
			return
		}
		t.queue = append(t.queue, m)
	}
}

// maxQueueBytes bounds what an agent may say while the program does not read (SEC17): the SDK cannot make it wait. The journal would not take more of one node either.
const maxQueueBytes = 16 << 20

// take gives what was said and not taken yet. full: there was more than fits, which is lost.
func (t *turn) take() (list []graph.AgentMessage, full bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	list, full = t.queue, t.bytes > maxQueueBytes
	t.queue, t.bytes = nil, 0
	return list, full
}

func (t *turn) wakeUp() {
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

// errLeft says that the reader of the messages has left the loop.
var errLeft = errors.New("the reader stopped")

type ending struct {
	res sdk.PromptResponse
	err error
}

// send sends a message and hands on what comes back. It returns when the turn is over, be it that the agent was told to stop or was killed.
func (s *session) send(ctx context.Context, blocks []sdk.ContentBlock, yield func(graph.AgentMessage) bool) (sdk.StopReason, error) {
	c := s.conn
	select {
	case s.running <- struct{}{}:
		defer func() { <-s.running }()
	default:
		return "", errors.New("the session was destroyed or is busy with another message")
	}
	turnCtx, over := context.WithCancel(ctx)
	defer over()
	t := &turn{ctx: turnCtx, wake: make(chan struct{}, 1), begun: time.Now()}
	s.peer.begin(t)
	defer s.peer.endTurn()

	done := make(chan ending, 1)
	go func() {
		// Not ctx: a turn that is to be stopped still has an end, for which stopTurn waits.
		res, err := c.rpc.Prompt(c.life, sdk.PromptRequest{SessionId: s.id, Prompt: blocks})
		done <- ending{res, err}
	}()
	idle, total := time.NewTimer(c.cfg.IdleTimeout), time.NewTimer(c.cfg.TurnTimeout)
	defer idle.Stop()
	defer total.Stop()
	handOn := func() error {
		list, full := t.take()
		for _, m := range list {
			if !yield(m) {
				return errLeft
			}
		}
		if full {
			return fmt.Errorf("the agent sent more than %d bytes that were not read yet", maxQueueBytes)
		}
		return nil
	}
	stop := func(why error) (sdk.StopReason, error) {
		over()
		s.stopTurn(done)
		return "", why
	}
	for {
		select {
		case <-t.wake:
			elapsed, _ := t.elapsed()
			idle.Reset(c.cfg.IdleTimeout)
			total.Reset(c.cfg.TurnTimeout - elapsed)
			if err := handOn(); err != nil {
				return stop(err)
			}
		case e := <-done:
			s.peer.endTurn()
			if err := handOn(); err != nil {
				return "", err
			}
			return e.res.StopReason, c.explain(e.err)
		case <-ctx.Done():
			return stop(ctx.Err())
		case <-idle.C:
			if _, working := t.elapsed(); working { // else the end of the wait wakes us
				return stop(c.late(fmt.Errorf("no activity for %s", c.cfg.IdleTimeout)))
			}
		case <-total.C:
			if _, working := t.elapsed(); working {
				return stop(c.late(fmt.Errorf("the turn took longer than %s", c.cfg.TurnTimeout)))
			}
		}
	}
}

// stopTurn tells the agent to stop, and kills it where it does not.
func (s *session) stopTurn(done <-chan ending) {
	c := s.conn
	told := make(chan struct{})
	go func() {
		defer close(told)
		_ = c.rpc.Cancel(c.life, sdk.CancelNotification{SessionId: s.id})
	}()
	limit := time.NewTimer(c.cfg.CloseGrace)
	defer limit.Stop()
	select {
	case <-done:
	case <-limit.C:
		c.kill()
		<-done
	}
	select {
	case <-told:
	case <-limit.C: // it answered, and reads nothing more
		c.kill()
		<-told
	}
}

// stopped makes an error of an end before the end.
func stopped(reason sdk.StopReason) error {
	switch reason {
	case sdk.StopReasonEndTurn:
		return nil
	case sdk.StopReasonRefusal:
		return &graph.StopError{Reason: graph.StopRefusal}
	case sdk.StopReasonMaxTokens:
		return &graph.StopError{Reason: graph.StopMaxTokens}
	case sdk.StopReasonMaxTurnRequests:
		return &graph.StopError{Reason: graph.StopMaxTurns}
	case sdk.StopReasonCancelled:
		return &graph.StopError{Reason: graph.StopCancelled}
	}
	return fmt.Errorf("the agent returned an unknown stop reason: %q", reason)
}
