package equaltest

import (
	"context"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/driver/carry"
	"github.com/hocket-run/hocket/internal/driver/embedded"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/pgtest"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/internal/sim"
	"github.com/hocket-run/hocket/internal/store"
	"github.com/hocket-run/hocket/internal/store/pghome"
)

// Driver is a driver on a kind of store.
type Driver struct {
	// Name identifies the driver.
	Name    string
	prepare func(t testing.TB, cfg *service.Config)
	carrier carry.Carrier
}

// Memory returns the embedded driver on an in-memory store, with which the other drivers are
// compared.
func Memory() Driver {
	return Driver{Name: "memory", prepare: func(_ testing.TB, cfg *service.Config) { cfg.DB = service.Memory }}
}

// Embedded returns the embedded driver on the stores on disk: an SQLite file and a PostgreSQL
// schema, new ones for each service.
func Embedded() []Driver {
	return []Driver{
		{Name: "SQLite", prepare: func(t testing.TB, cfg *service.Config) {
			cfg.DB = filepath.Join(t.TempDir(), "hocket.db")
		}},
		{Name: "PostgreSQL", prepare: onPostgres},
	}
}

func onPostgres(t testing.TB, cfg *service.Config) {
	t.Helper()
	cfg.DB, cfg.Stores = pgtest.Reused(t), store.Servers{Postgres: pghome.New(nil)}
}

// Carried returns the driver whose runs server executes, with stores in PostgreSQL. The connection
// to server is closed when t ends.
func Carried(t testing.TB, name string, server carry.Server) Driver {
	t.Helper()
	c, err := server.Connect(carry.Config{Settings: server.Settings, Queues: carry.Queues()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	if err := c.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	return Driver{Name: name, prepare: onPostgres, carrier: c}
}

// services counts the services of this process: on Temporal each has its own queues.
var services atomic.Int64

// isolatedServer executes the runs of one service.
type isolatedServer struct {
	carry.Carrier
	namespace string
}

// Drive implements carry.Carrier.
func (a isolatedServer) Drive(_ string, cfg embedded.Config) (driver.Driver, error) {
	return a.Carrier.Drive(a.namespace, cfg)
}

// Open opens a service with an empty store, which is closed when t ends. cfg specifies everything
// except where its store is and what executes its runs.
func (d Driver) Open(t testing.TB, cfg service.Config) *service.Service {
	t.Helper()
	cfg.At = store.Locator{}
	d.prepare(t, &cfg)
	if d.carrier != nil {
		cfg.Carrier = isolatedServer{d.carrier, "s" + strconv.FormatInt(services.Add(1), 10)}
	}
	s, err := service.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	worked := make(chan struct{})
	go func() {
		defer close(worked)
		if d.carrier != nil {
			s.Work(ctx)
		}
	}()
	t.Cleanup(func() {
		cancel()
		<-worked
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// Journals reads the journals of all runs of a service that the driver opened, by run id. The test
// fails if a run was executed by another driver.
func (d Driver) Journals(t testing.TB, s *service.Service) map[string][]event.Event {
	t.Helper()
	all := map[string][]event.Event{}
	ctx := context.WithoutCancel(t.Context()) // it is also called when tests end
	q := journal.Query{}
	for {
		heads, next, err := s.List(ctx, q)
		if err != nil {
			t.Fatal(err)
		}
		for i := range heads {
			if carried := heads[i].Kind == journal.KindTemporal; carried != (d.carrier != nil) {
				t.Fatalf("run %s is of kind %s on %s", heads[i].Run, heads[i].Kind, d.Name)
			}
			if all[heads[i].Run], err = s.Events(ctx, heads[i].Run, 0); err != nil {
				t.Fatal(err)
			}
		}
		if q.Cursor = next; next == "" {
			return all
		}
	}
}

// Compare fails the test if the journals of two services are not of the same runs or are not equal.
func Compare(t testing.TB, want, got map[string][]event.Event) {
	t.Helper()
	if a, b := slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(got)); !slices.Equal(a, b) {
		t.Errorf("the store has the runs %q, want %q", b, a)
		return
	}
	for run, events := range want {
		if diff, err := sim.Diff(events, got[run]); err != nil || diff != "" {
			t.Errorf("the journal of run %s is another one (-memory +%s): %v\n%s", run, t.Name(), err, diff)
		}
	}
}
