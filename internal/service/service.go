package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/hocket-run/hocket/internal/config"
	"github.com/hocket-run/hocket/internal/documents"
	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/driver/carry"
	"github.com/hocket-run/hocket/internal/driver/embedded"
	"github.com/hocket-run/hocket/internal/errcode"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/price"
	"github.com/hocket-run/hocket/internal/project"
	"github.com/hocket-run/hocket/internal/ratelimit"
	"github.com/hocket-run/hocket/internal/secret"
	"github.com/hocket-run/hocket/internal/service/definition"
	"github.com/hocket-run/hocket/internal/service/failure"
	"github.com/hocket-run/hocket/internal/service/resources"
	"github.com/hocket-run/hocket/internal/service/run"
	"github.com/hocket-run/hocket/internal/service/schedule"
	"github.com/hocket-run/hocket/internal/store"
	"github.com/hocket-run/hocket/internal/telemetry"
	"github.com/hocket-run/hocket/internal/tool"
	"github.com/hocket-run/hocket/internal/tool/fetch"
	"github.com/hocket-run/hocket/workflow"
)

// Memory is the path of a store that keeps nothing.
const Memory = store.Memory

// Config is what a Service is made of.
type Config struct {
	// DB is the path or URL of the store, or Memory; "" is DefaultDB(Env). It may hold a password and is not to be shown; see Service.DB.
	DB string
	// At is the store where it is known already; it wins over DB.
	At store.Locator
	// Stores are the kinds of stores on database servers that DB may name. Its Folder is that of the default store where it is "".
	Stores store.Servers
	// Kind is what kind of process this is (D15); "" is journal.KindRun.
	Kind journal.Kind
	// RetainRuns is how many ended runs Memory keeps; 0: 1,000, negative: none. See journal.Memory.Retain.
	RetainRuns int
	// LockTimeout is how long a caller that needs the store waits while another process holds it, before it gets a *journal.LockedError; 0: as long as it takes. Runs that are
	// driven here wait on, whatever its value. Locked is called for waits, as store.Config.Locked; nil: they are logged.
	LockTimeout time.Duration
	Locked      func(journal.LockWait)
	// Env gives the environment; nil: os.Getenv.
	Env func(string) string
	// Operator is the operator's configuration, without errors; nil: there is none.
	Operator *config.Config
	// Keeper gets the secrets that are used, and takes them out of what comes back (SEC11); nil: one of the service's own.
	Keeper *secret.Keeper
	// Adapters serve the model protocols.
	Adapters map[model.Protocol]model.Factory
	// ApproveAll answers every approval with approve (D24).
	ApproveAll bool
	// MaxRuns bounds the runs of the store that have not ended, paused ones too: what would be one more is refused with *LimitError, but for runs that runs start. MaxInput
	// bounds the input of a run, in bytes. 0: none, and in a process of journal.KindServe the operator's, else DefaultMaxRuns and DefaultMaxInput (SEC17).
	MaxRuns  int
	MaxInput int64
	// MaxBytes bounds the size of a run (workflow.Limits.MaxBytes) that is started by this process; 0: none, and in a process of journal.KindServe the operator's, else
	// DefaultMaxBytes (SEC17).
	MaxBytes int64
	// MaxCalls bounds calls in flight over all runs; 0: the driver's default.
	MaxCalls int
	// Shared is what the service has in common with others of the process ([Share]); nil: nothing.
	Shared *Shared
	// NoDrive makes a process that starts and answers runs, and leaves it to others to drive them. MaxDriven is how many runs the process drives at once, without paused ones:
	// further ones are left to processes that have room; 0: the operator's, else DefaultMaxDriven. Place is the name of the machine for runs that need its files or programs; "": the
	// operator's, else the host's name. With NoDrive it is that of the processes which drive such runs, and such runs are refused without it.
	// Runs of one place that others left are not driven at another. The first two are for processes of journal.KindServe and journal.KindWorker.
	NoDrive   bool
	MaxDriven int
	Place     string
	// Version is what other programs see of this one.
	Version string
	// Permissions are the operator's, for every tool call of every run: no document loosens them.
	Permissions tool.Permissions
	// Models are model providers that the program itself gives, by name; they win over all others.
	Models map[string]model.Client
	// Tools are those of the program itself: an agent that lists one by name may use it (SEC13).
	Tools []tool.Tool
	// Documents is what documents and toolsets of type mcp need; the zero Kit refuses them.
	Documents documents.Kit
	// Pages turns web pages into text for toolsets of type fetch; nil: they are not supported.
	Pages fetch.Pages
	// Agents are those that documents may name beside the ones of the catalog, which they win over.
	Agents []workflow.Agent
	// Program names this program in errors about runs of its Go graphs elsewhere.
	Program string
	// Functions makes the program of one run of Info.Program, to stand around its calls; nil leaves it.
	Functions func(driver.Info) driver.Program
	// Carrier carries the runs that are started here, and is closed by the program after the service; nil: this process drives them itself. The store must be on a database server.
	Carrier carry.Carrier
	// Telemetry makes traces and metrics of the runs that are driven here; nil: none, at no cost. The service closes its exporter.
	Telemetry *telemetry.Config
	// Metrics counts what Telemetry counts, for [Service.Metrics], also without Telemetry.
	Metrics bool
	// Logger; nil: none.
	Logger *slog.Logger
	// RateLimits are what providers take, by the name under which models name them; one that is not here is paced by what it says itself.
	RateLimits map[string]ratelimit.Limits
	// Prices says what models cost; nil: the table that comes with Hocket.
	Prices *price.Table
	// Now is the clock by which models are retired; nil: the system's.
	Now func() time.Time
	// Starts are for runs whose start names nothing else.
	Starts Starts
	// ready says that withDefaults was here.
	ready bool
}

