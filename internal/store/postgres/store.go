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
	// URL names the database: a connection string as libpq reads it, `postgres://user@host/database` or `host=… dbname=…`. It is not looked at where Pool is set.
	URL string
	// Pool is a configuration that pgxpool.ParseConfig made, and the caller completed; nil: URL is parsed. Its bounds are not looked at.
	Pool *pgxpool.Config
	// Session is the configuration of the connection that keeps a session, where Pool leads to a pooler; nil: that of Pool, or URL. It is not looked at where Pool is nil.
	Session *pgx.ConnConfig
	// Schema is the schema of the tables; "": that of the parameter schema of the URL, or [DefaultSchema]. It is made where there is none. It begins with a lower-case letter, and has lower-case letters, digits and _, 63 at most.
	Schema string
	// Kind is the kind of process, for the errors that others get when it owns a run.
	Kind journal.Kind
	// Place is where the process continues runs of others; "": nowhere.
	Place string
	// MaxConns bounds the pool; 0: 10. One connection more holds the locks of owners and listens.
	MaxConns int
	// Unfinished opens what a copy has written so far; others get journal.ErrUnfinished.
	Unfinished bool
	// Relay passes on what the handles tell each other, in the place of the server; nil: the server does. It is for bubbles of synctest, whose clock stops while a goroutine waits for a network.
	Relay Relay
}

// Relay passes texts from handles to handles.
type Relay interface {
	// Send passes a text on to those who listen to a channel. It does not block.
	Send(channel, text string)
	// Listen calls heard for each text of a channel, until stop.
	Listen(channel string, heard func(text string)) (stop func())
}

// schemaParameter is the parameter of a URL that is Config.Schema.
const schemaParameter = "schema"

// schemaName is what a schema may be named. It is part of statements: nothing in it needs to be quoted.
var schemaName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,62}$`)

// Store is a handle on a schema of a database. Safe for concurrent use.
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

	batchBytes int64         // a test makes it small
	stepTime   time.Duration // likewise
	turnTime   time.Duration // likewise
}

var _ journal.Backend = (*Store)(nil)

// database is the connections of a process to one database, shared by the stores of its schemas.
type database struct {
	pool    *pgxpool.Pool
	network *network
	conn    *pgx.ConnConfig   // of the session
	planned pgx.QueryExecMode // of statements whose plan is made for their values; the first argument
	cfg     Config
	session *session

	mu     sync.Mutex
	stores int // open ones: the last to close closes the pool
}

// Open opens the store in a schema of a database. It makes schema and tables where there are none, and brings an older store up to date. A store that is up to date is opened without a write.
//
// Errors: journal.ErrUnfinished where a copy into the schema has not ended; journal.ErrNotStore where it has tables of another program, *journal.NewerError where a newer Hocket made it, both with the database unchanged; those that match
// journal.ErrUnavailable, which may pass; *journal.RejectedError for what the server refuses, whose cause is a *pgconn.PgError or *pgconn.ConnectError.
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

// Beside opens the store in another schema of the same database, with the connections of s. Each of the two is closed by itself. Errors: those of [Open].
func (s *Store) Beside(ctx context.Context, schema string) (*Store, error) {
	return s.db.open(ctx, schema, s.owner.self.Kind)
}

// connect makes the pool. It makes no connection yet.
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
	// The parameter of URLs that names the schema would go to the server as a setting.
	if cfg.Schema == "" {
		cfg.Schema = conn.RuntimeParams[schemaParameter]
	}
	kept := conn.Copy()
	if cfg.Session != nil && cfg.Pool != nil {
		kept = cfg.Session.Copy()
		// A statement that is prepared belongs to a session, which a pooler gives to others after the transaction.
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
	if cfg.Relay != nil { // the clock of a bubble passes years
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

// prepare sets what all connections have in common.
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
		return nil, fmt.Errorf("open store: the schema %q is not a name of lower-case letters, digits and _, beginning with a letter, of 63 at most", schema)
	}
	s := &Store{db: d, schema: schema, owner: newOwner(kind, d.cfg.Place), batchBytes: batchBytes, stepTime: stepTime, turnTime: turnTime}
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

// release gives back what open took.
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

// Close implements journal.Backend. It waits for calls that are under way. Where the server is silent for [closeTime] they fail, and what Close would ask of it is left out.
func (s *Store) Close() error {
	defer s.db.network.hurry()()
	s.open.Lock()
	isFirst := !s.closed
	s.closed = true
	s.open.Unlock()
	if !isFirst {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeTime)
	defer cancel()
	s.writer.close()
	// Where the server is gone, so are the locks: what fails here is done by it.
	_ = s.changes.close(ctx)
	if n := s.owner.number.Load(); n != 0 {
		if err := s.db.session.drop(ctx, lock{s.class, n}); err == nil {
			_ = s.changes.died()
		}
	}
	err := s.db.release(ctx)
	s.changes.hub.SignalAll() // at last: a subscriber that reads now gets ErrClosed, and need not wait for another signal
	return err
}
