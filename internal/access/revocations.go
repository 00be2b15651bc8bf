package access

import (
	"context"
	"errors"
	"sync"
	"time"
)

// ErrRevoked is the cause of contexts whose token was revoked or has expired.
var ErrRevoked = errors.New("the token was revoked or has expired")

// Revocations ends what tokens hold open, such as event streams, once they are revoked or have
// expired. An admitted token joins; a revocation notifies it immediately, and [Revocations.Sweep]
// finds tokens that other processes revoked or that expired. The store therefore need not be
// consulted for each event.
//
// The zero value is ready to use. It is safe for concurrent use.
type Revocations struct {
	mu sync.Mutex
	// known holds the admitted tokens, each with the cancel functions of its active contexts.
	known         map[holder]map[*context.CancelCauseFunc]struct{}
	before, after []func(namespace, token string)
}

// Before registers a function that is called with each revoked token before its contexts are done:
// a client that sees the end of its stream finds its tickets gone. It must be called before tokens
// are admitted.
func (r *Revocations) Before(f func(namespace, token string)) { r.before = append(r.before, f) }

// On registers a function that is called with each revoked token after its contexts are done, by
// the caller of Revoke or Sweep. It must be called before tokens are admitted.
func (r *Revocations) On(f func(namespace, token string)) { r.after = append(r.after, f) }

// Join returns a context that is also done, with the cause ErrRevoked, once the principal's token
// is revoked or found expired. The caller must call leave when its work has ended.
func (r *Revocations) Join(ctx context.Context, p Principal) (joined context.Context, leave func()) {
	joined, cancel := context.WithCancelCause(ctx)
	who, one := holder{p.Namespace, p.Token}, &cancel
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.known == nil {
		r.known = map[holder]map[*context.CancelCauseFunc]struct{}{}
	}
	if r.known[who] == nil {
		r.known[who] = map[*context.CancelCauseFunc]struct{}{}
	}
	r.known[who][one] = struct{}{}
	return joined, func() {
		r.mu.Lock()
		delete(r.known[who], one) // the token stays known: it may have tickets and sessions
		r.mu.Unlock()
		cancel(nil)
	}
}

// Revoke cancels everything that a token holds open.
func (r *Revocations) Revoke(namespace, token string) {
	who := holder{namespace, token}
	r.mu.Lock()
	cut := r.known[who]
	delete(r.known, who)
	r.mu.Unlock()
	for _, call := range r.before {
		call(namespace, token)
	}
	for cancel := range cut {
		(*cancel)(ErrRevoked)
	}
	for _, call := range r.after {
		call(namespace, token)
	}
}

// Sweep revokes the admitted tokens that are no longer in the store or have expired. It returns
// errors from the store; the tokens of the failing namespace, and of those not yet checked, are
// then unchanged.
func (r *Revocations) Sweep(ctx context.Context, s Store, now time.Time) error {
	for namespace, tokens := range r.holders() {
		list, err := s.List(ctx, namespace)
		if err != nil {
			return err
		}
		for _, t := range list {
			if !t.IsExpired(now) {
				delete(tokens, t.ID)
			}
		}
		for token := range tokens {
			r.Revoke(namespace, token)
		}
	}
	return nil
}

// holders returns the ids of the admitted tokens, by namespace.
func (r *Revocations) holders() map[string]map[string]bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := map[string]map[string]bool{}
	for who := range r.known {
		if all[who.namespace] == nil {
			all[who.namespace] = map[string]bool{}
		}
		all[who.namespace][who.token] = true
	}
	return all
}
