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

// MaxQueue is how many requests wait for one session at most.
const MaxQueue = maxQueue

// AwaitLine waits until so many requests wait for a session.
func (s *Runner) AwaitLine(t *testing.T, session string, want int) {
	t.Helper()
	for {
		st, err := s.store.Standing(context.Background(), journal.Line{Kind: journal.LineSession, Name: session}, 0)
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

// SetMaxFamily bounds the runs below one run. Call it before any run starts.
func (s *Runner) SetMaxFamily(most int) { s.family.most = most }

// WrapDriver puts a driver around that of the runs. Call it before any run starts.
func (s *Runner) WrapDriver(wrap func(driver.Driver) driver.Driver) { s.driver = wrap(s.driver) }

// AnswerOnly answers a wait of one run, and none of the runs above it: what is left when a process dies between two answers.
func (s *Runner) AnswerOnly(ctx context.Context, run, wait string, a AnswerRequest) error {
	return s.driver.Answer(ctx, run, engine.Answer{Wait: wait, Value: a.Value, By: a.By})
}

// Replied gives the replies of models in a run and in the runs below it.
func (s *Runner) Replied(ctx context.Context, run string) ([]chat.Message, error) {
	return s.replied(ctx, run)
}
