package pghome

import (
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hocket-run/hocket/internal/store/postgres"
)

// NewTraced makes a kind whose statements are traced, and whose stores tell each other what they store by a relay: for bubbles.
func NewTraced(relay postgres.Relay, tracer pgx.QueryTracer) *Kind {
	k := New(time.Now)
	k.relay, k.tracer = relay, tracer
	return k
}
