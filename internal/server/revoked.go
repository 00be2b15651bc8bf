package server

import (
	"context"
	"time"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/store"
)

// sweepEvery is how long it takes at most until streams end whose token another process revoked, or which expired.
const sweepEvery = 2 * time.Second

// sweep cuts off what was revoked elsewhere, and gives memory back to the system, until ctx is done.
func (s *Server) sweep(ctx context.Context) {
	t := time.NewTicker(sweepEvery)
	defer t.Stop()
	broken, freed := false, time.Time{}
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-t.C:
			err := s.revoked.Sweep(ctx, s.access, now)
			if err != nil && !broken && ctx.Err() == nil {
				s.log.Error("cannot read revoked tokens", "err", err)
			}
			broken = err != nil
			freed = s.returnMemory(now, freed)
		}
	}
}

// revoking is the store of tokens whose revocations take effect at once.
type revoking struct {
	store.Access
	revoked *access.Revocations
}

// Revoke implements access.Store.
func (r revoking) Revoke(ctx context.Context, namespace, id string) (access.Token, error) {
	t, err := r.Access.Revoke(ctx, namespace, id)
	if err == nil {
		r.revoked.Revoke(namespace, id)
	}
	return t, err
}
