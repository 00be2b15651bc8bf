package postgres

import (
	"context"
	"fmt"
	"net"
	"regexp"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/hocket-run/hocket/internal/journal"
)

// DefaultSchema is the schema of the namespace `default`.
const DefaultSchema = "hocket"

// Bounds of the pool of connections.
const (
	defaultMaxConns = 10
	// idleTime is how long a connection stays that is not used. The pool uses the connection first that was used last, so that a server at rest keeps one or two.
	idleTime = 15 * time.Second
	// never is longer than a process runs, for intervals of the pool that are switched off.
	never = 100 * 365 * 24 * time.Hour
)

// Config says how to open a store.
type Config struct {
	// URL names the database: a connection string as libpq reads it, `postgres://user@host/database` or `host=… dbname=…`. It is not looked at where Conn is set.
	URL string
	// Conn is a configuration that pgx.ParseConfig made, and the caller completed; nil: URL is parsed.
	Conn *pgx.ConnConfig
	// Schema is the schema of the tables; "": [DefaultSchema]. It is made where there is none. It begins with a lower-case letter, and has lower-case letters, digits and _, 63 at most.
	Schema string
	// Kind is the kind of process, for the errors that others get when it owns a run.
	Kind journal.Kind
	// MaxConns bounds the pool; 0: 10. One connection more holds the locks of owners and listens.
	MaxConns int
	// NoListen keeps the store from listening for what other handles stored, and from telling them: waiters find it by polling. For bubbles of synctest, whose clock stops while a
	// goroutine waits for a network.
	NoListen bool
}

// schemaName is what a schema may be named. It is part of statements: nothing in it needs to be quoted.
var schemaName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,62}$`)

// Store is a handle on a schema of a database. Safe for concurrent use.
type Store struct {
	db     *database
	schema string
	kind   journal.Kind

	closing sync.Once
	closed  error
}

// database is the connections of a process to one database, shared by the stores of its schemas.
type database struct {
	pool *pgxpool.Pool
	conn *pgx.ConnConfig
	cfg  Config

	mu     sync.Mutex
	stores int // open ones: the last to close closes the pool
}

// Open opens the store in a schema of a database. It makes schema and tables where there are none, and brings an older store up to date. A store that is up to date is opened without a write.
//
// Errors: journal.ErrNotStore where the schema has tables of another program, *journal.NewerError where a newer Hocket made it, both with the database unchanged; those that match
// journal.ErrUnavailable, which may pass; *journal.RejectedError for what the server refuses, whose cause is a *pgconn.PgError or *pgconn.ConnectError.
func Open(ctx context.Context, cfg Config) (*Store, error) {
	db, err := connect(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("open store: %w", explain(err))
	}
	s, err := db.open(ctx, cfg.Schema, cfg.Kind)
	if err != nil {
		db.pool.Close()
		return nil, err
	}
	return s, nil
}

// Beside opens the store in another schema of the same database, with the connections of s. Each of the two is closed by itself. Errors: those of [Open].
func (s *Store) Beside(ctx context.Context, schema string) (*Store, error) {
	return s.db.open(ctx, schema, s.kind)
}

// connect makes the pool. It makes no connection yet.
func connect(ctx context.Context, cfg Config) (*database, error) {
	conn := cfg.Conn
	if conn == nil {
		var err error
		if conn, err = pgx.ParseConfig(cfg.URL); err != nil {
			return nil, err
		}
	}
	conn = conn.Copy()
	if conn.RuntimeParams["application_name"] == "" {
		conn.RuntimeParams["application_name"] = "hocket"
	}
	// A server that vanished is noticed after some 11 s where nothing is on its way to it; what is on its way is bounded by patience.
	d := net.Dialer{Timeout: dialTimeout, KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 5 * time.Second, Interval: 2 * time.Second, Count: 3}}
	conn.DialFunc = d.DialContext
	if conn.ConnectTimeout == 0 {
		conn.ConnectTimeout = dialTimeout
	}
	pc, err := pgxpool.ParseConfig(conn.ConnString())
	if err != nil {
		return nil, err
	}
	pc.ConnConfig = conn
	pc.MaxConns, pc.MinConns = defaultMaxConns, 0
	if cfg.MaxConns > 0 {
		pc.MaxConns = int32(min(cfg.MaxConns, 1<<16)) //nolint:gosec,nolintlint // bounded
	}
	pc.MaxConnIdleTime, pc.HealthCheckPeriod = idleTime, idleTime
	if cfg.NoListen { // the clock of a bubble passes years
		pc.MaxConnIdleTime, pc.HealthCheckPeriod, pc.MaxConnLifetime = never, never, never
	}
	pool, err := pgxpool.NewWithConfig(context.WithoutCancel(ctx), pc)
	if err != nil {
		return nil, err
	}
	return &database{pool: pool, conn: conn, cfg: cfg}, nil
}

// dialTimeout bounds how long it takes to connect.
const dialTimeout = 10 * time.Second

func (d *database) open(ctx context.Context, schema string, kind journal.Kind) (*Store, error) {
	if schema == "" {
		schema = DefaultSchema
	}
	if !schemaName.MatchString(schema) {
		return nil, fmt.Errorf("open store: the schema %q is not a name of lower-case letters, digits and _, beginning with a letter, of 63 at most", schema)
	}
	s := &Store{db: d, schema: schema, kind: kind}
	if err := s.migrate(ctx); err != nil {
		return nil, fmt.Errorf("open store: %w", explain(err))
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.stores++
	return s, nil
}

// release gives back what open took.
func (d *database) release() {
	d.mu.Lock()
	d.stores--
	last := d.stores == 0
	d.mu.Unlock()
	if last {
		d.pool.Close()
	}
}

// Close gives up every run that the handle owns, and frees its connections. A second Close does nothing.
func (s *Store) Close() error {
	s.closing.Do(func() { s.db.release() })
	return s.closed
}
