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

// Memory is the path of an in-memory store.
const Memory = store.Memory

// Config configures a Service.
type Config struct {
	// DB is the path or URL of the store, or Memory; "" means DefaultDB(Env). It may contain a
	// password and must not be shown; see Service.DB.
	DB string
	// At is the store if it is already known; it takes precedence over DB.
	At store.Locator
	// Stores are the supported kinds of stores on database servers that DB may name. Its Folder is
	// the folder of the default store if it is "".
	Stores store.Servers
	// Kind is the kind of this process (D15); "" means journal.KindRun.
	Kind journal.Kind
	// RetainRuns is the number of ended runs that Memory keeps; 0 means 1,000, a negative number
	// none. See journal.Memory.Retain.
	RetainRuns int
	// LockTimeout is how long a caller waits for the store while another process holds it, before
	// it gets a *journal.LockedError; 0 means no limit. Runs that are driven here keep waiting
	// regardless. Locked is called for waits, like store.Config.Locked; nil means that they are
	// logged.
	LockTimeout time.Duration
	Locked      func(journal.LockWait)
	// Env looks up environment variables; nil means os.Getenv.
	Env func(string) string
	// Operator is the operator's configuration, without errors; nil means that there is none.
	Operator *config.Config
	// Keeper collects the secrets that are used, and redacts them in results (SEC11); nil means
	// that the service creates its own.
	Keeper *secret.Keeper
	// Adapters serve the model protocols.
	Adapters map[model.Protocol]model.Factory
	// ApproveAll answers every approval with approve (D24).
	ApproveAll bool
	// MaxRuns is the maximum number of unfinished runs in the store, including paused ones: a start
	// beyond it results in *LimitError, except for runs started by runs. MaxInput is the maximum
	// size of a run's input, in bytes. 0 means no limit, or, in a process of journal.KindServe, the
	// operator's limit, else DefaultMaxRuns and DefaultMaxInput (SEC17).
	MaxRuns  int
	MaxInput int64
	// MaxBytes is the maximum size of a run (workflow.Limits.MaxBytes) started by this process; 0
	// means no limit, or, in a process of journal.KindServe, the operator's limit, else
	// DefaultMaxBytes (SEC17).
	MaxBytes int64
	// MaxCalls is the maximum number of calls in flight over all runs; 0 means the driver's
	// default.
	MaxCalls int
	// Shared is what the service shares with others of the process ([Share]); nil means nothing.
	Shared *Shared
	// NoDrive makes the process start and answer runs but leave driving them to others. MaxDriven
	// is the maximum number of runs that the process drives concurrently, not counting paused ones:
	// further runs are left to processes that have room; 0 means the operator's setting, else
	// DefaultMaxDriven. Place is the name of the machine for runs that need its files or programs;
	// "" means the operator's setting, else the host's name. With NoDrive it is the place of the
	// processes that drive such runs; if there is none, such runs are rejected. Runs that others
	// left at one place are not driven at another. The first two are for processes of
	// journal.KindServe and journal.KindWorker.
	NoDrive   bool
	MaxDriven int
	Place     string
	// Version is the version that other programs see.
	Version string
	// Permissions are the operator's permissions, for every tool call of every run: no document
	// loosens them.
	Permissions tool.Permissions
	// Models are the program's own model providers, by name; they take precedence over all others.
	Models map[string]model.Client
	// Tools are the program's own tools: an agent that lists one by name may use it (SEC13).
	Tools []tool.Tool
	// Documents provides what documents and toolsets of type mcp need; the zero Kit rejects them.
	Documents documents.Kit
	// Pages converts web pages to text for toolsets of type fetch; if nil, they are not supported.
	Pages fetch.Pages
	// Agents are agents that documents may name in addition to those of the catalog, over which
	// they take precedence.
	Agents []workflow.Agent
	// Program is the name of this program in errors about runs of its Go graphs elsewhere.
	Program string
	// Functions returns the program that executes the functions of one run, which wraps the calls
	// of Info.Program; if it is nil, Info.Program is used unchanged.
	Functions func(driver.Info) driver.Program
	// Carrier executes the runs that are started here, and is closed by the program after the
	// service; nil means that this process drives them itself. The store must be on a database
	// server.
	Carrier carry.Carrier
	// Telemetry produces traces and metrics of the runs that are driven here; nil means none, at no
	// cost. The service closes its exporter.
	Telemetry *telemetry.Config
	// Metrics enables the counts of Telemetry for [Service.Metrics], even without Telemetry.
	Metrics bool
	// Logger is the logger; nil means no logging.
	Logger *slog.Logger
	// RateLimits are the limits of providers, by the name under which models refer to them; a
	// provider that is missing is limited only by its own responses.
	RateLimits map[string]ratelimit.Limits
	// Prices contains the prices of models; nil means Hocket's built-in table.
	Prices *price.Table
	// Now is the clock that determines which models are retired; nil means the system clock.
	Now func() time.Time
	// Starts are the defaults for runs whose start specifies nothing else.
	Starts Starts
	// ready means that withDefaults was applied.
	ready bool
}

