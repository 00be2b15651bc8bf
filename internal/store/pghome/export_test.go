package pghome

import (
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hocket-run/hocket/internal/store/postgres"
)

// NewTraced returns a kind whose statements are traced, and whose stores notify each other through
// a relay; it is for bubbles.
func NewTraced(relay postgres.Relay, tracer pgx.QueryTracer) *Kind {
	k := New(time.Now)
	k.relay, k.tracer = relay, tracer
	return k
}
