package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/pgtest"
	"github.com/hocket-run/hocket/internal/store/postgres"
	"github.com/hocket-run/hocket/internal/store/tables"
)

// extraConditions counts the schemas that tests open in addition to their own.
var extraConditions atomic.Int32

// behind opens a store behind a proxy.
func behind(t *testing.T) (*postgres.Store, *pgtest.Proxy) {
	t.Helper()
	proxy := pgtest.NewProxy(t, pgtest.URL(t))
	s, err := postgres.Open(t.Context(), postgres.Config{URL: proxy.URL(), Kind: journal.KindRun})
	if err != nil {
		t.Fatal(err)
	}
	return s, proxy
}

// TestSilentServer checks that a statement whose answer does not arrive ends, even if its caller
// has no deadline and the connection is still open, and that the store can be used when the server
// answers again.
func TestSilentServer(t *testing.T) {
	t.Parallel()
	calls := map[string]func(s *postgres.Store) error{
		"read": func(s *postgres.Store) error {
			_, err := s.LastNotice(context.Background())
			return err
		},
		"write": func(s *postgres.Store) error {
			_, err := s.Post(context.Background(), journal.Request{Run: "r", Kind: "k"})
			return err
		},
		"transaction": func(s *postgres.Store) error {
			return s.Tables(postgres.Memories).View(context.Background(), func(tx tables.Tx) error {
				return tx.Query(`SELECT 1`, func([]any) error { return nil })
			})
		},
	}
	for name, call := range calls {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, proxy := behind(t)
			if err := s.Append(t.Context(), story("r")[0]); err != nil {
				t.Fatal(err)
			}
			s.SetReplyTime(100 * time.Millisecond)
			proxy.Hold()
			if err := call(s); !errors.Is(err, journal.ErrUnavailable) {
				t.Errorf("a server that does not answer: %v", err)
			}
			proxy.Release()
			s.SetReplyTime(time.Minute)
			if err := call(s); err != nil {
				t.Errorf("it answers again: %v", err)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestCloseWithoutServer checks that a store whose server does not answer is closed within seconds,
// whatever is in flight, and that calls fail.
func TestCloseWithoutServer(t *testing.T) {
	t.Parallel()
	for name, isBusy := range map[string]bool{"at rest": false, "busy": true} {
		for second, isLast := range map[string]bool{"": true, ", beside another": false} {
			t.Run(name+second, func(t *testing.T) {
				t.Parallel()
				s, proxy := behind(t)
				defer s.Subscribe(make(chan struct{}, 1), journal.OfRun("r"))()
				for _, a := range story("r")[:2] {
					if err := s.Append(t.Context(), a); err != nil {
						t.Fatal(err)
					}
				}
				closed := s
				if !isLast {
					var err error
					if closed, err = s.Beside(t.Context(),
						fmt.Sprintf("beside_%d", extraConditions.Add(1))); err != nil {
						t.Fatal(err)
					}
					if err := closed.Append(t.Context(), story("r")[0]); err != nil {
						t.Fatal(err)
					}
				}
				proxy.Hold()
				var wg sync.WaitGroup
				if isBusy {
					failing := func(do func() error) {
						begun := make(chan struct{})
						wg.Go(func() {
							close(begun)
							if err := do(); err == nil {
								t.Error("a call succeeded without a server")
							}
						})
						<-begun
					}
					failing(func() error { _, err := closed.LastNotice(context.Background()); return err })
					failing(func() error { return closed.Append(context.Background(), story("r")[len(story("r"))-1]) })
					failing(func() error { return closed.Append(context.Background(), story("other")[0]) })
					failing(func() error { return closed.Sign(context.Background(), time.Now()) })
				}
				began, done := time.Now(), make(chan struct{})
				go func() {
					_ = closed.Close() // an error about skipped server requests cannot be fixed here
					close(done)
				}()
				const most = 20 * time.Second // a few seconds on an idle machine; without the limit at least 30 s
				select {
				case <-done:
					t.Logf("closed after %s", time.Since(began).Round(time.Millisecond))
				case <-time.After(most):
					t.Errorf("Close takes more than %s", most)
				}
				proxy.Reset()
				proxy.Release()
				wg.Wait()
				<-done
				if !isLast {
					if err := s.Close(); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
}
