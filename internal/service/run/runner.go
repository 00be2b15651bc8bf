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
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/service/child"
	"github.com/hocket-run/hocket/internal/service/definition"
	"github.com/hocket-run/hocket/internal/service/resources"
	"github.com/hocket-run/hocket/internal/telemetry"
	"github.com/hocket-run/hocket/internal/tool"
	"github.com/hocket-run/hocket/workflow"
)

// Config is what a Runner is made of. Operator and Logger are needed.
type Config struct {
	// Operator is the operator's configuration.
	Operator *config.Config
	// Kind is what kind of process this is; "" is that of the store's owner.
	Kind journal.Kind
	// Program names this program in runs of its Go graphs; "": it has none.
	Program string
	// Permissions are the operator's, for every tool call of every run.
	Permissions tool.Permissions
	// MaxRuns bounds the runs of the store that have not ended, MaxInput the input of a run in bytes, MaxBytes the size of a run; 0: no bound.
	MaxRuns  int
	MaxInput int64
	MaxBytes int64
	// Starts are for runs whose start names nothing else.
	Starts Starts
	// Place is that of runs which need files or programs of a machine; "": it is not noted. NoDrive: the process drives no runs, so that such a run needs a place.
	Place   string
	NoDrive bool
	// Telemetry makes traces and metrics of the runs that are driven here; nil: none.
	Telemetry *telemetry.Config
	// Documents is what documents need.
	Documents documents.Kit
	Logger    *slog.Logger
}

// Starts is what a process gives to the runs that begin in it.
type Starts struct {
	// Model overrides every agent's model; "" overrides none.
	Model string
	resources.Files
}

// Host is what a driver asks of the one whose runs it drives.
type Host struct {
	// Open makes what the calls of a run need.
	Open driver.OpenFunc
	// Program gives the functions of a definition, nil where this program has none; Foreign tells whether a definition needs functions of a program.
	Program func(*workflow.Workflow) (driver.Program, error)
	Foreign func(*workflow.Workflow) bool
	// Events, if not nil, is called with the events of each run when they are durable.
	Events func(run string, events []engine.Event)
}

// Runner is the use cases of runs over one store. Safe for concurrent use.
type Runner struct {
	cfg         Config
	store       journal.Backend
	definitions *definition.Catalog
	opener      *resources.Opener
	// driver drives runs; runs does what needs their journals alone.
	driver   driver.Driver
	runs     *stored.Runs
	graphs   graphs
	active   admission
	family   families
	children *child.Runs
	// telemetry observes what is driven here; nil: none.
	telemetry *telemetry.Observer
	// graphMeta is the meta of all runs of Go graphs, which must not change.
	graphMeta map[string]string
}

// New makes a Runner with the driver that drive makes. Close it. Errors: those of drive.
func New(cfg Config, store journal.Backend, definitions *definition.Catalog, opener *resources.Opener, drive func(Host) (driver.Driver, error)) (*Runner, error) {
	s := &Runner{cfg: cfg, store: store, definitions: definitions, opener: opener}
	if cfg.Program != "" {
		s.graphMeta = map[string]string{resources.MetaProgram: cfg.Program}
	}
	host := Host{Open: s.open, Program: s.graphs.find, Foreign: isGraph}
	if cfg.Telemetry != nil {
		s.telemetry = telemetry.New(*cfg.Telemetry, journalSource{s})
	}
	if cfg.Telemetry != nil || cfg.Logger.Enabled(context.Background(), slog.LevelDebug) {
		host.Events = s.saw
	}
	s.runs = stored.New(stored.Config{Journal: store, Kind: cmp.Or(cfg.Kind, store.Owner().Kind), Program: s.graphs.find, Expressions: cfg.Documents.Expressions})
	var err error
	if s.driver, err = drive(host); err != nil {
		return nil, err
	}
	s.children = &child.Runs{Config: child.Config{Driver: childDriver{s.driver, s}, Journal: store, Host: childHost{s}, Logger: cfg.Logger}}
	return s, nil
}

// closeTime bounds how long Close waits for calls that were told to stop.
const closeTime = 10 * time.Second

// Close interrupts what this process drives, so that it can be resumed.
func (s *Runner) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTime)
	defer cancel()
	err := s.driver.Close(ctx)
	if s.telemetry != nil {
		s.telemetry.Close() // it may have to read the store
	}
	return err
}
