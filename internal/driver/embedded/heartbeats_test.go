package embedded_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hocket-run/hocket/internal/driver/embedded"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/sim"
)

// silent is a store whose handle sends no heartbeat while it is mute.
type silent struct {
	journal.Backend
	mute atomic.Bool
}

func (s *silent) Sign(ctx context.Context, at time.Time) error {
	if s.mute.Load() {
		return errStore
	}
	return s.Backend.Sign(ctx, at)
}

// TestLiveness_ObserverClock checks that the clock of an observer that was suspended or set counts
// neither for nor against a process that sends no heartbeat (ADR 41).
func TestLiveness_ObserverClock(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		jump  time.Duration // jump of the observer's clock
		quiet time.Duration // silence of the owner, which includes the jump
		want  bool          // whether the owner's run is taken
	}{
		"suspended for an hour, and an owner that is slow":   {time.Hour, 12 * time.Second, false},
		"suspended for an hour, and an owner that hangs":     {time.Hour, 45 * time.Second, true},
		"set back by an hour, and an owner that hangs":       {-time.Hour, 45 * time.Second, true},
		"set back by an hour, and an owner that is slow":     {-time.Hour, 12 * time.Second, false},
		"never set, and an owner that is slow for a while":   {0, 20 * time.Second, false},
		"never set, and an owner that hangs for long enough": {0, 45 * time.Second, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				m := journal.NewMemory()
				free := make(chan struct{})
				world := &sim.World{Model: func(context.Context, model.Request) (model.Reply, error) {
					<-free
					return sim.Reply("done"), nil
				}}
				handle := &silent{Backend: m.Open(journal.KindServe)}
				owner := open(t, m, embedded.Config{Store: handle, Open: world.Open})
				run := start(t, owner, agents("a"))
				var offset atomic.Int64
				observer := open(t, m, embedded.Config{
					TakeOverAfter: 30 * time.Second, Now: func() time.Time {
						return time.Now().Add(time.Duration(offset.Load()))
					},
				})
				ctx, stop := context.WithCancel(t.Context())
				var maintaining sync.WaitGroup
				maintaining.Go(func() { observer.Maintain(ctx) })
				time.Sleep(12 * time.Second)
				handle.mute.Store(true)
				time.Sleep(6 * time.Second)
				offset.Store(int64(tc.jump))
				time.Sleep(tc.quiet - 6*time.Second)
				handle.mute.Store(false)
				time.Sleep(10 * time.Second)
				head, err := handle.Head(t.Context(), run)
				if err != nil || (head.Epoch > 1) != tc.want {
					t.Errorf("epoch %d, %v; taken: want %v", head.Epoch, err, tc.want)
				}
				close(free)
				synctest.Wait()
				stop()
				maintaining.Wait()
			})
		})
	}
}