// Service implements the use cases on one store: documents, runs and schedules. It is safe for
// concurrent use.
type Service struct {
	*definition.Catalog
	*run.Runner
	*schedule.Scheduler
	cfg    Config
	home   *store.Home
	opener *resources.Opener
}

// DefaultDB returns the location of the store: HOCKET_DB, else hocket.db in HOCKET_HOME, else in
// the data folder according to the XDG rules.
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

// localFolder returns the folder of the default store on this machine.
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

// Limits of server processes (SEC17), if neither the program nor the operator sets others.
const (
	// DefaultMaxRuns is the maximum number of unfinished runs in a store.
	DefaultMaxRuns = 10_000
	// DefaultMaxDriven is the maximum number of runs of a namespace that a process drives
	// concurrently.
	DefaultMaxDriven = 10_000
	// DefaultMaxInput is the maximum size of a run's input, in bytes.
	DefaultMaxInput = 1 << 20
	// DefaultMaxBytes is the maximum size of a run, as counted by workflow.Limits.MaxBytes.
	DefaultMaxBytes = 256 << 20
)

// DefaultTakeOverAfter is how long a process may send no heartbeat before its runs are taken over,
// if the operator sets no other time.
const DefaultTakeOverAfter = 30 * time.Second

// takeOverAfter returns the takeover time of a long-running process; in other processes, people
// decide whether a process hangs.
func (c Config) takeOverAfter() time.Duration {
	if c.Kind == journal.KindRun {
		return 0
	}
	return cmp.Or(time.Duration(c.Operator.Server.TakeOverAfter), DefaultTakeOverAfter)
}

// open returns the configuration for opening the store.
func (c Config) open() store.Config {
	q := store.Config{Kind: c.Kind, Place: c.drivesAt(), LockTimeout: c.LockTimeout, Locked: c.Locked,
		RetainRuns: c.RetainRuns, Logger: c.Logger}
	if q.Locked == nil {
		q.Locked = func(w journal.LockWait) {
			c.Logger.Warn("the store is locked; waiting", "by", w.Holder, "for", w.For.Round(time.Second/10))
		}
	}
	return q
}

// definitions returns the configuration for reading documents.
func (c Config) definitions() definition.Config {
	return definition.Config{
		Operator: c.Operator, Env: c.Env, Agents: c.Agents, Providers: slices.Sorted(maps.Keys(c.Models)),
		Model: c.Starts.Model, Offline: c.Starts.Replies != nil, Now: c.Now,
		Documents: c.Documents, Logger: c.Logger,
	}
}

