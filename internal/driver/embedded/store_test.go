package embedded_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/driver/embedded"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/waits"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/sim"
	"github.com/hocket-run/hocket/workflow"
)

var errStore = errors.New("store fails (test)")

// stubStore is a store in which single methods are replaced. If a replacement is nil, the store's
// own method is used.
type stubStore struct {
	journal.Backend
	append  func(ctx context.Context, a journal.Append) error
	head    func(ctx context.Context, run string) (journal.Head, error)
	blob    func(ctx context.Context, hash string) ([]byte, error)
	settle  func(ctx context.Context, id uint64, result []byte) error
	release func(ctx context.Context, run string, epoch uint64) error
}

func (o *stubStore) Append(ctx context.Context, a journal.Append) error {
	if o.append != nil {
		return o.append(ctx, a)
	}
	return o.Backend.Append(ctx, a)
}

func (o *stubStore) Head(ctx context.Context, run string) (journal.Head, error) {
	if o.head != nil {
		return o.head(ctx, run)
	}
	return o.Backend.Head(ctx, run)
}

func (o *stubStore) Blob(ctx context.Context, hash string) ([]byte, error) {
	if o.blob != nil {
		return o.blob(ctx, hash)
	}
	return o.Backend.Blob(ctx, hash)
}

func (o *stubStore) Settle(ctx context.Context, id uint64, result []byte) error {
	if o.settle != nil {
		return o.settle(ctx, id, result)
	}
	return o.Backend.Settle(ctx, id, result)
}

func (o *stubStore) Release(ctx context.Context, run string, epoch uint64) error {
	if o.release != nil {
		return o.release(ctx, run, epoch)
	}
	return o.Backend.Release(ctx, run, epoch)
}

// TestAppend_RefusalNotReused checks that a request that arrives while a run leaves memory because
// the store rejected the previous request is decided by the store, and not answered with the
// earlier rejection (P19).
func TestAppend_RefusalNotReused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := journal.NewMemory()
		o := &stubStore{Backend: m.Open(journal.KindServe)}
		d := open(t, m, embedded.Config{Store: o})
		one, three := 1, 3
		run, err := d.Start(t.Context(),
			driver.Spec{Workflow: agents("a", "b"), Limits: workflow.Limits{MaxSteps: &one}})
		if err != nil {
			t.Fatal(err)
		}
		if s := status(t, d, run); s.Status != event.StatusFailed {
			t.Fatalf("%+v, want failed", s)
		}
		busy := true
		o.append = func(ctx context.Context, a journal.Append) error {
			if busy {
				busy = false
				return &journal.BusyError{Session: "s", Run: "other"}
			}
			return o.Backend.Append(ctx, a)
		}
		leaving := make(chan struct{})
		o.release = func(ctx context.Context, run string, epoch uint64) error {
			<-leaving
			return o.Backend.Release(ctx, run, epoch)
		}
		if err := d.Reopen(t.Context(), run, workflow.Limits{MaxSteps: &three},
			event.LocalBy(event.ChannelCLI)); !errors.Is(err, journal.ErrBusy) {
			t.Errorf("reopen: %v, want ErrBusy", err)
		}
		second := make(chan error, 1)
		go func() {
			second <- d.Reopen(t.Context(), run, workflow.Limits{MaxSteps: &three}, event.LocalBy(event.ChannelCLI))
		}()
		synctest.Wait()
		close(leaving)
		if err := <-second; err != nil {
			t.Errorf("reopen when nothing is in the way any more: %v", err)
		}
		if s := status(t, d, run); s.Status != event.StatusCompleted {
			t.Errorf("%+v, want completed", s)
		}
	})
}

