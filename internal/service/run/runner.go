package run

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"github.com/hocket-run/hocket/internal/config"
	"github.com/hocket-run/hocket/internal/documents"
	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/driver/stored"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/service/child"
	"github.com/hocket-run/hocket/internal/service/definition"
	"github.com/hocket-run/hocket/internal/service/resources"
	"github.com/hocket-run/hocket/internal/telemetry"
	"github.com/hocket-run/hocket/internal/tool"
	"github.com/hocket-run/hocket/workflow"
)

// Config configures a Runner. Operator and Logger are required.
type Config struct {
	// Operator is the operator's configuration.
	Operator *config.Config
	// Kind is the kind of this process; "" means the kind of the store's owner.
	Kind journal.Kind
	// Program is the name of this program in runs of its Go graphs; "" means that it has none.
	Program string
	// Permissions are the operator's permissions, for every tool call of every run.
	Permissions tool.Permissions
	// MaxRuns is the maximum number of unfinished runs in the store, MaxInput the maximum size of a
	// run's input in bytes, MaxBytes the maximum size of a run; 0 means no limit.
	MaxRuns  int
	MaxInput int64
	MaxBytes int64
	// Starts are the defaults for runs whose start specifies nothing else.
	Starts Starts
	// Place is the place of runs that need files or programs of a machine; "" means that it is not
	// recorded. NoDrive means that the process drives no runs, so that such a run needs a place.
	Place   string
	NoDrive bool
	// Telemetry produces traces and metrics of the runs that are driven here; nil means none.
	Telemetry *telemetry.Config
	// Documents provides what documents need.
	Documents documents.Kit
	Logger    *slog.Logger
}

// Starts are the defaults of a process for the runs that start in it.
type Starts struct {
	// Model overrides every agent's model; "" overrides none.
	Model string
	resources.Files
}

// Host is what a driver calls on the host whose runs it drives.
type Host struct {
	// Open opens what the calls of a run need.
	Open driver.OpenFunc
	// Program returns the functions of a definition, or nil if this program has none; Foreign
	// reports whether a definition needs functions of a program.
	Program func(*workflow.Workflow) (driver.Program, error)
	Foreign func(*workflow.Workflow) bool
	// Events, if not nil, is called with the events of each run once they are durable.
	Events func(run string, events []event.Event)
}

// Runner implements the use cases of runs on one store. It is safe for concurrent use.
type Runner struct {
	cfg         Config
	store       journal.Backend
	definitions *definition.Catalog
	opener      *resources.Opener
	// driver drives runs; runs performs operations that need only the journals of runs.
	driver   driver.Driver
	runs     *stored.Runs
	graphs   graphs
	active   admission
	family   descendantCounts
	children *child.Runs
	// telemetry observes the runs driven here; nil means none.
	telemetry *telemetry.Observer
	// graphMeta is the metadata of all runs of Go graphs, which must not be changed.
	graphMeta map[string]string
}

// New returns a Runner with the driver that drive creates. The caller must call Close. New returns
// the errors of drive.
func New(cfg Config, store journal.Backend, definitions *definition.Catalog, opener *resources.Opener,
	drive func(Host) (driver.Driver, error)) (*Runner, error) {
	s := &Runner{cfg: cfg, store: store, definitions: definitions, opener: opener}
	if cfg.Program != "" {
		s.graphMeta = map[string]string{resources.MetaProgram: cfg.Program}
	}
	host := Host{Open: s.open, Program: s.graphs.find, Foreign: isGraph}
	if cfg.Telemetry != nil {
		s.telemetry = telemetry.New(*cfg.Telemetry, journalSource{s})
	}
	if cfg.Telemetry != nil || cfg.Logger.Enabled(context.Background(), slog.LevelDebug) {
		host.Events = s.observe
	}
	s.runs = stored.New(stored.Config{Journal: store, Kind: cmp.Or(cfg.Kind, store.Owner().Kind),
		Program: s.graphs.find, Expressions: cfg.Documents.Expressions})
	var err error
	if s.driver, err = drive(host); err != nil {
		return nil, err
	}
	s.children = &child.Runs{Config: child.Config{Driver: childDriver{s.driver, s}, Journal: store, Host: childHost{s},
		Logger: cfg.Logger}}
	return s, nil
}

// closeTime is how long Close waits for calls that were told to stop.
const closeTime = 10 * time.Second

// Close interrupts the runs that this process drives, so that they can be resumed.
func (s *Runner) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTime)
	defer cancel()
	err := s.driver.Close(ctx)
	if s.telemetry != nil {
		s.telemetry.Close() // it may have to read the store
	}
	return err
}
