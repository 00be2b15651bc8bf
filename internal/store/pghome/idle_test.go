package pghome_test

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hocket-run/hocket/internal/documents/linked"
	"github.com/hocket-run/hocket/internal/pgtest"
	"github.com/hocket-run/hocket/internal/server"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/internal/store"
	"github.com/hocket-run/hocket/internal/store/pghome"
)

// statements counts the statements sent to a server.
type statements struct {
	mu    sync.Mutex
	texts map[string]int
	all   int
}

func (s *statements) count(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all++
	s.texts[text]++
}

func (s *statements) TraceQueryStart(ctx context.Context, _ *pgx.Conn, d pgx.TraceQueryStartData) context.Context {
	s.count(d.SQL)
	return ctx
}
func (*statements) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

func (*statements) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	return ctx
}
func (s *statements) TraceBatchQuery(_ context.Context, _ *pgx.Conn, d pgx.TraceBatchQueryData) {
	s.count(d.SQL)
}
func (*statements) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}

// reset restarts the count.
func (s *statements) reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.texts, s.all = map[string]int{}, 0
}

// silentRelay passes nothing, because there is only one process.
type silentRelay struct{}

func (silentRelay) Send(string, string)                       {}
func (silentRelay) Listen(string, func(string)) (stop func()) { return func() {} }

// TestIdle checks that an idle server process sends at most 5 statements a second.
func TestIdle(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	synctest.Test(t, func(t *testing.T) {
		count := &statements{texts: map[string]int{}}
		kind := pghome.NewTraced(silentRelay{}, count)
		s, err := server.Open(t.Context(), server.Config{Service: service.Config{Documents: linked.Kit(), DB: url,
			Stores: store.Servers{Postgres: kind}, Env: func(string) string { return "" }}})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute) // skip what happens once at startup
		count.reset()
		const seconds = 5 * 60
		time.Sleep(seconds * time.Second)
		count.mu.Lock()
		if count.all == 0 || count.all > 5*seconds {
			t.Errorf("%d statements in %d s", count.all, seconds)
		}
		if t.Failed() || testing.Verbose() {
			for _, text := range slices.SortedFunc(maps.Keys(count.texts), func(a, b string) int {
				return count.texts[b] - count.texts[a]
			}) {
				t.Logf("%d: %.120s", count.texts[text], strings.ReplaceAll(text, "\n", " "))
			}
		}
		count.mu.Unlock()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}
