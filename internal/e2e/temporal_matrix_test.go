//go:build unix

package e2e_test

import (
	"testing"

	"github.com/hocket-run/hocket/internal/faultmatrix"
	"github.com/hocket-run/hocket/internal/pgtest"
	"github.com/hocket-run/hocket/internal/temporalserver"
)

// TestTemporalStoreRestarts is TestDatabaseRestarts with runs that Temporal carries: a worker keeps the result of a call until the store takes it.
func TestTemporalStoreRestarts(t *testing.T) {
	t.Parallel()
	faultmatrix.Proves(t, "temporal-store")
	address, namespace := temporalserver.Namespace(t)
	server := pgtest.Start(t, pgtest.Config{})
	onTemporal(t, server.URL(t), address, namespace).outlives(server)
}
