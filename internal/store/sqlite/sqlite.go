package sqlite

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/hocket-run/hocket/internal/journal"
)

//go:embed migrations/*.sql
var migrations embed.FS

// appID marks a file as a store of Hocket ("HKTJ"); sqlSetAppID writes it.
const appID = 0x484b544a

// minSize is that of the smallest page. SQLite takes a shorter file for an empty database, and would overwrite it.
const minSize = 512

// Config says how to open a store. The zero Config is good for reading.
type Config struct {
	// Kind is the kind of process, for the errors that others get when it owns a run.
	Kind journal.Kind
	// LockTimeout is how long a caller waits while another process holds the file, before it gets a *journal.LockedError; 0: as long as it takes.
	LockTimeout time.Duration
	// Locked is called for a wait for another process after two seconds, from then on every five, and when LockTimeout is reached. It must be quick. Nil: nothing is told.
	Locked func(journal.LockWait)
}

// Store is a handle on a database file. Safe for concurrent use.
type Store struct {
	path    string
	writer  *writer
	readers *readers
	owners  *owners
	pending sync.Pool // of *pendingAppend

	pruneRecords, batchBytes int // a test makes them small
}

var _ journal.Backend = (*Store)(nil)

// Open opens the store in the file path and makes it, readable by its owner alone, where there is none; folders above it likewise. It brings
// an older store up to date. A store that is up to date is opened without a write: it can be read while another process holds its lock, and where its disk is full.
//
// Errors: journal.ErrNotStore where the file is something else, *journal.NewerError where a newer Hocket made it, *journal.LockedError where it has to be written
// and another process holds it. The file is then unchanged.
func Open(ctx context.Context, path string, cfg Config) (*Store, error) {
	path, err := place(path)
	if err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	mark := path + ownersSuffix + markSuffix
	holder := func() string { return holderOf(mark) }
	alone := &sync.Mutex{}
	s := &Store{
		path:    path,
		writer:  newWriter(path, newPatience(cfg, holder), alone),
		readers: newReaders(path, newPatience(cfg, holder), alone),
		owners:  newOwners(path+ownersSuffix, cfg.Kind),

		pruneRecords: pruneRecords, batchBytes: batchBytes,
	}
	s.writer.owner = s.owners.self.String()
	current, err := s.isCurrent(ctx)
	if err == nil && !current {
		err = s.writer.prepare(ctx)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open store %s: %w", path, explain(err)), s.Close())
	}
	return s, nil
}

// isCurrent tells whether the file has all tables, and a log.
func (s *Store) isCurrent(ctx context.Context) (current bool, _ error) {
	newest, err := schemaVersions()
	if err != nil {
		return false, err
	}
	err = s.readers.read(ctx, func(c *conn) error {
		have, err := schemaVersion(ctx, c, len(newest))
		if err != nil {
			return err
		}
		r, err := c.one(ctx, sqlJournalMode)
		current = have == len(newest) && r != nil && r.text(0) == "wal"
		return err
	})
	return current, err
}

// Close implements journal.Backend.
func (s *Store) Close() error {
	// Readers first: the last connection to close folds the log into the file, and the writer is allowed to.
	return errors.Join(s.readers.close(), s.writer.close(), s.owners.close())
}

// place makes sure that path is a file, and gives the one name by which all processes know it, whatever links lead there.
func place(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", err
	}
	st, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = createPrivate(path)
	case err == nil && st.IsDir():
		err = fmt.Errorf("%s is a folder; a store is a file", path)
	case err == nil && st.Size() > 0 && st.Size() < minSize:
		err = fmt.Errorf("%w: file %s has %d bytes", journal.ErrNotStore, path, st.Size())
	}
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(path)
}

// createPrivate makes an empty file with mode 0600. It is made under another name and linked into place: closing a file handle on a
// database would drop the locks that other connections of this process have on it.
func createPrivate(path string) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".hocket-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }()
	if err := f.Close(); err != nil {
		return err
	}
	if err := os.Link(f.Name(), path); err == nil || errors.Is(err, fs.ErrExist) {
		return nil
	}
	// No hard links here. Renaming could replace a file that another process made just now, so make it in place.
	g, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return g.Close()
}

// openWriter opens a connection that writes. Another process may be changing the journal mode or the schema, and SQLite does not always wait by itself then.
func openWriter(ctx context.Context, path string) (*conn, error) {
	c, err := dial(ctx, path)
	if err != nil {
		return nil, err
	}
	if err := setUp(ctx, c); err != nil {
		return nil, errors.Join(err, c.close())
	}
	return c, nil
}

func setUp(ctx context.Context, c *conn) error {
	if _, err := c.exec(sqlBusyNow); err != nil {
		return err
	}
	newest, err := schemaVersions()
	if err != nil {
		return err
	}
	have, err := schemaVersion(ctx, c, len(newest))
	if err != nil {
		return err
	}
	if have == 0 { // it is set before the first table, or never, and would write each time
		if _, err := c.exec(sqlVacuumMode); err != nil {
			return err
		}
	}
	for _, q := range []sqlText{sqlWAL, sqlSync, sqlWALPages, sqlWALLimit, sqlCache, sqlTemp} {
		if _, err := c.exec(q); err != nil {
			return err
		}
	}
	if have < len(newest) {
		return migrate(ctx, c, newest)
	}
	return nil
}

// schemaVersion gives the number of the last migration that the file has: 0 for an empty one.
func schemaVersion(ctx context.Context, c *conn, newest int) (int, error) {
	r, err := c.one(ctx, sqlWhose)
	if err != nil {
		return 0, err
	}
	switch app, version, tables := r.int(0), int(r.int(1)), r.int(2); {
	case app != appID && (app != 0 || version != 0 || tables != 0):
		return 0, fmt.Errorf("%w: a database of another program", journal.ErrNotStore)
	case version > newest:
		return 0, &journal.NewerError{What: "store", Have: newest, Found: version}
	default:
		return version, nil
	}
}

// schemaVersions gives the names of the migrations; the n-th, from 1, leads to version n.
func schemaVersions() ([]string, error) {
	return fs.Glob(migrations, "migrations/*.sql")
}

// migrate does what is missing, each step in a transaction. Of several processes that come at once the first does it.
func migrate(ctx context.Context, c *conn, names []string) error {
	for i, name := range names {
		text, err := migrations.ReadFile(name)
		if err != nil {
			return err
		}
		if _, err := c.exec(sqlImmediate); err != nil {
			return err
		}
		have, err := schemaVersion(ctx, c, len(names))
		if err == nil && have == i {
			_, err = c.exec(sqlSetAppID)
			if err == nil {
				err = c.script(sqlText(text))
			}
		}
		if err == nil {
			_, err = c.exec(sqlCommit)
		}
		if err != nil {
			_, _ = c.exec(sqlRollback)
			return fmt.Errorf("migrate with %s: %w", strings.TrimPrefix(name, "migrations/"), err)
		}
	}
	return nil
}