// TestAppend_DamagedStore checks that a store that turns out to be damaged is not retried forever.
func TestAppend_DamagedStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := journal.NewMemory()
		var mu sync.Mutex
		damaged := false
		state := func() error {
			mu.Lock()
			defer mu.Unlock()
			if damaged {
				return &journal.CorruptError{Reason: "malformed (test)"}
			}
			return nil
		}
		o := &stubStore{Backend: m.Open(journal.KindServe)}
		o.append = func(ctx context.Context, a journal.Append) error {
			return orDo(state(), func() error { return o.Backend.Append(ctx, a) })
		}
		o.head = func(ctx context.Context, run string) (h journal.Head, err error) {
			return h, orDo(state(), func() error { h, err = o.Backend.Head(ctx, run); return err })
		}
		d := open(t, m, embedded.Config{Store: o})
		run := start(t, d, approval())
		status(t, d, run)
		mu.Lock()
		damaged = true
		mu.Unlock()
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		var corrupt *journal.CorruptError
		if err := d.Answer(ctx, run, engine.Answer{Value: event.Value(`"yes"`)}); !errors.As(err, &corrupt) {
			t.Errorf("answer: %v, want the damage", err)
		}
	})
}

// TestRejectedAppend checks that a permanent rejection by the store ends its run immediately and
// with a report, and no other run (P18). The append is not retried, unlike on a full disk.
func TestRejectedAppend(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := journal.NewMemory()
		o := &stubStore{Backend: m.Open(journal.KindServe)}
		var mu sync.Mutex
		rejects, asked := "", 0
		o.append = func(ctx context.Context, a journal.Append) error {
			mu.Lock()
			rejected := a.Run == rejects && a.Status != journal.StatusFailed
			if rejected {
				asked++
			}
			mu.Unlock()
			if rejected {
				return &journal.RejectedError{Err: errors.New("no such table: records (test)")}
			}
			return o.Backend.Append(ctx, a)
		}
		d := open(t, m, embedded.Config{Store: o})
		first, second := start(t, d, approval()), start(t, d, approval())
		status(t, d, first)
		status(t, d, second)
		mu.Lock()
		rejects = first
		mu.Unlock()
		began := time.Now()
		var rejected *journal.RejectedError
		if err := d.Answer(t.Context(), first, engine.Answer{Value: event.Value(`"approve"`)}); !errors.As(err,
			&rejected) {
			t.Errorf("answer: %v, want what the store says", err)
		}
		if n := asked; n != 1 || time.Since(began) > 0 {
			t.Errorf("asked %d times in %s, want once", n, time.Since(began))
		}
		if s := status(t, d, first); s.Status != event.StatusFailed {
			t.Errorf("%+v, want failed", s)
		}
		if err := d.Answer(t.Context(), second, engine.Answer{Value: event.Value(`"approve"`)}); err != nil {
			t.Errorf("another run: %v", err)
		}
		if s := status(t, d, second); s.Status != event.StatusCompleted {
			t.Errorf("another run: %+v", s)
		}
	})
}

func orDo(err error, do func() error) error {
	if err != nil {
		return err
	}
	return do()
}

// TestAppend_FencedAfterLostResponse checks that an owner whose append succeeded without a reply,
// and which was meanwhile treated as dead, makes no more calls (D7).
func TestAppend_FencedAfterLostResponse(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := journal.NewMemory()
		heir := m.Open(journal.KindServe)
		w := &sim.World{}
		first := m.Open(journal.KindServe)
		var lost atomic.Bool
		// both handles share a journal; only first is lost
		o := &stubStore{Backend: reader{heir, first.Owner()}}
		o.append = func(ctx context.Context, a journal.Append) error {
			if lost.Load() {
				return heir.Append(ctx, a)
			}
			if err := first.Append(ctx, a); err != nil || a.Create == nil {
				return err
			}
			lost.Store(true)
			if err := first.Close(); err != nil {
				t.Error(err)
			}
			if _, err := heir.Claim(ctx, a.Run); err != nil {
				t.Error(err)
			}
			return errStore
		}
		d := open(t, m, embedded.Config{Store: o, Open: w.Open})
		_, err := d.Start(t.Context(), driver.Spec{Run: "r", Workflow: agents("a")})
		if !errors.Is(err, journal.ErrFenced) {
			t.Errorf("start: %v, want ErrFenced", err)
		}
		synctest.Wait()
		if n := w.Count("model", "a"); n != 0 {
			t.Errorf("%d calls by an owner that was fenced", n)
		}
	})
}

