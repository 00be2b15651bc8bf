package embedded_test

import (
	"context"
	"slices"
	"sync"
	"testing"

	"github.com/hocket-run/hocket/internal/driver/drivertest"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/pgtest"
	"github.com/hocket-run/hocket/internal/store/postgres"
)

// TestConformancePostgres runs the suite on PostgreSQL. A goroutine that waits for a network stops
// the clock of the suite's bubble, so the stores notify each other through a relay in the process.
func TestConformancePostgres(t *testing.T) {
	server := pgtest.Shared(t) // started here, outside any bubble
	drivertest.Run(t, drivertest.Driver{Open: func(t *testing.T) drivertest.Cluster {
		return postgresCluster(t, server)
	}})
}

func postgresCluster(t *testing.T, server *pgtest.Server) *cluster {
	t.Helper()
	url, relay := server.Reused(t), &relay{}
	open := func(place string) journal.Backend {
		s, err := postgres.Open(context.Background(), postgres.Config{URL: url, Kind: journal.KindServe, Place: place,
			Relay: relay, MaxConns: 2})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		return s
	}
	return &cluster{open: open, reader: open(""), fresh: func(t *testing.T) *cluster {
		return postgresCluster(t, server)
	}, slow: true}
}

// relay is an in-process postgres.Relay.
type relay struct {
	mu   sync.Mutex
	ears []*ear
}

type ear struct {
	channel string
	heard   func(text string)
}

func (r *relay) Send(channel, text string) {
	r.mu.Lock()
	ears := slices.Clone(r.ears)
	r.mu.Unlock()
	for _, e := range ears {
		if e.channel == channel {
			e.heard(text)
		}
	}
}

func (r *relay) Listen(channel string, heard func(text string)) (stop func()) {
	e := &ear{channel, heard}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ears = append(r.ears, e)
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.ears = slices.DeleteFunc(r.ears, func(o *ear) bool { return o == e })
	}
}
