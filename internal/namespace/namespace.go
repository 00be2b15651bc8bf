package namespace

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/secret"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/internal/store"
	"github.com/hocket-run/hocket/internal/telemetry"
)

// ErrClosed says that the Set was closed.
var ErrClosed = fmt.Errorf("%w: the server is shutting down", service.ErrUnavailable)

// lookEvery is how often a Set that tends looks for namespaces that another process made.
const lookEvery = 30 * time.Second

// Config is what a Set is made of.
type Config struct {
	// Service is what every service is made of; its DB names the default store. Telemetry's exporter is closed by the Set.
	Service service.Config
	// Prepare is called for each service that was opened, the default one included, before anyone is given it. Nil: nothing is prepared.
	Prepare func(ctx context.Context, name string, s *service.Service)
	// Tend is called in a goroutine of its own for each service that was opened, the default one included, and returns when ctx is done. All namespaces are then opened
	// without being asked for, at once and whenever a new one is found, so that interrupted runs and schedules of each go on. Nil: they are left alone.
	Tend func(ctx context.Context, name string, s *service.Service)
}

// Set is the services of all namespaces of a process. Safe for concurrent use.
type Set struct {
	cfg     Config
	log     *slog.Logger
	home    *store.Home        // of the default namespace
	tenants *telemetry.Tenants // nil: there is no telemetry

	// ctx ends when Close begins.
	ctx  context.Context //nolint:containedctx,nolintlint // what is opened belongs to the Set, not to who asked first
	stop context.CancelFunc
	wg   sync.WaitGroup

	mu     sync.Mutex
	closed bool
	opened map[string]*entry
	done   chan struct{} // closed when Close is done
	err    error         // of Close
}

// entry is a namespace whose service is open, or is being opened.
type entry struct {
	ready   chan struct{} // closed when one of the others is set
	service *service.Service
	err     error
}

// Open opens the default store and, where Config.Tend is set, begins to tend all namespaces. Close it.
//
// Errors: those of service.Open.
func Open(ctx context.Context, cfg Config) (*Set, error) {
	if cfg.Service.Keeper == nil {
		cfg.Service.Keeper = &secret.Keeper{} // what is shared knows one
	}
	if cfg.Service.Logger == nil {
		cfg.Service.Logger = slog.New(slog.DiscardHandler)
	}
	log := slog.New(cfg.Service.Keeper.Handler(cfg.Service.Logger.Handler()))
	cfg.Service.Shared = service.Share(cfg.Service)
	s := &Set{cfg: cfg, log: log, opened: map[string]*entry{}, done: make(chan struct{})}
	if cfg.Service.Telemetry != nil {
		s.tenants = telemetry.Among(cfg.Service.Telemetry.Exporter)
	}
	first, err := service.Open(ctx, s.config(access.DefaultNamespace, cfg.Service.At))
	if err != nil {
		return nil, err
	}
	s.ctx, s.stop = context.WithCancel(context.WithoutCancel(ctx))
	s.home = first.Home()
	e := &entry{ready: make(chan struct{}), service: first}
	close(e.ready)
	s.opened[access.DefaultNamespace] = e
	s.tend(access.DefaultNamespace, first)
	if cfg.Tend != nil {
		s.wg.Go(s.look)
	}
	return s, nil
}

// config gives what the service of a namespace is made of.
func (s *Set) config(name string, at store.Locator) service.Config {
	cfg := s.cfg.Service
	cfg.At = at
	if s.tenants != nil {
		t := *cfg.Telemetry
		t.Exporter = s.tenants.Of(name)
		cfg.Telemetry = &t
	}
	return cfg
}

// Store gives where tokens, namespaces and the audit log are kept, as long as the Set is open.
func (s *Set) Store() store.Access { return s.home.Access }

// DB is the path of the default store, its URL without the password, or service.Memory.
func (s *Set) DB() string { return s.home.Locator().String() }

// Names gives the names of all namespaces, sorted.
func (s *Set) Names(ctx context.Context) ([]string, error) { return s.home.Access.Namespaces(ctx) }

