package namespace

import (
	"cmp"
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
	// Maintain is called in its own goroutine for each opened service, including the default one,
	// and must return when ctx is done. All namespaces are then opened without a request, on start
	// and whenever a new one is found, so that their interrupted runs and schedules continue. If
	// nil, services are not maintained.
	Maintain func(ctx context.Context, name string, s *service.Service)
	// Idle returns until when a namespace has no work: no run that is not over, no schedule that is
	// due, no notification to send. A time that is not in the future means that it has some. A
	// namespace in a file that has no work and was not used for IdleAfter is closed, with its
	// files, until it is used or another process changes its store; at the returned time, and every
	// hour, it is opened for its background work. Nil means that namespaces stay open. IdleAfter 0
	// means DefaultIdleAfter.
	Idle      func(ctx context.Context, name string, s *service.Service) (until time.Time)
	IdleAfter time.Duration
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
	idle   map[string]idleNamespace // closed because they were idle
	done   chan struct{}            // closed when Close is done
	err    error                    // result of Close
}

// entry is a namespace whose service is open, or is being opened or closed.
type entry struct {
	at      store.Locator
	ready   chan struct{} // closed when service or err is set
	service *service.Service
	err     error
	// stop ends the background work, for which maintained waits.
	stop       context.CancelFunc
	maintained sync.WaitGroup
	// The other fields are guarded by Set.mu. users is the number of contexts that keep it open,
	// used the time at which the last of them ended. gone is nil unless it is being closed because
	// it is idle, and is closed when that is done. closing means that closeOne is at work.
	users   int
	used    time.Time
	gone    chan struct{}
	closing bool
}

// Open opens the default store and, if Config.Maintain is set, starts maintaining all namespaces.
// The caller must close the Set.
//
// Errors: those of service.Open.
func Open(ctx context.Context, cfg Config) (*Set, error) {
	if cfg.Service.Keeper == nil {
		cfg.Service.Keeper = &secret.Keeper{} // Shared refers to it
	}
	if cfg.Service.Logger == nil {
		cfg.Service.Logger = slog.New(slog.DiscardHandler)
	}
	cfg.IdleAfter = cmp.Or(cfg.IdleAfter, DefaultIdleAfter)
	log := slog.New(cfg.Service.Keeper.Handler(cfg.Service.Logger.Handler()))
	cfg.Service.Shared = service.Share(cfg.Service)
	s := &Set{cfg: cfg, log: log, opened: map[string]*entry{}, idle: map[string]idleNamespace{},
		done: make(chan struct{})}
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
	s.opened[access.DefaultNamespace] = e
	s.startBackground(access.DefaultNamespace, e)
	close(e.ready)
	if cfg.Maintain != nil {
		s.wg.Go(s.watch)
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
// Set, and may be used until ctx is done: after that, it may be closed (Config.Idle). A failed
// opening is retried by the next call.
//
// Errors: *access.InvalidError for an invalid name, access.ErrNoNamespace, ErrClosed, ctx's error
// while another call opens it; and those of service.Open.
func (s *Set) Service(ctx context.Context, name string) (*service.Service, error) {
	for {
		e, gone := s.find(ctx, name)
		if gone != nil {
			select {
			case <-gone:
				continue
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
		if e == nil {
			at, err := s.known(ctx, name)
			if err != nil {
				return nil, err
			}
			if e = s.begin(ctx, name, at); e == nil {
				continue
			}
		}
		select {
		case <-e.ready:
			return e.service, e.err
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// find returns the entry of a namespace that is open or being opened, which ctx then keeps open, or
// nil. While it is being closed, find returns what is closed at the end.
func (s *Set) find(ctx context.Context, name string) (e *entry, gone <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e = s.opened[name]
	switch {
	case s.closed:
		e = &entry{ready: make(chan struct{}), err: ErrClosed}
		close(e.ready)
	case e == nil:
	case e.gone != nil:
		return nil, e.gone
	default:
		s.use(ctx, e)
	}
	return e, nil
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

// begin opens a namespace in a goroutine. ctx keeps it open. It returns nil if another call has
// already started to, or if the Set is closed.
func (s *Set) begin(ctx context.Context, name string, at store.Locator) *entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.opened[name] != nil {
		return nil
	}
	e := &entry{at: at, ready: make(chan struct{})}
	s.opened[name] = e
	s.use(ctx, e)
	delete(s.idle, name)
	s.wg.Go(func() {
		defer close(e.ready)
		if e.service, e.err = service.Open(s.ctx, s.config(name, at)); e.err != nil {
			e.err = fmt.Errorf("open namespace %s: %w", name, e.err)
			s.mu.Lock()
			delete(s.opened, name)
			s.mu.Unlock()
			return
		}
		s.startBackground(name, e)
	})
	return e
}

// startBackground prepares a service and starts its background work. The caller must be counted by
// wg, or precede any Close.
func (s *Set) startBackground(name string, e *entry) {
	if s.cfg.Prepare != nil {
		s.cfg.Prepare(s.ctx, name, e.service)
	}
	ctx, stop := context.WithCancel(s.ctx)
	if e.stop = stop; s.cfg.Maintain == nil {
		return
	}
	e.maintained.Add(1)
	s.wg.Go(func() {
		defer e.maintained.Done()
		s.cfg.Maintain(ctx, name, e.service)
	})
}

// watch opens namespaces, and closes idle ones, until the Set is closed. A failure to open one is
// logged once per reason, and does not hold up the other namespaces.
func (s *Set) watch() {
	told := map[string]string{}
	tick := time.NewTicker(min(scanInterval, s.cfg.IdleAfter))
	defer tick.Stop()
	for {
		names, err := s.Names(s.ctx)
		if err != nil && s.ctx.Err() == nil {
			s.log.Warn("cannot list namespaces", "err", err)
		}
		for _, name := range names {
			if !s.mustOpen(name) {
				continue
			}
			if err := s.openOne(name); err != nil && s.ctx.Err() == nil && told[name] != err.Error() {
				told[name] = err.Error()
				s.log.Error("cannot open namespace", "namespace", name, "err", err)
			}
		}
		s.closeIdle()
		select {
		case <-tick.C:
		case <-s.ctx.Done():
			return
		}
	}
}

// openOne opens a namespace for its background work.
func (s *Set) openOne(name string) error {
	ctx, cancel := context.WithCancel(s.ctx)
	defer cancel()
	_, err := s.Service(ctx, name)
	return err
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

// Close ends the background work, interrupts the runs that the services execute, so that they can
// be resumed, and closes the services. Later calls of Service fail with ErrClosed; a second Close
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
