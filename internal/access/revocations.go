package access

import (
	"context"
	"errors"
	"sync"
	"time"
)

// ErrRevoked is the cause of contexts whose token was revoked, or has expired.
var ErrRevoked = errors.New("the token was revoked or has expired")

// Revocations end what tokens hold open, such as event streams, once they are revoked or have expired. An admitted token joins; a revocation
// tells it at once, and [Revocations.Sweep] finds what other processes revoked and what expired. So nothing asks the store again for each event.
//
// The zero value is ready. Safe for concurrent use.
type Revocations struct {
	mu sync.Mutex
	// known are the tokens that were let in, with what cuts off the work under way of each.
	known        map[holder]map[*context.CancelCauseFunc]struct{}
	before, tell []func(namespace, token string)
}

// Before has f called with each token that is revoked, before its contexts are done: a client that sees the end of its stream finds its tickets gone. It is for
// the time before tokens are let in.
func (r *Revocations) Before(f func(namespace, token string)) { r.before = append(r.before, f) }

// On has f called with each token that is revoked: after its contexts are done, by the caller of Revoke or Sweep. It is for the time before tokens are let in.
func (r *Revocations) On(f func(namespace, token string)) { r.tell = append(r.tell, f) }

// Join gives a context that is also done, with the cause ErrRevoked, once the principal's token is revoked or found expired. The caller leaves when its work is
// over.
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

// Revoke cuts off what a token holds open.
func (r *Revocations) Revoke(namespace, token string) {
	who := holder{namespace, token}
	r.mu.Lock()
	cut := r.known[who]
	delete(r.known, who)
	r.mu.Unlock()
	for _, tell := range r.before {
		tell(namespace, token)
	}
	for cancel := range cut {
		(*cancel)(ErrRevoked)
	}
	for _, tell := range r.tell {
		tell(namespace, token)
	}
}

// Sweep revokes the tokens that were let in and are not in the store any more, or have expired by now. Errors: those of the store; then the tokens of that
// namespace, and of those not looked at yet, are left as they are.
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

// holders gives the ids of tokens that were let in, by namespace.
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
