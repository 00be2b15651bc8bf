//go:build unix

package e2e_test

import (
	"testing"

	"github.com/hocket-run/hocket/internal/faultmatrix"
	"github.com/hocket-run/hocket/internal/killtest"
	"github.com/hocket-run/hocket/internal/pgtest"
	"github.com/hocket-run/hocket/internal/temporalserver"
)

// onTemporal makes a cluster whose runs a Temporal server carries.
func onTemporal(t *testing.T, db, address, namespace string) *cluster {
	t.Helper()
	c := newCluster(t, db)
	c.args = []string{"--temporal", address, "--temporal-namespace", namespace}
	return c
}

// TestTemporalKills is TestClusterKills with runs that Temporal carries: their calls are made by three processes, one after another of which is killed (P12, P18, D8).
func TestTemporalKills(t *testing.T) {
	t.Parallel()
	faultmatrix.Proves(t, "temporal-worker")
	address, namespace := temporalserver.Namespace(t)
	onTemporal(t, pgtest.URL(t), address, namespace).survives(killtest.Kills())
}
