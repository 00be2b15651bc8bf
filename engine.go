package hocket

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"github.com/hocket-run/hocket/internal/config"
	"github.com/hocket-run/hocket/internal/driver/carry"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/secret"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/internal/session/llm"
	"github.com/hocket-run/hocket/internal/telemetry"
	"github.com/hocket-run/hocket/internal/telemetry/otlp"
	"github.com/hocket-run/hocket/internal/tool"
)

// Memory is the store that persists nothing: the default of [Config.DB].
const Memory = ":memory:"

// Config configures an [Engine]. The zero value is ready to use: a store in memory, API keys from
// the environment, no log.
type Config struct {
	// DB is the path of the store, a SQLite file that is created if it does not exist. Several
	// processes may use it concurrently. With package postgres it may also be the URL of a
	// PostgreSQL database. "" and [Memory] keep runs in memory only: they are lost with the engine,
	// and a run whose context is done is cancelled instead of interrupted.
	DB string
	// RetainRuns is how many ended runs a store in memory keeps, for [Engine.Get], [Engine.List],
	// [Engine.Watch], [Engine.Fork] and [SnapshotOf]. The runs that ended first are discarded
	// first; fewer are kept if they have more than 100,000 events in total. 0 means 1,000; a
	// negative number keeps none, for programs that need no record of ended runs. A run is kept
	// while it is active, while a call waits for it or reads it, and while its parent run is
	// active. A store in a file keeps all runs until they are pruned.
	RetainRuns int
	// Program is the name by which other tools, such as `hocket resume`, refer to this program; ""
	// means its module path, or the name of its file.
	Program string
	// Env looks up environment variables: API keys, HOCKET_MODEL. If nil, os.Getenv is used.
	Env func(name string) string
	// MaxCalls is the maximum number of concurrent calls of models, tools and node functions,
	// across all runs; 0 means 256.
	MaxCalls int
	// Logger receives errors from background work. If nil, they are discarded.
	Logger *slog.Logger
}

// Engine runs workflows over one store. Use [Open] to create one, and close it after use. It is
// safe for concurrent use.
type Engine struct {
	service *service.Service
	// dispatcher executes the runs; if nil, the engine drives them.
	dispatcher carry.Carrier
	program    string
	durable    bool
	log        *slog.Logger
	given      *settings
	// llm holds the model sessions by agent type, tools the tools that they may be granted.
	llm   map[string]llm.Config
	tools *tool.Set

	// subgraphs holds the graphs that other graphs may name.
	subgraphs subgraphs

	followers followers

	schedules schedules

	closing atomic.Bool

	mu      sync.Mutex
	graphs  map[string]*bound
	digests map[graphName]string
	// served holds the functions that end the streams of handlers.
	served []func()
}

// Open opens the store, creating its file and folders if they do not exist, and returns an engine
// on it. It starts nothing: see [Engine.Recover] for runs that a previous process left.
//
// It returns an error if an option or what it reads is invalid, if the store cannot be opened or
// was written by a newer Hocket, or if MaxCalls is negative.
func Open(ctx context.Context, cfg Config, options ...Option) (*Engine, error) {
	given, err := settingsOf(options)
	if err != nil {
		return nil, err
	}
	if problems := service.CheckAgents(given.agents); problems.HasErrors() {
		return nil, problems.Err()
	}
	if err := given.lacking(); err != nil {
		return nil, err
	}
	sc := service.Config{Keeper: &secret.Keeper{}}
	if given.Store != nil {
		if cfg.DB != "" && given.Store.URL != "" {
			return nil, errors.New("Config.DB and the URL of a store are both given")
		}
		sc.Stores, cfg.DB = given.Store.Servers, cmp.Or(cfg.DB, given.Store.URL)
	}
	if given.config != "" {
		if err := sc.ReadOperator(given.config); err != nil {
			return nil, err
		}
		cfg.DB = cmp.Or(cfg.DB, sc.Operator.Store.Path)
	}
	if given.Store != nil && cfg.DB == "" {
		return nil,
			errors.New("the store has no URL: give it to postgres.Open, in Config.DB, or in store.path of WithConfig")
	}
	e := &Engine{
		program: cmp.Or(cfg.Program, programName()), durable: cfg.DB != "" && cfg.DB != Memory, log: cfg.Logger,
		graphs: map[string]*bound{}, digests: map[graphName]string{}, given: given,
	}
	for i := range given.tools {
		given.tools[i].engine = e
	}
	if e.log == nil {
		e.log = slog.New(slog.DiscardHandler)
	}
	sc.DB, sc.Kind, sc.Env, sc.MaxCalls, sc.Logger, sc.Program, sc.RetainRuns = cmp.Or(cfg.DB, Memory),
		journal.KindProgram, cfg.Env, cfg.MaxCalls, cfg.Logger, e.program, cfg.RetainRuns
	sc.Functions, sc.Tools, sc.Models, sc.Adapters, sc.Agents = e.functionsOf, given.internalTools(), given.models,
		given.Adapters, given.agents
	sc.Documents, sc.Pages, sc.Telemetry = given.Documents, given.Pages, given.telemetryConfig(sc, e.log)
	if err := e.connect(ctx, &sc); err != nil {
		return nil, err
	}
	if e.service, err = service.Open(ctx, sc); err != nil {
		e.disconnect()
		return nil, err
	}
	if err := e.openSessions(sc.Operator); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return e, nil
}

