package pghome

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/hocket-run/hocket/internal/errcode"
	"github.com/hocket-run/hocket/internal/store"
	"github.com/hocket-run/hocket/internal/store/pgurl"
	"github.com/hocket-run/hocket/internal/store/postgres"
)

// leastMajor is the oldest supported major version of PostgreSQL.
const leastMajor = 14

// maxClockOffset is how far the clocks of server and machine may differ without a warning.
const maxClockOffset = 5 * time.Second

// target is a database as named by its URL.
type target struct {
	url *pgurl.URL
	// conn is for the pool, session for connections that keep a session. They differ if there is a
	// pooler.
	conn, session *pgx.ConnConfig
	pool          *pgxpool.Config // uses conn
	relay         postgres.Relay  // for tests; nil means none
}

// targetOf fills in what the URL leaves out as libpq does, from the environment and the password
// file. It returns errcode.StoreURL errors for files in the URL that cannot be used.
func targetOf(u *pgurl.URL) (target, error) {
	t := target{url: u}
	if file := u.Setting("passfile"); file != "" {
		if problem := passfileProblem(file); problem != "" {
			return t, errcode.New(errcode.StoreURL, errcode.Fields{"problem": problem, "meant": ""}, nil)
		}
	}
	var err error
	if t.pool, err = parse(u, u.Conninfo()); err != nil {
		return t, err
	}
	t.conn = t.pool.ConnConfig
	t.session = t.conn
	if host, _ := u.LeaseHost(); host != "" {
		lease, err := parse(u, u.LeaseConninfo())
		if err != nil {
			return t, err
		}
		t.session = lease.ConnConfig
		// a pooler passes the session with its prepared statements to others
		t.conn.DefaultQueryExecMode = pgx.QueryExecModeExec
	}
	return t, nil
}

// passfileProblem returns why a password file cannot be used; "" means that it can.
func passfileProblem(file string) string {
	st, err := os.Stat(file)
	switch {
	case err != nil:
		return "the password file cannot be read: " + cause(err)
	case st.IsDir():
		return "the password file " + file + " is a folder"
	case !store.IsPrivate(st):
		return fmt.Sprintf("the password file %s has the mode %04o, so other users can read it; run chmod 600 %s", file,
			st.Mode().Perm(), file)
	}
	return ""
}

// cause returns the message of a file system error, including the path.
func cause(err error) string {
	if e, ok := err.(*fs.PathError); ok { //nolint:errorlint // only the outermost has the path of the user
		return e.Path + ": " + e.Err.Error()
	}
	return err.Error()
}

// parse returns a driver configuration. The driver's errors may contain secrets, so only their
// innermost cause is reported.
func parse(u *pgurl.URL, conninfo string) (*pgxpool.Config, error) {
	c, err := pgxpool.ParseConfig(conninfo)
	if err != nil {
		for inner := err; inner != nil; {
			err = inner
			if _, isPath := inner.(*fs.PathError); isPath { //nolint:errorlint // it has the path, and its cause has not
				break
			}
			w, ok := inner.(interface{ Unwrap() error })
			if !ok {
				break
			}
			inner = w.Unwrap()
		}
		return nil,
			errcode.New(errcode.StoreURL, errcode.Fields{"problem": scrub(cause(err), u.Secrets()), "meant": ""}, nil)
	}
	if len(c.ConnConfig.Fallbacks) > 0 && strings.Contains(u.Setting("host"), ",") &&
		c.ConnConfig.ValidateConnect == nil {
		return parse(u, conninfo+" target_session_attrs='read-write'") // of several hosts, the writable one
	}
	return c, nil
}

// scrub removes secrets from text.
func scrub(text string, secrets []string) string {
	for _, s := range secrets {
		text = strings.ReplaceAll(text, s, "…")
	}
	return text
}

