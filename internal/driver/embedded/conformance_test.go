package embedded_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/driver/drivertest"
	"github.com/hocket-run/hocket/internal/driver/embedded"
	"github.com/hocket-run/hocket/internal/driver/stored"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/expr/celexpr"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/sim"
	"github.com/hocket-run/hocket/internal/store"
	"github.com/hocket-run/hocket/workflow"
)

func TestConformance(t *testing.T) {
	drivertest.Run(t, drivertest.Driver{Open: func(*testing.T) drivertest.Cluster { return memoryCluster() }})
}

// TestConformanceSQLite runs the suite on files, so that its bubble includes real locks and real
// commits.
func TestConformanceSQLite(t *testing.T) {
	drivertest.Run(t, drivertest.Driver{Open: func(t *testing.T) drivertest.Cluster { return sqliteCluster(t) }})
}

// TestConformanceRealTime runs the tests that need no bubble on the system's clock, as for drivers
// whose store notifies them from outside the process.
func TestConformanceRealTime(t *testing.T) {
	drivertest.Run(t, drivertest.Driver{Open: func(*testing.T) drivertest.Cluster { return memoryCluster() },
		RealTime: true})
}

// cluster is a set of processes that share one store.
type cluster struct {
	open   func(place string) journal.Backend
	reader journal.Backend
	fresh  func(t *testing.T) *cluster
	slow   bool // each write waits for the disk
}

func memoryCluster() *cluster {
	m := journal.NewMemory()
	return &cluster{
		open:   func(place string) journal.Backend { return m.OpenAt(journal.KindServe, place) },
		reader: m.Open(""),
		fresh:  func(*testing.T) *cluster { return memoryCluster() },
	}
}

func sqliteCluster(t *testing.T) *cluster {
	t.Helper()
	path := filepath.Join(t.TempDir(), "hocket.db")
	open := func(place string) journal.Backend {
		s, err := store.Open(context.Background(), path, store.Config{Kind: journal.KindServe, Place: place})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		return s.Journal
	}
	return &cluster{open: open, reader: open(""), fresh: sqliteCluster, slow: true}
}

func (c *cluster) Store() journal.Backend { return c.reader }

func (c *cluster) Runs(*testing.T) *stored.Runs {
	return stored.New(stored.Config{Expressions: celexpr.Compiler{}, Journal: c.reader, Kind: journal.KindServe,
		Program: func(*workflow.Workflow) (driver.Program, error) {
			return nil, nil
		}}) //nolint:nilnil,nolintlint // there are only documents
}

func (c *cluster) Slow() bool { return c.slow }

func (c *cluster) Fresh(t *testing.T) drivertest.Cluster { return c.fresh(t) }

func (c *cluster) Open(t *testing.T, o drivertest.Options) drivertest.Process {
	t.Helper()
	p := &process{dead: make(chan struct{})}
	place := o.Place
	if o.NoDrive {
		place = ""
	}
	p.disk = sim.NewDisk(c.open(place), c.reader, o.Fault, func() { close(p.dead) })
	if o.Deaf {
		p.disk.Deafen()
	}
	cfg := embedded.Config{Expressions: celexpr.Compiler{}, Store: p.disk, ApproveAll: o.ApproveAll,
		MaxCalls: o.MaxCalls, TakeOverAfter: o.TakeOverAfter, Now: o.Now, Place: place, NoDrive: o.NoDrive,
		MaxDriven: o.MaxDriven}
	if w := o.World; w != nil {
		cfg.Open = w.Open
		cfg.Program = func(*workflow.Workflow) (driver.Program, error) { return w.Program(), nil }
		if o.Foreign {
			cfg.Program, cfg.Foreign = nil, func(*workflow.Workflow) bool { return true }
		}
		if !o.Unchecked {
			w.Check(func(run string) []event.Event { return c.Events(t, run) })
		}
	}
	d, err := embedded.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	p.Driver = d
	t.Cleanup(p.Kill)
	return p
}

func (c *cluster) Events(t *testing.T, run string) []event.Event {
	t.Helper()
	records, err := c.reader.Read(context.Background(), run, 0)
	if errors.Is(err, journal.ErrNotFound) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	var all []event.Event
	for _, r := range records {
		events, err := journal.Decode(r.Data, func(hash string) ([]byte, error) {
			return c.reader.Blob(context.Background(), hash)
		})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, events...)
	}
	return all
}

type process struct {
	*embedded.Driver
	disk *sim.Disk
	dead chan struct{}
}

func (p *process) Kill() {
	p.disk.Kill()
	p.Driver.Close(context.Background())
}

// Close also closes the store, as the end of a process does.
func (p *process) Close(ctx context.Context) error {
	err := p.Driver.Close(ctx)
	p.disk.Kill()
	return err
}

func (p *process) Dead() <-chan struct{} { return p.dead }
func (p *process) Fence()                { p.disk.Fence() }
func (p *process) Mute(mute bool)        { p.disk.Mute(mute) }
func (p *process) Writes() int           { return p.disk.Writes() }
