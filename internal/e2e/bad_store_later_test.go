//go:build unix

package e2e_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/faultmatrix"
	"github.com/hocket-run/hocket/internal/longtest"
	"github.com/hocket-run/hocket/internal/pgtest"
)

// TestBadStoreLater checks conditions that make a store unusable after a process has started: a
// changed password, no free connection, revoked permissions, a read-only database. A server that
// has runs reports that it is not ready, rejects starts with status 503 and without showing the
// password, and continues on its own when the cause is gone: no call is repeated.
func TestBadStoreLater(t *testing.T) {
	t.Parallel()
	longtest.Only(t, "internal/store/postgres.TestServerRestarts, TestSilentServer and TestSessionLost")
	faultmatrix.Proves(t, "refuses-later")
	const runs = 3
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	server := pgtest.Start(t, pgtest.Config{TCP: true})
	at := server.TCP(t)
	schema := at.Query().Get("schema")
	c := newCluster(t, at.String())
	m := c.join("", "-v")
	c.apply("order", fmt.Sprintf(order, c.book.URL))
	isShown := func(text string) bool {
		return slices.ContainsFunc(forms(pgtest.Password), func(form string) bool {
			return strings.Contains(text, form)
		})
	}
	const end = "; SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'hocket'"
	causes := []struct{ name, begin, end string }{
		{"another password", "ALTER ROLE hocket PASSWORD 'another'", "ALTER ROLE hocket PASSWORD '" +
			strings.ReplaceAll(pgtest.Password, "'", "''") + "'"},
		{"no connection left", "ALTER ROLE hocket CONNECTION LIMIT 0", "ALTER ROLE hocket CONNECTION LIMIT -1"},
		{"no login", "ALTER ROLE hocket NOLOGIN", "ALTER ROLE hocket LOGIN"},
		{"no right to connect",
			"REVOKE CONNECT ON DATABASE hocket FROM PUBLIC; ALTER DATABASE hocket OWNER TO postgres; REVOKE CONNECT " +
				"ON DATABASE hocket FROM hocket",
			"ALTER DATABASE hocket OWNER TO hocket; GRANT CONNECT ON DATABASE hocket TO PUBLIC, hocket"},
		{"no right to use the tables", "ALTER SCHEMA " + schema + " OWNER TO postgres", "ALTER SCHEMA " + schema +
			" OWNER TO hocket"},
		{"read-only", "ALTER ROLE hocket SET default_transaction_read_only = on",
			"ALTER ROLE hocket RESET default_transaction_read_only"},
	}
	for _, cause := range causes {
		release := c.hold()
		var all []string
		for i := range runs {
			run, _ := c.startAt(ctx, m, fmt.Sprintf("%s %d", cause.name, i))
			all = append(all, run)
		}
		server.Exec(t, cause.begin+end)
		release()
		said := c.readiness(http.StatusServiceUnavailable)
		status, data, err := m.do(ctx, http.MethodPost, "/runs", `{"workflow": "order", "input": "refused"}`)
		if err != nil || status != http.StatusServiceUnavailable {
			t.Errorf("%s: a start gives %d %s, %v", cause.name, status, data, err)
		}
		t.Logf("%s: %s\n%s", cause.name, said, data)
		if isShown(said + string(data)) {
			t.Errorf("%s: the password is shown: %s %s", cause.name, said, data)
		}
		server.Exec(t, cause.end+end)
		c.readiness(http.StatusOK)
		for _, run := range all {
			c.waitCompleted(ctx, run)
		}
	}
	c.madeOnce(len(causes) * runs)
	if isShown(m.said()) {
		t.Errorf("the password is in the log: %s", m.said())
	}
}
