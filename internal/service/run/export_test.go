package run

import (
	"context"
	"runtime"
	"testing"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/journal"
)

// MaxQueue is the maximum number of requests that wait for one session.
const MaxQueue = maxQueue

// AwaitLine waits until the given number of requests wait for a session.
func (s *Runner) AwaitLine(t *testing.T, session string, want int) {
	t.Helper()
	for {
		st, err := s.store.Position(context.Background(), journal.Line{Kind: journal.LineSession, Name: session}, 0)
		if err != nil {
			t.Fatal(err)
		}
		if st.All == want {
			return
		}
		if t.Context().Err() != nil {
			t.Fatalf("%d requests wait for session %s, want %d", st.All, session, want)
		}
		runtime.Gosched()
	}
}

// SetMaxFamily limits the number of descendants of one run. Call it before any run starts.
func (s *Runner) SetMaxFamily(most int) { s.family.most = most }

// WrapDriver wraps the driver of the runs. Call it before any run starts.
func (s *Runner) WrapDriver(wrap func(driver.Driver) driver.Driver) { s.driver = wrap(s.driver) }

// AnswerOnly answers a wait of one run, and none of its ancestors: the state after a process dies
// between two answers.
func (s *Runner) AnswerOnly(ctx context.Context, run, wait string, a AnswerRequest) error {
	return s.driver.Answer(ctx, run, engine.Answer{Wait: wait, Value: a.Value, By: a.By})
}

// Replied returns the model replies in a run and its descendants.
func (s *Runner) Replied(ctx context.Context, run string) ([]chat.Message, error) {
	return s.replied(ctx, run)
}