// runs returns the configuration for starting and driving runs.
func (c Config) runs() run.Config {
	r := run.Config{
		Operator: c.Operator, Kind: c.runKind(), Program: c.Program, Permissions: c.Permissions, MaxRuns: c.MaxRuns,
		MaxInput: c.MaxInput, MaxBytes: c.MaxBytes, Starts: c.Starts, NoDrive: c.NoDrive,
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

// resources returns the configuration for opening models and tools. home is the store, nil if no
// run is opened.
func (c Config) resources(home *store.Home) resources.Config {
	r := resources.Config{
		Kind: c.runKind(), Env: c.Env, Operator: c.Operator, Keeper: c.Keeper, Adapters: c.Shared.adapters,
		Limiters: &c.Shared.limiters, RateLimits: c.RateLimits, Models: c.Models, Tools: c.Tools,
		Documents: c.Documents, Pages: c.Pages, Permissions: c.Permissions, Prices: c.Prices, Functions: c.Functions,
		Version: c.Version, Logger: c.Logger, Stores: c.stores(),
	}
	if home != nil {
		r.Journal, r.Memory, r.Lines = home.Journal, home.Memories, home.Journal
	}
	return r
}

// stores returns the stores of this process's operator: the store of the runs, and the default one.
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

// Locator returns the location of the store. It returns an *InvalidError if no path can be
// determined, or if the location is not a store of a supported kind.
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

// servers returns the kinds of stores on servers, completed with settings from the environment.
func (c Config) servers() store.Servers {
	s := c.Stores
	s.KeyFile = cmp.Or(s.KeyFile, c.Env("HOCKET_KEY_FILE"))
	if folder, err := localFolder(c.Env); s.Folder == "" && err == nil {
		s.Folder = folder
	}
	return s
}

// path returns the name of the store: the configured one, HOCKET_DB, the operator's, or the
// default.
func (c Config) path() (string, error) {
	switch {
	case c.DB != "":
		return c.DB, nil
	case c.Env("HOCKET_DB") == "" && c.Operator != nil && c.Operator.Store.Path != "":
		return c.Operator.Store.Path, nil
	}
	return DefaultDB(c.Env)
}

// Look is like Open but for read-only callers: a store that does not exist is treated as empty, and
// is not created.
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

// Open opens the store and returns a Service on it. The caller must call Close.
//
// It returns a *StoreError that wraps the errors of store.Locator.Open, or an error of
// Config.Locator.
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
	s := &Service{Catalog: definition.New(cfg.definitions(), home.Catalog), cfg: cfg, home: home,
		opener: resources.New(cfg.resources(home))}
	if s.Runner, err = run.New(cfg.runs(), home.Journal, s.Catalog, s.opener, s.drive); err != nil {
		return nil, errors.Join(err, home.Close())
	}
	s.Scheduler = schedule.New(schedule.Config{Operator: cfg.Operator, Kind: cfg.runKind(), Logger: cfg.Logger},
		home.Journal, s.Catalog, s.Runner)
	return s, nil
}

// drive creates the driver of this process.
func (s *Service) drive(h run.Host) (driver.Driver, error) {
	cfg := embedded.Config{
		Store: s.home.Journal, Expressions: s.cfg.Documents.Expressions, Kind: s.cfg.runKind(),
		TakeOverAfter: s.cfg.takeOverAfter(), Open: h.Open, Program: h.Program, Foreign: h.Foreign,
		MaxCalls: s.cfg.MaxCalls,
		Place:    s.cfg.Place, NoDrive: s.cfg.NoDrive, MaxDriven: s.cfg.MaxDriven,
		Slots: s.cfg.Shared.slots, ApproveAll: s.cfg.ApproveAll, Hooks: embedded.Hooks{Events: h.Events},
		Logger: s.cfg.Logger,
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

// DB returns the path of the store, its URL without the password, or Memory.
func (s *Service) DB() string { return s.home.Locator().String() }

// Home returns the store with all its parts. It is closed with the service.
func (s *Service) Home() *store.Home { return s.home }

// Close interrupts the runs that this process drives, so that they can be resumed, and closes the
// store.
func (s *Service) Close() error {
	err := errors.Join(s.Runner.Close(), s.opener.Close())
	if cerr := s.home.Close(); cerr != nil {
		err = errors.Join(err, fmt.Errorf("close store: %w", cerr))
	}
	return err
}

// Calls returns the call counts of the Shared that the service uses.
func (s *Service) Calls() (active, forSlot, forRate int) { return s.cfg.Shared.Calls() }

// Shared is what several services of one process share, one service for each namespace (ADR 22):
// the queue of each provider key, the limit on calls in flight, under which they take turns
// (SEC17), and the adapters with their connections. It is safe for concurrent use and need not be
// closed.
type Shared struct {
	// limiters limit the rate of calls of all runs, by key.
	limiters ratelimit.Set
	slots    *embedded.Slots
	adapters map[model.Protocol]model.Factory
}

// Share returns what services opened with cfg share, whatever their stores: set it as Config.Shared
// of each. Their Adapters, Operator, Keeper and MaxCalls are those of cfg, so cfg must have its own
// Keeper for them.
func Share(cfg Config) *Shared {
	return cfg.withDefaults().Shared
}

func newShared(cfg Config) *Shared {
	return &Shared{slots: embedded.NewSlots(cfg.MaxCalls), adapters: resources.SharedAdapters(cfg.Adapters,
		cfg.Operator, cfg.Keeper)}
}

// Calls returns the number of calls in flight in all services that share s, the number that wait
// for a slot among them (Config.MaxCalls), and the number that wait for the rate limit of their
// provider.
func (s *Shared) Calls() (active, forSlot, forRate int) {
	active, forSlot = s.slots.Load()
	return active, forSlot, s.limiters.Waiting()
}