// reader is a handle with the owner of another handle.
type reader struct {
	journal.Backend
	self journal.Owner
}

func (r reader) Owner() journal.Owner { return r.self }

// TestSettleAgain checks that a request to another process gets its result even if the store failed
// temporarily (D16).
func TestSettleAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := journal.NewMemory()
		o := &stubStore{Backend: m.Open(journal.KindServe)}
		failed := 0
		o.settle = func(ctx context.Context, id uint64, result []byte) error {
			if failed++; failed <= 3 {
				return errStore
			}
			return o.Backend.Settle(ctx, id, result)
		}
		w := &sim.World{Model: func(ctx context.Context, _ model.Request) (model.Reply, error) {
			select {
			case <-time.After(24 * time.Hour):
			case <-ctx.Done():
				return model.Reply{}, ctx.Err()
			}
			return sim.Reply("ok"), nil
		}}
		owner := open(t, m, embedded.Config{Store: o, Open: w.Open})
		other := open(t, m, embedded.Config{Open: w.Open})
		run := start(t, owner, agents("a"))
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		// No caller waits for the answer: the run continues, and its owner is alive.
		if err := other.Answer(ctx, run, engine.Answer{Wait: "none", Value: event.Value(`"yes"`)}); !errors.Is(err,
			waits.ErrNotFound) {
			t.Errorf("answer: %v, want ErrWaitNotFound", err)
		}
		if failed != 4 {
			t.Errorf("the result was stored after %d attempts, want 4", failed)
		}
	})
}

// TestRecovery_StoreFails checks that a store that fails while models and tools are opened is
// retried (P18). A missing file stops the run: without its reply script it would call models (P17).
func TestRecovery_StoreFails(t *testing.T) {
	t.Parallel()
	file := []byte("replies")
	for name, tt := range map[string]struct {
		failure  error
		failures int
		damage   bool
	}{
		"for a moment": {errStore, 3, false},
		"gone":         {journal.ErrNotFound, 100, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				m := journal.NewMemory()
				first := m.Open(journal.KindServe)
				d, err := embedded.New(embedded.Config{Store: first, Open: (&sim.World{}).Open})
				if err != nil {
					t.Fatal(err)
				}
				run, err := d.Start(t.Context(),
					driver.Spec{Workflow: question(), Files: map[string][]byte{"replies": file}})
				if err != nil {
					t.Fatal(err)
				}
				status(t, d, run)
				if err := errors.Join(d.Close(t.Context()), first.Close()); err != nil {
					t.Fatal(err)
				}

				o := &stubStore{Backend: m.Open(journal.KindServe)}
				o.blob = func(ctx context.Context, hash string) ([]byte, error) {
					if hash == journal.HashOf(file) && tt.failures > 0 {
						tt.failures--
						return nil, tt.failure
					}
					return o.Backend.Blob(ctx, hash)
				}
				e := open(t, m, embedded.Config{
					Store: o, Open: func(ctx context.Context, info driver.Info) (*driver.RunResources, error) {
						if _, err := info.File(ctx, "replies"); err != nil && !errors.Is(err, journal.ErrNotFound) {
							return nil, err
						}
						return (&sim.World{}).Open(ctx, info)
					}})
				var corrupt *journal.CorruptError
				if err := e.Answer(t.Context(), run, engine.Answer{Value: event.Value(`"yes"`)}); errors.As(err,
					&corrupt) != tt.damage || !tt.damage && err != nil {
					t.Errorf("answer: %v", err)
				}
				want := event.StatusCompleted
				if tt.damage {
					want = event.StatusPaused
				}
				if s := status(t, e, run); s.Status != want {
					t.Errorf("%+v, want %s", s, want)
				}
			})
		})
	}
}

func question() *workflow.Workflow {
	w := approval()
	w.Nodes[0].Wait.Kind = workflow.WaitQuestion
	return w
}