// connect connects to the service that executes the runs, if there is one.
func (e *Engine) connect(ctx context.Context, sc *service.Config) (err error) {
	given := e.given.Carrier
	if given == nil {
		return nil
	}
	settings := given.Settings
	if sc.Operator != nil && settings == (config.Temporal{}) {
		settings = sc.Operator.Temporal
	}
	env := sc.Env
	if env == nil {
		env = os.Getenv
	}
	e.dispatcher, err = given.Connect(carry.Config{Settings: settings, Program: e.program,
		Secret: secret.Resolver{Env: env, Keeper: sc.Keeper}.Value, Logger: e.log})
	if err != nil {
		return err
	}
	sc.Carrier = e.dispatcher
	_ = e.dispatcher.Prepare(ctx) // it logs errors, and is retried
	return nil
}

func (e *Engine) disconnect() {
	if e.dispatcher != nil {
		e.dispatcher.Close()
	}
}

// programName returns the default name of this program.
func programName() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Path != "" && info.Path != "command-line-arguments" {
		return info.Path
	}
	return filepath.Base(os.Args[0])
}

// Close interrupts the active runs, so that they can be resumed if they are persisted, and closes
// the store. It waits up to ten seconds for functions that were told to stop. Later calls on the
// engine fail with [ErrClosed].
func (e *Engine) Close() error {
	e.closing.Store(true)
	defer e.disconnect()
	e.endStreams()
	return e.service.Close()
}

// Recover resumes the runs that a previous process of this program left when it died, of documents
// and of graphs that are already registered, including runs whose waits were answered from outside
// in the meantime. It returns once they have resumed. Runs that cannot continue here are logged and
// left alone; other paused runs wait for their answers. Call it after the calls of [Register].
// [Engine.Work] does the same repeatedly.
func (e *Engine) Recover(ctx context.Context) error {
	q := journal.Query{Kind: journal.KindProgram, Interrupted: true, Limit: 1000}
	for {
		heads, next, err := e.service.List(ctx, q)
		if err != nil {
			return known(err)
		}
		for _, h := range heads {
			if h.Meta[service.MetaProgram] != e.program {
				continue
			}
			err := e.service.Resume(ctx, h.Run)
			switch {
			case ctx.Err() != nil:
				return ctx.Err()
			case err != nil && !errors.Is(err, journal.ErrOwned):
				e.log.Warn("cannot recover run", "run", h.Run, "err", err)
			}
		}
		if q.Cursor = next; next == "" {
			return known(e.service.TakeAnswers(ctx))
		}
	}
}

