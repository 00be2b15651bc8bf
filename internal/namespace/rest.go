package namespace

import (
	"context"
	"os"
	"time"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/service"
)

// Times of namespaces that nothing uses.
const (
	// DefaultIdleAfter is how long a namespace must be unused before it may be closed, if
	// Config.IdleAfter is 0.
	DefaultIdleAfter = 5 * time.Minute
	// maxRest is how long a namespace stays closed at most, so that its retention is applied.
	maxRest = time.Hour
)

// Awake returns the service of a namespace if it is open, and nil otherwise. The service may be
// used until ctx is done, which keeps it open.
func (s *Set) Awake(ctx context.Context, name string) *service.Service {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.opened[name]
	if s.closed || e == nil || e.gone != nil || !e.isReady() || e.err != nil {
		return nil
	}
	s.use(ctx, e)
	return e.service
}

func (e *entry) isReady() bool {
	select {
	case <-e.ready:
		return true
	default:
		return false
	}
}

// use keeps a namespace open until ctx is done. The caller must hold mu.
func (s *Set) use(ctx context.Context, e *entry) {
	e.users++
	context.AfterFunc(ctx, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		e.users--
		e.used = time.Now()
	})
}

// rest describes a closed namespace: when it must be opened again, and its files when it was
// closed.
type rest struct {
	until time.Time
	files map[string]os.FileInfo
}

// mustWake reports whether the namespace must be opened: it is time to, or another process changed
// its store.
func (r rest) mustWake(now time.Time) bool {
	if !now.Before(r.until) {
		return true
	}
	for path, was := range r.files {
		is, err := os.Stat(path)
		switch {
		case err != nil && was == nil:
		case err != nil || was == nil || !os.SameFile(is, was) || is.Size() != was.Size() ||
			!is.ModTime().Equal(was.ModTime()):
			return true
		}
	}
	return false
}

// mustOpen reports whether a namespace is closed and has a reason to be opened.
func (s *Set) mustOpen(name string) bool {
	s.mu.Lock()
	isOpen := s.opened[name] != nil
	r, isResting := s.resting[name]
	s.mu.Unlock()
	return !isOpen && (!isResting || r.mustWake(time.Now()))
}

// closeIdle closes the namespaces that nobody uses and that have no work.
func (s *Set) closeIdle() {
	if s.cfg.Idle == nil {
		return
	}
	s.mu.Lock()
	var idle []string
	for name, e := range s.opened {
		if s.isUnused(name, e) {
			idle = append(idle, name)
		}
	}
	s.mu.Unlock()
	for _, name := range idle {
		s.closeOne(name)
	}
}

// isUnused reports whether nobody has used an open namespace lately. The default one has the tokens
// of all and stays open, and only stores in files of their own are closed. The caller must hold mu.
func (s *Set) isUnused(name string, e *entry) bool {
	return name != access.DefaultNamespace && e.gone == nil && e.isReady() && e.err == nil && e.users == 0 &&
		time.Since(e.used) >= s.cfg.IdleAfter && !e.at.IsMemory() && e.at.URL() == nil
}

// closeOne closes a namespace if it has no work, until it is used or must be opened again.
func (s *Set) closeOne(name string) {
	s.mu.Lock()
	e := s.opened[name]
	s.mu.Unlock()
	if until := s.cfg.Idle(s.ctx, name, e.service); !time.Now().Before(until) {
		return
	}
	s.mu.Lock()
	if !s.isUnused(name, e) { // it was used meanwhile
		s.mu.Unlock()
		return
	}
	e.gone = make(chan struct{})
	s.mu.Unlock()

	e.stop()
	e.maintained.Wait()
	// What its schedules and notifications have started meanwhile continues when it is opened again.
	r := rest{until: s.cfg.Idle(context.WithoutCancel(s.ctx), name, e.service), files: map[string]os.FileInfo{}}
	if most := time.Now().Add(maxRest); r.until.After(most) {
		r.until = most
	}
	if err := e.service.Close(); err != nil {
		s.log.Warn("cannot close idle namespace", "namespace", name, "err", err)
	}
	db := e.at.String()
	for _, path := range []string{db, db + "-wal"} {
		r.files[path], _ = os.Stat(path) //nolint:errcheck // nil stands for a file that is not there
	}
	s.mu.Lock()
	delete(s.opened, name)
	s.resting[name] = r
	s.mu.Unlock()
	close(e.gone)
	s.log.Debug("idle namespace closed", "namespace", name, "until", r.until)
}
