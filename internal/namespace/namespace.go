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

// ErrClosed is returned after the Set was closed.
var ErrClosed = fmt.Errorf("%w: the server is shutting down", service.ErrUnavailable)

// scanInterval is how often a Set with Maintain checks for namespaces created by another process.
const scanInterval = 30 * time.Second

// Config holds the settings of a Set.
type Config struct {
	// Service is the configuration of every service; its DB names the default store. The Set closes
	// Telemetry's exporter.
	Service service.Config
	// Prepare is called for each opened service, including the default one, before any caller
	// receives it. Nil means no preparation.
	Prepare func(ctx context.Context, name string, s *service.Service)
	// Maintain is called in its own goroutine for each opened service, including the default one, and
	// must return when ctx is done. All namespaces are then opened without a request, on start and
	// whenever a new one is found, so that their interrupted runs and schedules continue. If nil,
	// services are not tended.
	Maintain func(ctx context.Context, name string, s *service.Service)
}

// Set is the services of all namespaces of a process. It is safe for concurrent use.
type Set struct {
	cfg     Config
	log     *slog.Logger
	home    *store.Home        // of the default namespace
	tenants *telemetry.Tenants // nil without telemetry

	// ctx ends when Close starts.
	ctx  context.Context //nolint:containedctx,nolintlint // what is opened belongs to the Set, not to who asked first
	stop context.CancelFunc
	wg   sync.WaitGroup

	mu     sync.Mutex
	closed bool
	opened map[string]*entry
	done   chan struct{} // closed when Close is done
	err    error         // result of Close
}

// entry is a namespace whose service is open, or is being opened.
type entry struct {
	ready   chan struct{} // closed when one of the other fields is set
	service *service.Service
	err     error
}

// Open opens the default store and, if Config.Maintain is set, starts maintaining all namespaces. The
// caller must close the Set.
//
// Errors: those of service.Open.
func Open(ctx context.Context, cfg Config) (*Set, error) {
	if cfg.Service.Keeper == nil {
		cfg.Service.Keeper = &secret.Keeper{} // Shared refers to it
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
	s.startBackground(access.DefaultNamespace, first)
	if cfg.Maintain != nil {
		s.wg.Go(s.openAll)
	}
	return s, nil
}

// config returns the service configuration for a namespace.
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

// Store returns the store of tokens, namespaces and the audit log. It is valid as long as the Set
// is open.
func (s *Set) Store() store.Access { return s.home.Access }

// DB returns the path of the default store, its URL without the password, or service.Memory.
func (s *Set) DB() string { return s.home.Locator().String() }

// Names returns the sorted names of all namespaces.
func (s *Set) Names(ctx context.Context) ([]string, error) { return s.home.Access.Namespaces(ctx) }

// Service returns the service of a namespace, and opens it if necessary. The service belongs to the
// Set. A failed opening is retried by the next call.
//
// Errors: *access.InvalidError for an invalid name, access.ErrNoNamespace, ErrClosed, ctx's error
// while another call opens it; and those of service.Open.
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

// find returns the entry of a namespace that is already open, or nil.
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

// known returns the location of the store of an existing namespace.
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

// begin opens a namespace in a goroutine, unless another call has already started to. It returns
// nil if the Set is closed.
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
		s.startBackground(name, e.service)
	})
	return e
}

// startBackground prepares a service and starts its background work. The caller must be counted by
// wg, or precede any Close.
func (s *Set) startBackground(name string, of *service.Service) {
	if s.cfg.Prepare != nil {
		s.cfg.Prepare(s.ctx, name, of)
	}
	if s.cfg.Maintain != nil {
		s.wg.Go(func() { s.cfg.Maintain(s.ctx, name, of) })
	}
}

// openAll opens namespaces until the Set is closed. A failure to open one is logged once per
// reason, and does not hold up the other namespaces.
func (s *Set) openAll() {
	told := map[string]string{}
	tick := time.NewTicker(scanInterval)
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

// Drain stops all services from starting calls of runs, and returns when none is in progress, or
// ctx is done. Close follows.
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

// Close ends the tending, interrupts the runs that the services execute, so that they can be
// resumed, and closes the services. Later calls of Service fail with ErrClosed; a second Close
// waits for the first and returns its error.
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

	// From here on no other goroutine accesses opened. The default store is closed last: it has the
	// audit log.
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
