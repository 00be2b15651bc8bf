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

// turn is one message and the agent's response to it.
type turn struct {
	// ctx is cancelled when nobody waits for the turn any longer.
	ctx   context.Context
	wake  chan struct{}
	begun time.Time

	mu    sync.Mutex
	queue []graph.AgentMessage
	bytes int // size of the queue
	// busyRequests counts the agent's requests that we are processing. While it is positive, the
	// silence is ours, not the agent's: since is when that began, and waited is the total time of
	// earlier such periods.
	busyRequests int
	since        time.Time
	waited       time.Duration
}

// addBusy adds d, 1 or -1, to the number of requests that we are processing.
func (t *turn) addBusy(d int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.busyRequests == 0 {
		t.since = time.Now()
	}
	if t.busyRequests += d; t.busyRequests == 0 {
		t.waited += time.Since(t.since)
	}
}

// elapsed returns how long the agent has been working and whether it is working now; time during
// which it waits for us does not count.
func (t *turn) elapsed() (d time.Duration, working bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.busyRequests > 0 {
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

// maxQueueBytes limits the agent's output that is queued while the program does not read (SEC17),
// because the SDK cannot make the agent wait. The journal would not accept more from one node
// either.
const maxQueueBytes = 16 << 20

// drainQueue removes and returns the queued messages. full reports whether there was more than
// fits; the excess is lost.
func (t *turn) drainQueue() (list []graph.AgentMessage, full bool) {
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

// errReaderStopped is the error of a turn whose reader left the loop over the messages.
var errReaderStopped = errors.New("the reader stopped")

type ending struct {
	res sdk.PromptResponse
	err error
}

// send sends a message and passes on the agent's response. It returns when the turn has ended, even
// if the agent had to be told to stop or was killed.
func (s *session) send(ctx context.Context, blocks []sdk.ContentBlock, yield func(graph.AgentMessage) bool) (
	sdk.StopReason, error) {
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
		// c.ctx, not ctx: a turn that is being stopped still has an end, and stopTurn waits for it.
		res, err := c.rpc.Prompt(c.ctx, sdk.PromptRequest{SessionId: s.id, Prompt: blocks})
		done <- ending{res, err}
	}()
	idle, total := time.NewTimer(c.cfg.IdleTimeout), time.NewTimer(c.cfg.TurnTimeout)
	defer idle.Stop()
	defer total.Stop()
	handOn := func() error {
		list, full := t.drainQueue()
		for _, m := range list {
			if !yield(m) {
				return errReaderStopped
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
			if _, working := t.elapsed(); working { // otherwise the end of the wait wakes us
				return stop(c.timeoutError(fmt.Errorf("no activity for %s", c.cfg.IdleTimeout)))
			}
		case <-total.C:
			if _, working := t.elapsed(); working {
				return stop(c.timeoutError(fmt.Errorf("the turn took longer than %s", c.cfg.TurnTimeout)))
			}
		}
	}
}

// stopTurn tells the agent to stop, and kills it if it does not.
func (s *session) stopTurn(done <-chan ending) {
	c := s.conn
	told := make(chan struct{})
	go func() {
		defer close(told)
		_ = c.rpc.Cancel(c.ctx, sdk.CancelNotification{SessionId: s.id})
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
	case <-limit.C: // it answered, but no longer reads
		c.kill()
		<-told
	}
}

// stopped converts the reason for which a turn stopped early to an error; it returns nil for a
// normal end.
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