// Work picks up abandoned work until ctx is done or the engine is closed. It resumes runs of this
// program whose process died, which is noticed within five seconds, or has sent no heartbeat for
// half a minute; it resumes runs whose waits were answered from outside, by `hocket resume` or a
// server, which is noticed within a second; and it fires the deadlines of runs that other processes
// left paused. It resumes runs of documents and of registered graphs, including graphs registered
// after Work was called. Runs that this engine interrupted, because a context was done or a stream
// was abandoned, stay interrupted until [Engine.Resume]; other processes of the program treat them
// as abandoned.
//
// As soon as a schedule is registered, Work also starts the runs of the schedules passed to
// [Register]. One process of the program does so at a time, independently of document schedulers
// and of other programs on the store. A schedule in the store that this process has not registered
// within a minute of starting to run schedules is deleted.
//
// Several processes of a program may work on one store; each run executes in one of them. Failures
// are logged and retried. Work is safe for concurrent use, and must be called only once. It returns
// [ErrClosed] if the engine was closed before ctx was done.
func (e *Engine) Work(ctx context.Context) error {
	scheduling, stop := context.WithCancel(ctx)
	defer stop()
	var wg sync.WaitGroup
	wg.Go(func() { e.startScheduled(scheduling) })
	e.service.Work(ctx)
	stop()
	wg.Wait()
	if ctx.Err() == nil && e.closing.Load() {
		return ErrClosed
	}
	return nil
}

// Checkpointer saves the states of runs under labels. A run does not need one: the engine's store
// holds everything that a resume needs, and [Engine.Fork] can start at any of its positions.
//
// Implementations must be safe for concurrent use; ids and labels are arbitrary strings. Package
// graph/compat has three implementations, which also load states by label.
type Checkpointer interface {
	// Save saves a state under a label as the newest one, replacing any state with the same label.
	// "" means the first free label of the form `checkpoint_<n>`. state is JSON and remains owned
	// by the caller.
	Save(ctx context.Context, execution string, state json.RawMessage, label string) error
}

// OTLP specifies where an engine sends OpenTelemetry traces and metrics. OpenTelemetry's standard
// variables, such as OTEL_EXPORTER_OTLP_ENDPOINT and OTEL_SERVICE_NAME, are read through
// [Config.Env] and take precedence over all fields. The zero OTLP uses only the variables; if
// neither sets an address, nothing is sent.
type OTLP struct {
	// Endpoint is the address of a collector that speaks OTLP over HTTP, such as
	// `http://localhost:4318`; "" means the address in the variables.
	Endpoint string
	// Headers are sent with each request; may be nil.
	Headers map[string]string
	// Service is service.name; "" means hocket.
	Service string
	// Content includes prompts, answers, arguments, results and error messages in the exported
	// data; if false, they are omitted.
	Content bool
}

// WithTelemetry sends traces and metrics of all runs that the engine drives, of graphs and of
// documents, following the GenAI conventions. A run is one trace, even if it is resumed by another
// process with this option; a collector that does not respond never fails a run.
// [RunOptions.Telemetry] is independent of it and creates spans in the program's own SDK. If the
// option is passed twice, the last one applies. [Open] returns an error if Endpoint is not an HTTP
// address. Invalid variables are logged.
func WithTelemetry(o OTLP) Option {
	return option(func(s *settings) {
		c := otlp.Config{Service: o.Service, Content: o.Content}
		if o.Endpoint != "" {
			u, err := url.Parse(o.Endpoint)
			if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
				s.problemf("the telemetry endpoint is not an HTTP address, such as http://localhost:4318")
				return
			}
			c.Traces = otlp.Target{URL: u.JoinPath("v1/traces").String(), Headers: o.Headers}
			c.Metrics = otlp.Target{URL: u.JoinPath("v1/metrics").String(), Headers: o.Headers}
		}
		s.telemetry = &c
	})
}

// telemetryConfig returns the service's telemetry configuration, or nil if nothing is to be sent.
func (s *settings) telemetryConfig(cfg service.Config, log *slog.Logger) *telemetry.Config {
	base := s.telemetry
	if base == nil {
		if cfg.Operator == nil || cfg.Operator.Telemetry.Endpoint == "" {
			return nil
		}
		base = new(service.OperatorTelemetry(cfg.Operator, otlp.Config{}))
	}
	t, err := service.Exporter(*base, cfg.Env, cfg.Keeper, log)
	if err != nil {
		log.Warn("telemetry variable ignored", "err", err)
	}
	return t
}
