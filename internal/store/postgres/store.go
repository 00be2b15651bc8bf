package postgres

import (
	"context"
	"fmt"
	"net"
	"regexp"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/hocket-run/hocket/internal/journal"
)

// DefaultSchema is the schema of the namespace `default`.
const DefaultSchema = "hocket"

// Limits of the connection pool.
const (
	defaultMaxConns = 10
	// idleTime is how long an unused connection is kept. The pool uses the most recently used
	// connection first, so that an idle server keeps one or two.
	idleTime = 15 * time.Second
	// never is longer than any process runs, for intervals of the pool that are disabled.
	never = 100 * 365 * 24 * time.Hour
)

// Config configures how a store is opened.
type Config struct {
	// URL names the database: a connection string as libpq reads it,
	// `postgres://user@host/database` or `host=… dbname=…`. It is ignored if Pool is set.
	URL string
	// Pool is a configuration returned by pgxpool.ParseConfig and completed by the caller; if nil,
	// URL is parsed. Its limits are ignored.
	Pool *pgxpool.Config
	// Session is the configuration of the connection that keeps a session, if Pool leads to a
	// pooler; nil means that of Pool, or URL. It is ignored if Pool is nil.
	Session *pgx.ConnConfig
	// Schema is the schema of the tables; "" means the value of the URL's schema parameter, or
	// [DefaultSchema]. It is created if it does not exist. It starts with a lower-case letter and
	// consists of lower-case letters, digits and _, 63 at most.
	Schema string
	// Kind is the kind of process, used in errors that others get when it owns a run.
	Kind journal.Kind
	// Place is where the process continues others' runs; "" means nowhere.
	Place string
	// MaxConns is the maximum size of the pool; 0 means 10. One more connection holds the locks of
	// owners and listens.
	MaxConns int
	// Unfinished opens a schema that contains an unfinished copy; without it, opening returns
	// journal.ErrUnfinished.
	Unfinished bool
	// Relay passes on the notifications between handles instead of the server; if nil, the server
	// does. It is for synctest bubbles, whose clock stops while a goroutine waits for the network.
	Relay Relay
}

// Relay passes notifications between handles.
type Relay interface {
	// Send passes a text to the listeners of a channel. It does not block.
	Send(channel, text string)
	// Listen calls heard for each text of a channel, until stop is called.
	Listen(channel string, heard func(text string)) (stop func())
}

// schemaParameter is the URL parameter that sets Config.Schema.
const schemaParameter = "schema"