// Service is the use cases over one store: those of documents, of runs and of schedules. Safe for concurrent use.
type Service struct {
	*definition.Catalog
	*run.Runner
	*schedule.Scheduler
	cfg    Config
	home   *store.Home
	opener *resources.Opener
}

// DefaultDB gives where the store is: HOCKET_DB, else hocket.db in HOCKET_HOME, else in the data folder of the XDG rules.
func DefaultDB(env func(string) string) (string, error) {
	if db := env("HOCKET_DB"); db != "" {
		return db, nil
	}
	folder, err := localFolder(env)
	if err != nil {
		return "", err
	}
	return filepath.Join(folder, "hocket.db"), nil
}

// localFolder gives the folder of the default store on this machine.
func localFolder(env func(string) string) (string, error) {
	if home := env("HOCKET_HOME"); home != "" {
		return home, nil
	}
	if data := env("XDG_DATA_HOME"); filepath.IsAbs(data) {
		return filepath.Join(data, "hocket"), nil
	}
	home := env("HOME")
	if home == "" {
		var err error
		if home, err = os.UserHomeDir(); err != nil {
			return "", failure.Refuse(errcode.NoHomeFolder, nil, err)
		}
	}
	return filepath.Join(home, ".local", "share", "hocket"), nil
}

func (c Config) withDefaults() Config {
	if c.Env == nil {
		c.Env = os.Getenv
	}
	if c.Kind == "" {
		c.Kind = journal.KindRun
	}
	if c.Operator == nil {
		c.Operator = &config.Config{}
	}
	if c.Keeper == nil {
		c.Keeper = &secret.Keeper{}
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if !c.ready {
		c.Logger = slog.New(c.Keeper.Handler(c.Logger.Handler()))
	}
	c.ready = true
	if c.Prices == nil {
		c.Prices = price.Default()
	}
	if c.Permissions.IsZero() {
		c.Permissions = c.Operator.Permissions
	}
	if c.Place = cmp.Or(c.Place, c.Operator.Server.Place); c.Place == "" && !c.NoDrive {
		c.Place = HostPlace()
	}
	if c.sharesRuns() {
		c.MaxDriven = cmp.Or(c.MaxDriven, c.Operator.Server.Limits.Driven, DefaultMaxDriven)
		c.MaxRuns = cmp.Or(c.MaxRuns, int(c.Operator.Server.Limits.Runs), DefaultMaxRuns)
		c.MaxBytes = cmp.Or(c.MaxBytes, c.Operator.Server.Limits.RunBytes, DefaultMaxBytes)
		c.MaxInput = cmp.Or(c.MaxInput, c.Operator.Server.Limits.Input, DefaultMaxInput)
	}
	c.MaxCalls = cmp.Or(c.MaxCalls, c.Operator.Limits.MaxCalls)
	if c.Shared == nil {
		c.Shared = newShared(c)
	}
	return c
}

// Limits of server processes (SEC17), where neither the program nor the operator says otherwise.
const (
	// DefaultMaxRuns is how many runs of a store may not have ended.
	DefaultMaxRuns = 10_000
	// DefaultMaxDriven is how many runs of a namespace a process drives at once.
	DefaultMaxDriven = 10_000
	// DefaultMaxInput bounds the input of a run, in bytes.
	DefaultMaxInput = 1 << 20
	// DefaultMaxBytes bounds the size of a run, as workflow.Limits.MaxBytes counts it.
	DefaultMaxBytes = 256 << 20
)

// DefaultTakeOverAfter is for how long a process gives no sign of life before its runs are taken over where the operator says nothing.
const DefaultTakeOverAfter = 30 * time.Second

// takeOverAfter is that of processes that stay; others leave to people whether a process hangs.
func (c Config) takeOverAfter() time.Duration {
	if c.Kind == journal.KindRun {
		return 0
	}
	return cmp.Or(time.Duration(c.Operator.Server.TakeOverAfter), DefaultTakeOverAfter)
}

// open says how the store is opened.
func (c Config) open() store.Config {
	q := store.Config{Kind: c.Kind, Place: c.drivesAt(), LockTimeout: c.LockTimeout, Locked: c.Locked, RetainRuns: c.RetainRuns, Logger: c.Logger}
	if q.Locked == nil {
		q.Locked = func(w journal.LockWait) {
			c.Logger.Warn("the store is locked; waiting", "by", w.Holder, "for", w.For.Round(time.Second/10))
		}
	}
	return q
}

// definitions says what documents are read with.
func (c Config) definitions() definition.Config {
	return definition.Config{
		Operator: c.Operator, Env: c.Env, Agents: c.Agents, Providers: slices.Sorted(maps.Keys(c.Models)), Model: c.Starts.Model, Offline: c.Starts.Replies != nil, Now: c.Now,
		Documents: c.Documents, Logger: c.Logger,
	}
}

// runs says how runs are started and driven.
func (c Config) runs() run.Config {
	r := run.Config{
		Operator: c.Operator, Kind: c.runKind(), Program: c.Program, Permissions: c.Permissions, MaxRuns: c.MaxRuns, MaxInput: c.MaxInput, MaxBytes: c.MaxBytes, Starts: c.Starts, NoDrive: c.NoDrive,
		Telemetry: c.Telemetry, Documents: c.Documents, Logger: c.Logger,
	}
	if c.sharesRuns() {
		r.Place = c.Place
	}
	if c.Telemetry == nil && c.Metrics {
		r.Telemetry = &telemetry.Config{Logger: c.Logger}
	}
	return r
}

// resources says what models and tools are opened with. home is the store, nil where no run is opened.
func (c Config) resources(home *store.Home) resources.Config {
	r := resources.Config{
		Kind: c.runKind(), Env: c.Env, Operator: c.Operator, Keeper: c.Keeper, Adapters: c.Shared.adapters, Limiters: &c.Shared.limiters, RateLimits: c.RateLimits, Models: c.Models, Tools: c.Tools,
		Documents: c.Documents, Pages: c.Pages, Permissions: c.Permissions, Prices: c.Prices, Functions: c.Functions, Version: c.Version, Logger: c.Logger, Stores: c.stores(),
	}
	if home != nil {
		r.Journal, r.Memory, r.Lines = home.Journal, home.Memories, home.Journal
	}
	return r
}

// stores gives the stores of this process's operator: that of the runs, and the default one.
func (c Config) stores() []store.Locator {
	var out []store.Locator
	if at, err := c.Locator(); err == nil {
		out = append(out, at)
	}
	if db, err := DefaultDB(c.Env); err == nil {
		if at, err := store.Parse(db, c.servers()); err == nil {
			out = append(out, at)
		}
	}
	return out
}

// Locator gives where the store is. Errors: *InvalidError where no path can be told, or what is named is no store of a kind that is supported.
func (c Config) Locator() (store.Locator, error) {
	if !c.At.IsZero() {
		return c.At, nil
	}
	path, err := c.path()
	if err != nil {
		return store.Locator{}, err
	}
	at, err := store.Parse(path, c.servers())
	if code, _ := errcode.Of(err); err != nil && code != "" {
		return store.Locator{}, err
	}
	if err != nil {
		return store.Locator{}, failure.Refuse(errcode.InvalidStore, nil, err)
	}
	return at, nil
}

// servers gives the kinds of stores on servers with what the environment says of them.
func (c Config) servers() store.Servers {
	s := c.Stores
	s.KeyFile = cmp.Or(s.KeyFile, c.Env("HOCKET_KEY_FILE"))
	if folder, err := localFolder(c.Env); s.Folder == "" && err == nil {
		s.Folder = folder
	}
	return s
}

// path gives what names the store: the one that was given, HOCKET_DB, the operator's, the default.
func (c Config) path() (string, error) {
	switch {
	case c.DB != "":
		return c.DB, nil
	case c.Env("HOCKET_DB") == "" && c.Operator != nil && c.Operator.Store.Path != "":
		return c.Operator.Store.Path, nil
	}
	return DefaultDB(c.Env)
}

// Look is Open for those who only look: a store that is not there is an empty one, and is not made.
func Look(ctx context.Context, cfg Config) (*Service, error) {
	cfg = cfg.withDefaults()
	at, err := cfg.Locator()
	if err != nil {
		return nil, err
	}
	cfg.At = at
	if view, err := at.Look(ctx); !view.Exists && err == nil {
		cfg.At, cfg.DB, cfg.Carrier = store.Locator{}, Memory, nil
	}
	return Open(ctx, cfg)
}

// Open opens the store and makes a Service on it. Close it.
//
// Errors: *StoreError around those of store.Locator.Open; those of Config.Locator.
func Open(ctx context.Context, cfg Config) (*Service, error) {
	cfg = cfg.withDefaults()
	at, err := cfg.Locator()
	if err != nil {
		return nil, err
	}
	cfg.At = at
	if cfg.Carrier != nil && at.URL() == nil {
		return nil, errcode.New(errcode.TemporalStore, errcode.Fields{"store": at.String()}, nil)
	}
	home, err := at.Open(ctx, cfg.open())
	if err != nil {
		return nil, &failure.StoreError{Path: at.String(), Err: err}
	}
	s := &Service{Catalog: definition.New(cfg.definitions(), home.Catalog), cfg: cfg, home: home, opener: resources.New(cfg.resources(home))}
	if s.Runner, err = run.New(cfg.runs(), home.Journal, s.Catalog, s.opener, s.drive); err != nil {
		return nil, errors.Join(err, home.Close())
	}
	s.Scheduler = schedule.New(schedule.Config{Operator: cfg.Operator, Kind: cfg.runKind(), Logger: cfg.Logger}, home.Journal, s.Catalog, s.Runner)
	return s, nil
}

// drive makes the driver of this process.
func (s *Service) drive(h run.Host) (driver.Driver, error) {
	cfg := embedded.Config{
		Store: s.home.Journal, Expressions: s.cfg.Documents.Expressions, Kind: s.cfg.runKind(), TakeOverAfter: s.cfg.takeOverAfter(), Open: h.Open, Program: h.Program, Foreign: h.Foreign, MaxCalls: s.cfg.MaxCalls,
		Place: s.cfg.Place, NoDrive: s.cfg.NoDrive, MaxDriven: s.cfg.MaxDriven,
		Slots: s.cfg.Shared.slots, ApproveAll: s.cfg.ApproveAll, Hooks: embedded.Hooks{Events: h.Events}, Logger: s.cfg.Logger,
	}
	if s.cfg.Carrier != nil {
		return s.cfg.Carrier.Drive(s.home.Locator().Tenant(), cfg)
	}
	return embedded.New(cfg)
}

// ModeFolder is [project.NewModeFolder] for a run of the store.
func (s *Service) ModeFolder(run string, def *workflow.Workflow, modes ...project.Mode) (*project.ModeFolder, error) {
	return project.NewModeFolder(run, def, s.cfg.Documents.Expressions, modes...)
}

// DB is the path of the store, its URL without the password, or Memory.
func (s *Service) DB() string { return s.home.Locator().String() }

// Home is the store with all its parts. It is closed with the service.
func (s *Service) Home() *store.Home { return s.home }

// Close interrupts what this process drives, so that it can be resumed, and closes the store.
func (s *Service) Close() error {
	err := errors.Join(s.Runner.Close(), s.opener.Close())
	if cerr := s.home.Close(); cerr != nil {
		err = errors.Join(err, fmt.Errorf("close store: %w", cerr))
	}
	return err
}

// Calls is that of what the service shares with others.
func (s *Service) Calls() (active, forSlot, forRate int) { return s.cfg.Shared.Calls() }