// host returns the server's name for messages.
func (t target) host() string {
	if t.url.Setting("host") != "" || t.conn.Host == "" {
		u, _, _ := strings.Cut(strings.TrimPrefix(t.url.String(), "postgres://"), "/")
		if _, h, ok := strings.Cut(u, "@"); ok {
			u = h
		}
		if u, _, _ = strings.Cut(u, "?"); u != "" {
			return u
		}
	}
	if strings.HasPrefix(t.conn.Host, "/") {
		return t.conn.Host
	}
	return net.JoinHostPort(t.conn.Host, strconv.Itoa(int(t.conn.Port)))
}

// server is what a server reports about itself.
type server struct {
	version                          string
	major                            int
	user, database, owner            string // owner is the owner of the schema
	fsync, sync, standbys            string
	isReplica, isReadOnly            bool
	canCreate, hasSchema, canUse     bool
	isStore, canRead                 bool
	relations                        int
	backend                          uint32
	identity                         string // identifies the server process and the database
	serverTime                       time.Time
	offset                           time.Duration // of the server's clock
	pooled                           bool
	replicas, syncReplicas, maxConns int
}

// sqlProbe queries everything in one statement. The schema may contain the tables of another
// program, or none.
const sqlProbe = `SELECT current_user::text, current_database()::text, current_setting('fsync'), ` +
	`current_setting('synchronous_commit'), current_setting('synchronous_standby_names'),
  pg_is_in_recovery(), current_setting('transaction_read_only') = 'on', has_database_privilege(current_database(), ` +
	`'CREATE'), n.oid IS NOT NULL, coalesce(pg_get_userbyid(n.nspowner)::text, ''),
  coalesce(has_schema_privilege(n.oid, 'USAGE'), false),
  s.oid IS NOT NULL, coalesce(has_table_privilege(s.oid, 'SELECT'), false), (SELECT count(*) FROM pg_class c WHERE ` +
	`c.relnamespace = n.oid)::int,
  pg_backend_pid(), pg_postmaster_start_time()::text || ' ' || d.oid::text, clock_timestamp(),
  (SELECT count(*) FROM pg_stat_replication)::int, (SELECT count(*) FROM pg_stat_replication WHERE sync_state IN ` +
	`('sync', 'quorum'))::int, current_setting('max_connections')::int
FROM pg_database d LEFT JOIN pg_namespace n ON n.nspname = $1 LEFT JOIN pg_class s ON s.relnamespace = n.oid AND ` +
	`s.relname = 'hocket_store'
WHERE d.datname = current_database()`