// schemaName matches valid schema names. They are part of statements: no character in them needs
// quoting.
var schemaName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,62}$`)

// Store is a handle on a schema of a database. It is safe for concurrent use.
type Store struct {
	db     *database
	schema string
	class  int64 // the number of the schema: the first key of its owners' locks

	found, newest int // see Version

	texts   sync.Map // sqlText to string
	owner   *owner
	writer  *writer
	changes *changes
	full    fullness

	open   sync.RWMutex // held for reading by each call
	closed bool         // guarded by open

	batchBytes int64         // smaller in tests
	stepTime   time.Duration // likewise
	turnTime   time.Duration // likewise
}

var _ journal.Backend = (*Store)(nil)

// database holds the connections of a process to one database, shared by the stores of its schemas.
type database struct {
	pool    *pgxpool.Pool
	network *network
	conn    *pgx.ConnConfig   // for the session
	planned pgx.QueryExecMode // for statements planned for their values; passed as the first argument
	cfg     Config
	session *session

	mu     sync.Mutex
	stores int // number of open stores; the last to close closes the pool
}

// Open opens the store in a schema of a database. It creates the schema and tables if they do not
// exist, and brings an older store up to date. A store that is up to date is opened without a
// write.
//
// Errors are journal.ErrUnfinished if a copy into the schema has not ended; journal.ErrNotStore if
// it has tables of another program, and *journal.NewerError if a newer Hocket created it, both with
// the database unchanged; errors that match journal.ErrUnavailable, which may be temporary; and
// *journal.RejectedError for a server rejection, whose cause is a *pgconn.PgError or
// *pgconn.ConnectError.
func Open(ctx context.Context, cfg Config) (*Store, error) {
	db, err := connect(ctx, cfg, func(c net.Conn) net.Conn { return c })
	if err != nil {
		return nil, fmt.Errorf("open store: %w", explain(err))
	}
	s, err := db.open(ctx, db.cfg.Schema, cfg.Kind)
	if err != nil {
		db.pool.Close()
		return nil, err
	}
	return s, nil
}

// Beside opens the store in another schema of the same database, using the connections of s. Each
// of the two must be closed separately. Errors are those of [Open].
func (s *Store) Beside(ctx context.Context, schema string) (*Store, error) {
	return s.db.open(ctx, schema, s.owner.self.Kind)
}

// connect creates the pool. It makes no connection yet.
func connect(ctx context.Context, cfg Config, wrap func(net.Conn) net.Conn) (*database, error) {
	pc := cfg.Pool
	if pc == nil {
		var err error
		if pc, err = pgxpool.ParseConfig(cfg.URL); err != nil {
			return nil, err
		}
	}
	pc = pc.Copy()
	conn := pc.ConnConfig
	// The URL parameter that names the schema would be sent to the server as a setting.
	if cfg.Schema == "" {
		cfg.Schema = conn.RuntimeParams[schemaParameter]
	}
	kept := conn.Copy()
	if cfg.Session != nil && cfg.Pool != nil {
		kept = cfg.Session.Copy()
		// A prepared statement belongs to a session, which a pooler assigns to others after the
		// transaction.
		conn.DefaultQueryExecMode = pgx.QueryExecModeExec
	}
	planned := pgx.QueryExecModeCacheDescribe
	if conn.DefaultQueryExecMode != pgx.QueryExecModeCacheStatement { // through a pooler
		planned = conn.DefaultQueryExecMode
	}
	network := newNetwork(wrap)
	prepare(conn, network.dialer(false))
	prepare(kept, network.dialer(true))
	pc.MaxConns, pc.MinConns = defaultMaxConns, 0
	if cfg.MaxConns > 0 {
		pc.MaxConns = int32(min(cfg.MaxConns, 1<<16)) //nolint:gosec,nolintlint // bounded
	}
	pc.MaxConnIdleTime, pc.HealthCheckPeriod = idleTime, idleTime
	if cfg.Relay != nil { // the clock of a bubble skips years
		pc.MaxConnIdleTime, pc.HealthCheckPeriod, pc.MaxConnLifetime = never, never, never
	}
	pool, err := pgxpool.NewWithConfig(context.WithoutCancel(ctx), pc)
	if err != nil {
		return nil, err
	}
	db := &database{pool: pool, network: network, conn: kept, planned: planned, cfg: cfg}
	db.session = &session{db: db, settleTime: settleTime}
	return db, nil
}

// prepare sets the options that all connections have in common.
func prepare(conn *pgx.ConnConfig, dial pgconn.DialFunc) {
	delete(conn.RuntimeParams, schemaParameter)
	if conn.RuntimeParams["application_name"] == "" {
		conn.RuntimeParams["application_name"] = "hocket"
	}
	conn.DialFunc = dial
	if conn.ConnectTimeout == 0 {
		conn.ConnectTimeout = dialTimeout
	}
}

func (d *database) open(ctx context.Context, schema string, kind journal.Kind) (*Store, error) {
	if schema == "" {
		schema = DefaultSchema
	}
	if !schemaName.MatchString(schema) {
		return nil,
			fmt.Errorf("open store: the schema %q is not a name of lower-case letters, digits and _, beginning with "+
				"a letter, of 63 at most", schema)
	}
	s := &Store{db: d, schema: schema, owner: newOwner(kind, d.cfg.Place), batchBytes: batchBytes,
		stepTime: stepTimeout,
		turnTime: turnTimeout}
	s.writer, s.changes = newWriter(s), newChanges(s)
	err := s.migrate(ctx)
	if err == nil {
		err = d.pool.QueryRow(ctx, `SELECT oid::bigint FROM pg_namespace WHERE nspname = $1`, schema).Scan(&s.class)
	}
	if err != nil {
		return nil, fmt.Errorf("open store: %w", s.fault(ctx, err))
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.stores++
	return s, nil
}

// release releases what open acquired.
func (d *database) release(ctx context.Context) error {
	d.mu.Lock()
	d.stores--
	last := d.stores == 0
	d.mu.Unlock()
	if !last {
		return nil
	}
	defer context.AfterFunc(ctx, d.network.end)()
	err := d.session.close(ctx)
	d.pool.Close()
	return err
}

// Close implements journal.Backend. It waits for calls in flight. If the server is silent for
// [closeTimeout], these calls fail, and Close skips its own requests to the server.
func (s *Store) Close() error {
	defer s.db.network.limitReplies()()
	s.open.Lock()
	isFirst := !s.closed
	s.closed = true
	s.open.Unlock()
	if !isFirst {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	s.writer.close()
	// If the server is gone, so are the locks: what fails here has already happened by itself.
	_ = s.changes.close(ctx)
	if n := s.owner.number.Load(); n != 0 {
		if err := s.db.session.releaseOwner(ctx, lock{s.class, n}); err == nil {
			_ = s.changes.died()
		}
	}
	err := s.db.release(ctx)
	s.changes.hub.SignalAll() // last: a subscriber that reads now gets ErrClosed, and need not wait for another signal
	return err
}
