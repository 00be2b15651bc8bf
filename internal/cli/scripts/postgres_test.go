package scripts_test

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/longtest"
	"github.com/hocket-run/hocket/internal/pgtest"
	"github.com/hocket-run/hocket/internal/store/postgres"
)

// TestScriptsPostgres runs scripts a second time on stores in PostgreSQL: the same lines print the
// same output and exit with the same statuses.
func TestScriptsPostgres(t *testing.T) {
	t.Parallel()
	p := scripts(t, false)
	names := []string{"run", "webhooks", "serve", "migrate"}
	if longtest.Enabled() { // the suites of all stores and of the driver cover these scripts' use of a store
		names = append(names, "approval", "retry", "schedule")
	}
	for _, name := range names {
		p.Files = append(p.Files, script(name))
	}
	setup := p.Setup
	p.Setup = func(env *testscript.Env) error {
		env.Setenv("HOCKET_DB", pgtest.URL(env.T().(testing.TB)))
		return setup(env)
	}
	testscript.Run(t, p)
}

// TestPostgres runs the scripts that apply only to stores in PostgreSQL. PG_URL is the URL of an
// empty store. PGPASSWORD and the URL in hocket.yaml have a password, which the server does not
// require.
func TestPostgres(t *testing.T) {
	t.Parallel()
	p := scripts(t, false)
	p.Dir = filepath.Join(repository, "internal", "cli", "scripts", "testdata", "postgres")
	setup := p.Setup
	p.Setup = func(env *testscript.Env) error {
		u, err := url.Parse(pgtest.URL(env.T().(testing.TB)))
		if err != nil {
			return err
		}
		const password = "canary-77-p4ss"
		u.User = url.User(pgtest.User)
		env.Setenv("PG_URL", u.String())
		env.Setenv("PGPASSWORD", password)
		u.User = url.UserPassword(pgtest.User, password)
		env.Setenv("EXAMPLES", filepath.Join(repository, "examples"))
		if err := os.WriteFile(filepath.Join(env.WorkDir, "hocket.yaml"), fmt.Appendf(nil, "store: {path: %q}\n", u),
			0o600); err != nil {
			return err
		}
		return setup(env)
	}
	testscript.Run(t, p)
}

// cmdCarried marks a run in the store PG_URL as executed by Temporal: carried RUN
func cmdCarried(ts *testscript.TestScript, _ bool, args []string) {
	s, err := postgres.Open(context.Background(), postgres.Config{URL: ts.Getenv("PG_URL"), Kind: journal.KindTemporal})
	ts.Check(err)
	defer s.Close()
	ts.Check(s.SetKind(context.Background(), args[0], journal.KindTemporal))
}