// Service gives the service of a namespace, and opens it where it is not open yet. It belongs to the Set. An opening that failed is tried again by the next call.
//
// Errors: *access.InvalidError for what is no name, access.ErrNoNamespace, ErrClosed, ctx's while another call opens it; those of service.Open.
func (s *Set) Service(ctx context.Context, name string) (*service.Service, error) {
	e := s.find(name)
	if e == nil {
		at, err := s.known(ctx, name)
		if err != nil {
			return nil, err
		}
		if e = s.begin(name, at); e == nil {
			return nil, ErrClosed
		}
	}
	select {
	case <-e.ready:
		return e.service, e.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// find gives what is open already; nil where nothing is.
func (s *Set) find(name string) *entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		e := &entry{ready: make(chan struct{}), err: ErrClosed}
		close(e.ready)
		return e
	}
	return s.opened[name]
}

// known gives where the store of a namespace that exists is.
func (s *Set) known(ctx context.Context, name string) (store.Locator, error) {
	at, err := s.home.Locator().Namespace(name)
	if err != nil {
		return store.Locator{}, err
	}
	names, err := s.home.Access.Namespaces(ctx)
	switch {
	case err != nil:
		return store.Locator{}, err
	case !slices.Contains(names, name):
		return store.Locator{}, access.ErrNoNamespace
	}
	return at, nil
}

// begin opens a namespace in a goroutine, unless another call has begun to; nil where the Set is closed.
func (s *Set) begin(name string, at store.Locator) *entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	if e := s.opened[name]; e != nil {
		return e
	}
	e := &entry{ready: make(chan struct{})}
	s.opened[name] = e
	s.wg.Go(func() {
		defer close(e.ready)
		if e.service, e.err = service.Open(s.ctx, s.config(name, at)); e.err != nil {
			e.err = fmt.Errorf("open namespace %s: %w", name, e.err)
			s.mu.Lock()
			delete(s.opened, name)
			s.mu.Unlock()
			return
		}
		s.tend(name, e.service)
	})
	return e
}

// tend prepares a service and has it tended. The caller is counted by wg, or comes before any Close.
func (s *Set) tend(name string, of *service.Service) {
	if s.cfg.Prepare != nil {
		s.cfg.Prepare(s.ctx, name, of)
	}
	if s.cfg.Tend != nil {
		s.wg.Go(func() { s.cfg.Tend(s.ctx, name, of) })
	}
}

// look opens namespaces until the Set is closed. One that cannot be opened is told once for each reason, and keeps no other one back.
func (s *Set) look() {
	told := map[string]string{}
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		names, err := s.Names(s.ctx)
		if err != nil && s.ctx.Err() == nil {
			s.log.Warn("cannot list namespaces", "err", err)
		}
		for _, name := range names {
			_, err := s.Service(s.ctx, name)
			if err != nil && s.ctx.Err() == nil && told[name] != err.Error() {
				told[name] = err.Error()
				s.log.Error("cannot open namespace", "namespace", name, "err", err)
			}
		}
		select {
		case <-tick.C:
		case <-s.ctx.Done():
			return
		}
	}
}

// Drain has all services begin no call of a run any more, and returns when none is in progress, or ctx is done. Close follows.
func (s *Set) Drain(ctx context.Context) {
	var wg sync.WaitGroup
	s.mu.Lock()
	for _, e := range s.opened {
		wg.Go(func() {
			if <-e.ready; e.service != nil {
				e.service.Drain(ctx)
			}
		})
	}
	s.mu.Unlock()
	wg.Wait()
}

// Close ends the tending, interrupts what the services drive, so that it can be resumed, and closes them. Later calls of Service fail with ErrClosed; a second Close
// waits for the first and gives its error.
func (s *Set) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		<-s.done
		return s.err
	}
	s.closed = true
	s.mu.Unlock()
	s.stop()
	s.wg.Wait()

	// From here on no other goroutine touches opened. The default store goes last: it has the audit log.
	var (
		wg   sync.WaitGroup
		mu   sync.Mutex
		errs []error
	)
	for name, e := range s.opened {
		if name != access.DefaultNamespace {
			wg.Go(func() {
				if err := e.service.Close(); err != nil {
					mu.Lock()
					defer mu.Unlock()
					errs = append(errs, fmt.Errorf("close namespace %s: %w", name, err))
				}
			})
		}
	}
	wg.Wait()
	s.err = errors.Join(append(errs, s.opened[access.DefaultNamespace].service.Close())...)
	if s.tenants != nil {
		s.tenants.Close()
	}
	close(s.done)
	return s.err
}