// query connects once and queries the server's properties. now returns the time of this machine.
func (t target) query(ctx context.Context, c *pgx.ConnConfig, schema string, now func() time.Time) (server, error) {
	var s server
	c = c.Copy()
	c.ConnectTimeout = cmp.Or(c.ConnectTimeout, 10*time.Second)
	c.DefaultQueryExecMode = pgx.QueryExecModeExec // prepare no statement: there may be a pooler
	conn, err := pgx.ConnectConfig(ctx, c)
	if err != nil {
		return s, t.explain(ctx, err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	s.version, _, _ = strings.Cut(conn.PgConn().ParameterStatus("server_version"), " ")
	major, _, _ := strings.Cut(s.version, ".")
	digits := strings.TrimRight(major, "abcdefghijklmnopqrstuvwxyz") // 19devel, 19beta1
	if s.major, err = strconv.Atoi(digits); err == nil && s.major < leastMajor {
		return s, errcode.New(errcode.StoreServerOld, errcode.Fields{"host": t.host(), "version": s.version,
			"least": leastMajor}, nil)
	}
	before := now()
	err = conn.QueryRow(ctx, sqlProbe, schema).Scan(&s.user, &s.database, &s.fsync, &s.sync, &s.standbys, &s.isReplica,
		&s.isReadOnly, &s.canCreate, &s.hasSchema, &s.owner,
		&s.canUse, &s.isStore, &s.canRead, &s.relations, &s.backend, &s.identity, &s.serverTime, &s.replicas,
		&s.syncReplicas, &s.maxConns)
	if err != nil {
		return s, t.explain(ctx, err)
	}
	after := now()
	s.offset = s.serverTime.Sub(before.Add(after.Sub(before) / 2))
	s.pooled = conn.PgConn().PID() != s.backend // a pooler assigns its own process IDs to clients
	return s, nil
}

// probe queries the server, and the server behind a pooler, and rejects servers that cannot hold a
// store. Its errors have a code.
func (t target) probe(ctx context.Context, servers store.Servers, now func() time.Time) (server, error) {
	s, err := t.query(ctx, t.conn, t.url.Schema(), now)
	if err != nil {
		return s, err
	}
	switch {
	case s.isReplica:
		return s, errcode.New(errcode.StoreReadOnly, errcode.Fields{"host": t.host(), "why": "it is a replica"}, nil)
	case s.isReadOnly:
		return s, errcode.New(errcode.StoreReadOnly,
			errcode.Fields{"host": t.host(), "why": "default_transaction_read_only is on"}, nil)
	case s.fsync == "off" && !servers.AllowUnsafe:
		return s, errcode.New(errcode.StoreUnsafe, errcode.Fields{"host": t.host(), "setting": "fsync"}, nil)
	case s.sync == "off" && !servers.AllowUnsafe:
		return s, errcode.New(errcode.StoreUnsafe, errcode.Fields{"host": t.host(), "setting": "synchronous_commit"},
			nil)
	case s.pooled && t.session == t.conn:
		return s, errcode.New(errcode.StorePooler, errcode.Fields{"host": t.host()}, nil)
	}
	if t.session != t.conn {
		behind := target{url: t.url, conn: t.session}
		direct, err := behind.query(ctx, t.session, t.url.Schema(), now)
		switch {
		case err != nil:
			return s, err
		case direct.pooled:
			return s,
				errcode.New(errcode.StoreURL,
					errcode.Fields{"problem": "lease_host is the address of a connection pooler, not of the " +
						"server itself", "meant": ""}, nil)
		case direct.identity != s.identity:
			return s,
				errcode.New(errcode.StoreURL, errcode.Fields{
					"problem": "lease_host leads to another server or database than the host", "meant": "",
				}, nil)
		}
	}
	return s, t.checkPermissions(s)
}

// checkPermissions returns an error if the user cannot create or use the schema, or if the schema
// belongs to another program.
func (t target) checkPermissions(s server) error {
	schema := t.url.Schema()
	switch {
	case !s.hasSchema && !s.canCreate:
		return errcode.New(errcode.StoreNoRight, errcode.Fields{
			"user": s.user, "database": s.database, "action": "create schemas", "grant": "GRANT CREATE ON DATABASE " +
				quote(s.database) + " TO " + quote(s.user),
		}, nil)
	case s.hasSchema && !s.canUse:
		return errcode.New(errcode.StoreNoRight, errcode.Fields{
			"user": s.user, "database": s.database, "action": "use the schema " + schema,
			"grant": "GRANT USAGE, CREATE ON SCHEMA " + quote(schema) + " TO " + quote(s.user),
		}, nil)
	case s.isStore && !s.canRead:
		return t.noTables(s)
	case !s.isStore && s.relations > 0:
		return errcode.New(errcode.StoreForeign, errcode.Fields{"schema": schema, "database": s.database}, nil)
	}
	return nil
}

// noTables returns the error for a user without permissions on the tables of the store. Tables that
// later releases add are owned by the user who migrates, so the fix is to grant the owner's role.
func (t target) noTables(s server) error {
	return errcode.New(errcode.StoreNoRight, errcode.Fields{
		"user": s.user, "database": s.database, "action": "use the tables of schema " + t.url.Schema(),
		"grant": "GRANT " + quote(s.owner) + " TO " + quote(s.user),
	}, nil)
}

// quote quotes an identifier for a statement shown to people.
func quote(name string) string { return pgx.Identifier{name}.Sanitize() }
