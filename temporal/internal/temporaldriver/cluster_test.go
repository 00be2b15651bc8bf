package temporaldriver_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/driver/drivertest"
	"github.com/hocket-run/hocket/internal/driver/embedded"
	"github.com/hocket-run/hocket/internal/driver/stored"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/expr/celexpr"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/pgtest"
	"github.com/hocket-run/hocket/internal/sim"
	"github.com/hocket-run/hocket/internal/store/postgres"
	"github.com/hocket-run/hocket/internal/temporalserver"
	"github.com/hocket-run/hocket/temporal/internal/temporaldriver"
	"github.com/hocket-run/hocket/workflow"
)

// clusters counts the clusters of this process; each has its own Hocket namespace.
var clusters atomic.Int64

// cluster is a set of processes that share one store and one Temporal server.
type cluster struct {
	open      func() journal.Backend
	reader    journal.Backend
	fresh     func(t *testing.T) *cluster
	address   string
	temporal  string // Temporal namespace
	namespace string // Hocket namespace
	slow      bool
}

func logger() *slog.Logger {
	if os.Getenv("HOCKET_LOG") == "" {
		return slog.New(slog.DiscardHandler)
	}
	return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelInfo}))
}

// dial connects to a server.
func dial(t *testing.T, address, namespace string) client.Client {
	t.Helper()
	c, err := client.NewLazyClient(client.Options{HostPort: address, Namespace: namespace, Identity: "test",
		Logger: log.NewStructuredLogger(logger())})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// one is the Temporal namespace that the tests of this process share.
var one struct {
	sync.Once
	address, namespace string
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	one.Do(func() { one.address, one.namespace = temporalserver.Namespace(t) })
	if one.address == "" {
		temporalserver.Namespace(t) // fails or skips the test with the reason
	}
	return &cluster{address: one.address, temporal: one.namespace, namespace: "c" + strconv.FormatInt(clusters.Add(1),
		10)}
}

func memoryCluster(t *testing.T) *cluster {
	t.Helper()
	c, m := newCluster(t), journal.NewMemory()
	c.open = func() journal.Backend { return m.Open(journal.KindServe) }
	c.reader, c.fresh = m.Open(""), memoryCluster
	return c
}

func postgresCluster(t *testing.T) *cluster {
	t.Helper()
	c, url := newCluster(t), pgtest.URL(t)
	c.open = func() journal.Backend {
		s, err := postgres.Open(context.Background(), postgres.Config{URL: url, Kind: journal.KindServe})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		return s
	}
	c.reader, c.fresh, c.slow = c.open(), postgresCluster, true
	return c
}

// queue returns the base queue of the documents of the cluster's store.
func (c *cluster) queue(t *testing.T) string {
	t.Helper()
	store, err := c.reader.StoreID(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return "hocket." + store + "." + c.namespace
}

func (c *cluster) Runs(*testing.T) *stored.Runs {
	return stored.New(stored.Config{Expressions: celexpr.Compiler{}, Journal: c.reader, Kind: journal.KindServe,
		Program: func(*workflow.Workflow) (driver.Program, error) {
			return nil, nil
		}}) //nolint:nilnil,nolintlint // there are only documents
}

func (c *cluster) Store() journal.Backend                { return c.reader }
func (c *cluster) Slow() bool                            { return c.slow }
func (c *cluster) Fresh(t *testing.T) drivertest.Cluster { return c.fresh(t) }

func (c *cluster) Open(t *testing.T, o drivertest.Options) drivertest.Process {
	t.Helper()
	return c.process(t, o, temporaldriver.Queues())
}

// process opens a process that accepts calls from queues.
func (c *cluster) process(t *testing.T, o drivertest.Options, queues []temporaldriver.Queue,
	change ...func(*temporaldriver.Config)) *process {
	t.Helper()
	p := &process{dead: make(chan struct{})}
	p.disk = sim.NewDisk(c.open(), c.reader, o.Fault, func() { close(p.dead) })
	cfg := temporaldriver.Config{
		Config: embedded.Config{Expressions: celexpr.Compiler{}, Store: p.disk, ApproveAll: o.ApproveAll,
			MaxCalls: o.MaxCalls, TakeOverAfter: o.TakeOverAfter, Now: o.Now, Logger: logger()},
		Client: dial(t, c.address, c.temporal), Namespace: c.namespace, Queues: queues,
	}
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
	for _, fn := range change {
		fn(&cfg)
	}
	d, err := temporaldriver.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	p.Driver = d
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		d.Maintain(ctx)
	}()
	t.Cleanup(func() {
		p.Kill()
		cancel()
		<-ended
	})
	return p
}

func (c *cluster) Events(t *testing.T, run string) []event.Event {
	t.Helper()
	var all []event.Event
	err := journal.EachEvents(context.Background(), c.reader, run, 0, func(events []event.Event, _ bool) error {
		all = append(all, events...)
		return nil
	})
	if err != nil && !errors.Is(err, journal.ErrNotFound) {
		t.Fatal(err)
	}
	return all
}

type process struct {
	*temporaldriver.Driver
	disk *sim.Disk
	dead chan struct{}
}

func (p *process) Kill() {
	p.disk.Kill()
	p.Driver.Close(context.Background())
}

// Close also releases the store, as the end of a process does.
func (p *process) Close(ctx context.Context) error {
	err := p.Driver.Close(ctx)
	p.disk.Kill()
	return err
}

func (p *process) Dead() <-chan struct{} { return p.dead }
func (p *process) Fence()                { p.disk.Fence() }
func (p *process) Mute(mute bool)        { p.disk.Mute(mute) }
func (p *process) Writes() int           { return p.disk.Writes() }
