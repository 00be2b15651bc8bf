package pghome

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/store"
	"github.com/hocket-run/hocket/internal/store/postgres"
	"github.com/hocket-run/hocket/internal/store/tables"
	"github.com/hocket-run/hocket/internal/store/tables/accessdb"
	"github.com/hocket-run/hocket/internal/store/tables/catalogdb"
	"github.com/hocket-run/hocket/internal/store/tables/checkpointdb"
	"github.com/hocket-run/hocket/internal/store/tables/hookdb"
	"github.com/hocket-run/hocket/internal/store/tables/memorydb"
)

// sizeTimeout limits the query for the size of a store.
const sizeTimeout = 10 * time.Second

// database holds the open stores of this process on one database, which share its connections.
type database struct {
	mu     sync.Mutex
	stores map[*postgres.Store]bool
}

// Open implements store.Kind.
func (k *Kind) Open(ctx context.Context, at store.Locator, cfg store.Config) (*store.Home, error) {
	t, err := targetOf(at.URL())
	if err != nil {
		return nil, err
	}
	s, err := t.probe(ctx, at.Servers(), k.now)
	if err != nil {
		return nil, err
	}
	warnOfClock(cfg.Logger, s)
	t.relay, t.conn.Tracer, t.session.Tracer = k.relay, k.tracer, k.tracer
	d := k.databaseOf(t, cfg)
	opened, err := k.open(ctx, t, d, at, cfg)
	if err != nil {
		return nil, t.explainOpen(s, err)
	}
	parts := store.Parts{
		Journal: handle{Store: opened, close: func() error { return d.close(opened) }},
		Catalog: catalogdb.New(opened.Tables(postgres.Catalog)), Access: accessdb.New(opened.Tables(postgres.Access)),
		Hooks: hookdb.New(opened.Tables(postgres.Hooks)), Checkpoints: checkpointdb.New(
			opened.Tables(postgres.Checkpoints)), Memories: memorydb.New(opened.Tables(postgres.Memories)),
		Tables: opened.All(),
	}
	key := func() (key []byte, err error) {
		ctx, cancel := context.WithTimeout(context.Background(), keyTimeout)
		defer cancel()
		err = d.withAccess(ctx, opened, at, func(db tables.DB) error {
			key, err = keyOf(ctx, db, at)
			return err
		})
		return key, err
	}
	found, now := opened.Version()
	return store.New(at, parts, key, func() []store.Size {
		return sizes(opened)
	}, store.Version{Found: found, Now: now}), nil
}

// handle is a store whose Close first removes it from the list of open stores.
type handle struct {
	*postgres.Store
	close func() error
}

// Close implements journal.Backend.
func (h handle) Close() error { return h.close() }

// databaseOf returns the open stores on a database.
func (k *Kind) databaseOf(t target, cfg store.Config) *database {
	k.mu.Lock()
	defer k.mu.Unlock()
	key := t.url.Conninfo() + "\x00" + t.url.LeaseConninfo() + "\x00" + strconv.FormatBool(cfg.Unfinished) +
		string(cfg.Kind)
	d := k.databases[key]
	if d == nil {
		d = &database{stores: map[*postgres.Store]bool{}}
		k.databases[key] = d
	}
	return d
}

// open opens the store of a namespace, through the store of the default namespace.
func (k *Kind) open(ctx context.Context, t target, d *database, at store.Locator, cfg store.Config) (
	*postgres.Store, error) {
	first, err := d.store(ctx, t, t.url.Schema(), cfg)
	if err != nil {
		return nil, err
	}
	if err := checkKey(ctx, first.Tables(postgres.Access), at); err != nil {
		return nil, errors.Join(err, d.close(first))
	}
	if at.Tenant() == access.DefaultNamespace {
		return first, nil
	}
	schema, err := tenantSchema(ctx, first.Tables(postgres.Access), t.url.Schema(), at.Tenant())
	if err != nil {
		return nil, errors.Join(err, d.close(first))
	}
	second, err := d.store(ctx, t, schema, cfg)
	return second, errors.Join(err, d.close(first))
}

// store opens the store of a schema, using the connections of another open store if there is one.
func (d *database) store(ctx context.Context, t target, schema string, open store.Config) (*postgres.Store, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	var s *postgres.Store
	var err error
	for other := range d.stores {
		s, err = other.Beside(ctx, schema)
		break
	}
	if s == nil && err == nil {
		cfg := postgres.Config{Pool: t.pool, Schema: schema, Relay: t.relay, Kind: open.Kind, Place: open.Place,
			Unfinished: open.Unfinished}
		if t.session != t.conn {
			cfg.Session = t.session
		}
		s, err = postgres.Open(ctx, cfg)
	}
	if err != nil {
		return nil, err
	}
	d.stores[s] = true
	return s, nil
}

// close closes a store. Only the first call has an effect.
func (d *database) close(s *postgres.Store) error {
	d.mu.Lock()
	delete(d.stores, s)
	d.mu.Unlock()
	return s.Close()
}

// withAccess calls do with the access tables of the default namespace. opened is the store of the
// locator's namespace.
func (d *database) withAccess(ctx context.Context, opened *postgres.Store, at store.Locator,
	do func(tables.DB) error) error {
	if at.Tenant() == access.DefaultNamespace {
		return do(opened.Tables(postgres.Access))
	}
	first, err := opened.Beside(ctx, at.URL().Schema())
	if err != nil {
		return err
	}
	return errors.Join(do(first.Tables(postgres.Access)), first.Close())
}

func sizes(s *postgres.Store) []store.Size {
	ctx, cancel := context.WithTimeout(context.Background(), sizeTimeout)
	defer cancel()
	n, err := s.Size(ctx)
	if err != nil {
		return nil // the metric is omitted
	}
	return []store.Size{{Part: "main", Bytes: n}}
}

const sqlTenant tables.Text = `SELECT number FROM namespaces WHERE name = ?`

// schemaOf returns the schema of a namespace by its number, which was assigned with its first
// token.
func schemaOf(base string, number int64) string { return base + "_n" + strconv.FormatInt(number, 10) }

// tenantSchema returns the schema of a namespace. db is the access part of the default one. It
// returns access.ErrNoNamespace if the namespace does not exist.
func tenantSchema(ctx context.Context, db tables.DB, base, name string) (string, error) {
	if err := access.CheckNamespace(name); err != nil || name == access.DefaultNamespace {
		return base, err
	}
	var number int64
	err := db.View(ctx, func(tx tables.Tx) error {
		return tx.Query(sqlTenant, func(c []any) error { number = tables.Int(c[0]); return nil }, name)
	})
	if err == nil && number == 0 {
		err = access.ErrNoNamespace
	}
	if err != nil {
		return "", fmt.Errorf("find the schema of namespace %s: %w", name, err)
	}
	return schemaOf(base, number), nil
}
