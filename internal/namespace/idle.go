package namespace

import (
	"context"
	"os"
	"time"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/service"
)

// Times of idle namespaces.
const (
	// DefaultIdleAfter is how long a namespace must be unused before it may be closed, if
	// Config.IdleAfter is 0.
	DefaultIdleAfter = 5 * time.Minute
	// maxClosed is how long a namespace stays closed at most, so that its retention is applied.
	maxClosed = time.Hour
)

// IfOpen returns the service of a namespace if it is open, and nil otherwise. The service may be
// used until ctx is done, which keeps it open; it does not count as a use of the namespace, so that
// watching alone does not keep it from being idle.
func (s *Set) IfOpen(ctx context.Context, name string) *service.Service {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.opened[name]
	if s.closed || e == nil || e.gone != nil || !e.isReady() || e.err != nil {
		return nil
	}
	s.keep(ctx, e, e.used)
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

// use keeps a namespace open until ctx is done, and counts as its last use then. The caller must
// hold mu.
func (s *Set) use(ctx context.Context, e *entry) { s.keep(ctx, e, time.Time{}) }

// keep keeps a namespace open until ctx is done. used is its last use then; zero means that time.
func (s *Set) keep(ctx context.Context, e *entry, used time.Time) {
	e.users++
	context.AfterFunc(ctx, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		e.users--
		if used.IsZero() {
			e.used = time.Now()
		}
	})
}

// idleNamespace describes a namespace that was closed: when it must be opened again, and its files
// when it was closed.
type idleNamespace struct {
	until time.Time
	files map[string]os.FileInfo
}

// mustOpen reports whether the namespace must be opened: it is time to, or another process changed
// its store.
func (r idleNamespace) mustOpen(now time.Time) bool {
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
	r, isIdle := s.idle[name]
	s.mu.Unlock()
	return !isOpen && (!isIdle || r.mustOpen(time.Now()))
}

// closeIdle closes the namespaces that are unused and have no work. None waits for another.
func (s *Set) closeIdle() {
	if s.cfg.Idle == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, e := range s.opened {
		if !e.closing && s.isUnused(name, e) {
			e.closing = true
			s.wg.Go(func() { s.closeOne(name, e) })
		}
	}
}

// isUnused reports whether an open namespace has not been used lately. The default one has the tokens
// of all and stays open, and only stores in files of their own are closed. The caller must hold mu.
func (s *Set) isUnused(name string, e *entry) bool {
	return name != access.DefaultNamespace && e.gone == nil && e.isReady() && e.err == nil && e.users == 0 &&
		time.Since(e.used) >= s.cfg.IdleAfter && !e.at.IsMemory() && e.at.URL() == nil
}

// closeOne closes a namespace if it has no work, until it is used or must be opened again.
func (s *Set) closeOne(name string, e *entry) {
	isIdle := time.Now().Before(s.cfg.Idle(s.ctx, name, e.service))
	s.mu.Lock()
	if !isIdle || !s.isUnused(name, e) { // it was used meanwhile
		e.closing = false
		s.mu.Unlock()
		return
	}
	e.gone = make(chan struct{})
	s.mu.Unlock()

	e.stop()
	e.maintained.Wait()
	// What its background work has started meanwhile continues when it is opened again.
	r := idleNamespace{until: s.cfg.Idle(context.WithoutCancel(s.ctx), name, e.service),
		files: map[string]os.FileInfo{}}
	if most := time.Now().Add(maxClosed); r.until.After(most) {
		r.until = most
	}
	if err := e.service.Close(); err != nil {
		s.log.Warn("cannot close idle namespace", "namespace", name, "err", err)
	}
	db := e.at.String()
	for _, path := range []string{db, db + "-wal"} {
		r.files[path], _ = os.Stat(path) // nil stands for a file that is not there
	}
	s.mu.Lock()
	delete(s.opened, name)
	s.idle[name] = r
	s.mu.Unlock()
	close(e.gone)
	s.log.Debug("idle namespace closed", "namespace", name, "until", r.until)
}
