package server

import (
	"context"
	"time"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/store"
)

// sweepEvery is the maximum time until a stream ends whose token has expired or was revoked by
// another process.
const sweepEvery = 2 * time.Second

// sweep ends streams whose token was revoked elsewhere, and returns memory to the system, until ctx
// is done.
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

// revokingStore is the token store whose revocations take effect immediately.
type revokingStore struct {
	store.Access
	revoked *access.Revocations
}

// Revoke implements access.Store.
func (r revokingStore) Revoke(ctx context.Context, namespace, id string) (access.Token, error) {
	t, err := r.Access.Revoke(ctx, namespace, id)
	if err == nil {
		r.revoked.Revoke(namespace, id)
	}
	return t, err
}
