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

// Memory is the store that keeps nothing: the default of [Config.DB].
const Memory = ":memory:"

// Config is what an [Engine] is made of. The zero value is good: a store in memory, keys of models from the environment, no log.
type Config struct {
	// DB is the path of the store, a SQLite file that is made where it is not there. Several processes may use one at once. With package postgres it may also be the URL of a
	// PostgreSQL database. "" and [Memory] keep runs in memory alone: they are gone with the engine, and a run whose context is done is cancelled instead of interrupted.
	DB string
	// RetainRuns is how many ended runs a store in memory keeps, for [Engine.Get], [Engine.List], [Engine.Watch], [Engine.Fork] and [SnapshotOf]; those that ended first go
	// first, and sooner where they have more than 100,000 events together. 0 is 1,000; a negative number keeps none, for programs that need no record of ended runs. A
	// run is kept while it goes on, while a call waits for it or reads it, and while the run that started it goes on. A store in a file keeps all runs until they are pruned.
	RetainRuns int
	// Program is the name under which other people's tools, such as `hocket resume`, refer to this program; "" is its module path, or the name of its file.
	Program string
	// Env looks up variables of the environment: keys of models, HOCKET_MODEL. Nil is os.Getenv.
	Env func(name string) string
	// MaxCalls bounds the calls of models, tools and node functions that are under way at once, over all runs; 0 is 256.
	MaxCalls int
	// Logger gets errors of background work; nil: dropped.
	Logger *slog.Logger
}

// Engine runs workflows over one store. Make one with [Open] and close it. Safe for concurrent use.
type Engine struct {
	service *service.Service
	// carrier carries the runs; nil: the engine drives them.
	carrier carry.Carrier
	program string
	durable bool
	log     *slog.Logger
	given   *settings
	// llm are the sessions with models by agent type, tools what they may be granted.
	llm   map[string]llm.Config
	tools *tool.Set

	// subgraphs are the graphs that others may name.
	subgraphs subgraphs

	followers followers

	schedules schedules

	closing atomic.Bool

	mu      sync.Mutex
	graphs  map[string]*bound
	digests map[graphName]string
	// served are the functions that end the streams of handlers.
	served []func()
}

// Open opens the store, makes its file and folders where they are not there, and makes an engine on it. It starts nothing: see [Engine.Recover] for runs that a former process left.
//
// Errors: an option cannot be, or what it reads; the store cannot be opened; it was written by a newer Hocket; MaxCalls is negative.
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
		return nil, errors.New("the store has no URL: give it to postgres.Open, in Config.DB, or in store.path of WithConfig")
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
	sc.DB, sc.Kind, sc.Env, sc.MaxCalls, sc.Logger, sc.Program, sc.RetainRuns = cmp.Or(cfg.DB, Memory), journal.KindProgram, cfg.Env, cfg.MaxCalls, cfg.Logger, e.program, cfg.RetainRuns
	sc.Functions, sc.Tools, sc.Models, sc.Adapters, sc.Agents = e.functionsOf, given.internalTools(), given.models, given.Adapters, given.agents
	sc.Documents, sc.Pages, sc.Telemetry = given.Documents, given.Pages, given.exporting(sc, e.log)
	if err := e.connect(ctx, &sc); err != nil {
		return nil, err
	}
	if e.service, err = service.Open(ctx, sc); err != nil {
		e.disconnect()
		return nil, err
	}
	if err := e.openSessions(); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return e, nil
}

// connect connects to what carries the runs, where there is one.
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
	e.carrier, err = given.Connect(carry.Config{Settings: settings, Program: e.program, Secret: secret.Resolver{Env: env, Keeper: sc.Keeper}.Value, Logger: e.log})
	if err != nil {
		return err
	}
	sc.Carrier = e.carrier
	_ = e.carrier.Prepare(ctx) // it logs what is wrong, and is tried again
	return nil
}

func (e *Engine) disconnect() {
	if e.carrier != nil {
		e.carrier.Close()
	}
}

// programName is how this program is called where no name was given.
func programName() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Path != "" && info.Path != "command-line-arguments" {
		return info.Path
	}
	return filepath.Base(os.Args[0])
}

// Close interrupts the runs that go on, so that they can be resumed where there is a store, and closes it. It waits up to ten seconds for functions that
// were told to stop. Calls of the engine after it fail with [ErrClosed].
func (e *Engine) Close() error {
	e.closing.Store(true)
	defer e.disconnect()
	e.endStreams()
	return e.service.Close()
}

// Recover takes up the runs that a former process of this program left when it died, of documents and of graphs that are registered by now, and returns
// when they go on, those too whose waits were answered from outside meanwhile. Runs that cannot go on here are logged and left alone; other paused runs wait for their answers.
// Call it after the calls of [Register]. [Engine.Work] does the same again and again.
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

// Work takes up what others leave behind, until ctx is done or the engine is closed: runs of this program whose process died, which is noticed within five seconds, or has given no sign of life for
// half a minute, and runs whose waits were answered from outside, by `hocket resume` or a server, which is noticed within a second; and it fires the deadlines of runs that others left paused. It goes on with runs of documents and of graphs that are
// registered, also after it began. Runs that this engine interrupted, because a context was done or a stream was left, stay so until [Engine.Resume]; to another process of the program
// they are runs that were left.
//
// It starts the runs of the schedules that [Register] was given, from the first one on: one process of the program at a time does, beside schedulers of documents and other programs on the store.
// A schedule that is registered in the store, and that this process has not registered a minute after it began to start them, is forgotten.
//
// Several processes of a program may work on one store; each run goes on in one of them. What goes wrong is logged and tried again. Safe for concurrent use, and to be called once. Errors:
// [ErrClosed] where the engine was closed before ctx was done.
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

// Checkpointer is given the states of runs, to keep them under labels (S2-65). A run goes on without one: the engine's store holds all that a resume needs, and
// [Engine.Fork] begins at any of its positions.
//
// Implementations are safe for concurrent use; ids and labels are any text. Package graph/compat has three, which give states back by label too.
type Checkpointer interface {
	// Save keeps a state under a label, in place of one that has the label already, as the newest. "" is the first free of `checkpoint_<n>`. state is
	// JSON; it stays the caller's.
	Save(ctx context.Context, execution string, state json.RawMessage, label string) error
}

// OTLP says where an engine sends OpenTelemetry traces and metrics. OpenTelemetry's standard variables, such as OTEL_EXPORTER_OTLP_ENDPOINT and OTEL_SERVICE_NAME, are
// read by [Config.Env] and win over all fields: the zero OTLP is them alone, and where neither gives an address nothing is sent.
type OTLP struct {
	// Endpoint is the address of a collector that speaks OTLP over HTTP, `http://localhost:4318`; "": that of the variables.
	Endpoint string
	// Headers go with each request; nil: none.
	Headers map[string]string
	// Service is service.name; "": hocket.
	Service string
	// Content lets prompts, answers, arguments, results and texts of errors out; false keeps them in.
	Content bool
}

// WithTelemetry sends traces and metrics of all runs that the engine drives, of graphs and of documents, by the GenAI conventions. A run is one trace, also where it is resumed by
// another process with this option (P35); a collector that does not answer fails no run. [RunOptions.Telemetry] is beside it, for spans in the program's own SDK. Where the option is
// given twice, the last one counts. Errors, of [Open]: Endpoint is no http address. Variables that cannot be used are logged.
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

// exporting gives what the service is to send, nil for nothing.
func (s *settings) exporting(cfg service.Config, log *slog.Logger) *telemetry.Config {
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
