package model_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hocket-run/hocket/internal/model"
)

// clientFunc is a function used as a Client.
type clientFunc func(ctx context.Context, onDelta func(model.Delta)) (model.Reply, error)

func (f clientFunc) Call(ctx context.Context, _ model.Request, onDelta func(model.Delta)) (model.Reply, error) {
	return f(ctx, onDelta)
}

// hang never replies and respects its context.
func hang(ctx context.Context, _ func(model.Delta)) (model.Reply, error) {
	<-ctx.Done()
	return model.Reply{}, ctx.Err()
}

// ticking sends a delta every d, n times, and then replies.
func ticking(n int, d time.Duration, delta model.Delta) clientFunc {
	return func(ctx context.Context, onDelta func(model.Delta)) (model.Reply, error) {
		for range n {
			select {
			case <-ctx.Done():
				return model.Reply{}, ctx.Err()
			case <-time.After(d):
				onDelta(delta)
			}
		}
		return model.Reply{StopReason: model.StopEnd}, nil
	}
}

// TestWithTimeouts checks P11: finite limits by default, total and idle; a call that never replies
// fails on time.
func TestWithTimeouts(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		client      model.Client
		total, idle time.Duration
		after       time.Duration
		timeout     bool
	}{
		"never answers, defaults":   {clientFunc(hang), 0, 0, model.DefaultIdleTimeout, true},
		"never answers, total only": {clientFunc(hang), time.Minute, -1, time.Minute, true},
		"never answers, idle":       {clientFunc(hang), 0, 5 * time.Second, 5 * time.Second, true},
		"slow but alive": {ticking(50, time.Second, model.Delta{Text: "x"}), 0, 2 * time.Second,
			50 * time.Second, false},
		"silent but alive": {ticking(50, time.Second, model.Delta{}), 0, 2 * time.Second, 50 * time.Second,
			false},
		"silent but alive, bounded twice": {
			model.WithTimeouts(ticking(50, time.Second, model.Delta{}), 0, 2*time.Second), 0, 2 * time.Second,
			50 * time.Second, false,
		},
		"alive for too long": {ticking(100, time.Second, model.Delta{Text: "x"}), 30 * time.Second, 2 * time.Second,
			30 * time.Second, true},
		"no limits": {ticking(2, time.Hour, model.Delta{}), -1, -1, 2 * time.Hour, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				begin := time.Now()
				_, err := model.WithTimeouts(tc.client, tc.total, tc.idle).Call(t.Context(), model.Request{}, nil)
				if got := time.Since(begin); got != tc.after {
					t.Errorf("ended after %s; want %s", got, tc.after)
				}
				var failed *model.Error
				switch {
				case tc.timeout && (!errors.As(err, &failed) || failed.Kind != model.KindTimeout ||
					failed.Message == ""):
					t.Errorf("got %v; want a timeout", err)
				case tc.timeout && errors.Is(err, context.Canceled):
					t.Errorf("got %v; a time limit must not look like a cancel", err)
				case !tc.timeout && err != nil:
					t.Errorf("got %v", err)
				}
			})
		})
	}
}

// TestTimeoutsAndCancel checks that a done context of the caller is reported as such, never as a
// time limit, and that the entry that a script used up is not lost.
func TestTimeoutsAndCancel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := model.WithTimeouts(clientFunc(hang), 0, 0).Call(ctx, model.Request{}, nil); !errors.Is(err,
			context.DeadlineExceeded) {
			t.Errorf("got %v; want the context's error", err)
		}
		odd := clientFunc(func(ctx context.Context, _ func(model.Delta)) (model.Reply, error) {
			<-ctx.Done()
			return model.Reply{}, errors.New("connection closed")
		})
		ctx, cancel = context.WithCancel(t.Context())
		cancel()
		if _, err := model.WithTimeouts(odd, 0, 0).Call(ctx, model.Request{}, nil); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v; want the context's error", err)
		}
		scripted := clientFunc(func(ctx context.Context, _ func(model.Delta)) (model.Reply, error) {
			<-ctx.Done()
			return model.Reply{}, &model.Interrupted{Source: 7, Err: ctx.Err()}
		})
		_, err := model.WithTimeouts(scripted, time.Second, 0).Call(t.Context(), model.Request{}, nil)
		if got := model.SourceOf(err); got != 7 {
			t.Errorf("got source %d of %v; want 7", got, err)
		}
		own := &model.Error{Kind: model.KindRateLimit, Message: "slow down"}
		failing := clientFunc(func(context.Context, func(model.Delta)) (model.Reply, error) {
			return model.Reply{}, own
		})
		if _, err := model.WithTimeouts(failing, 0, 0).Call(t.Context(), model.Request{}, nil); !errors.Is(err, own) {
			t.Errorf("got %v; want the client's own error", err)
		}
	})
}
