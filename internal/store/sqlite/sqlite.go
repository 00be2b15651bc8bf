package sqlite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/hocket-run/hocket/internal/journal"
)

// appID marks a file as a store of Hocket ("HKTJ"); sqlSetAppID writes it.
const appID = 0x484b544a

// minSize is the size of the smallest page. SQLite treats a shorter file as an empty database, and
// would overwrite it.
const minSize = 512

// Config configures how a store is opened. The zero Config is suitable for reading.
type Config struct {
	// Kind is the kind of process, used in errors that others get when it owns a run.
	Kind journal.Kind
	// Place is where the process continues others' runs; "" means nowhere.
	Place string
	// LockTimeout is how long a caller waits while another process holds the file, before it gets a
	// *journal.LockedError; 0 means without limit.
	LockTimeout time.Duration
	// Locked is called while waiting for another process: after two seconds, then every five, and
	// when LockTimeout is reached. It must be quick. If nil, waits are not reported.
	Locked func(journal.LockWait)
	// Unfinished opens a file that contains an unfinished copy; without it, opening returns
	// journal.ErrUnfinished.
	Unfinished bool
}

// Store is a handle on a database file. It is safe for concurrent use.
type Store struct {
	path    string
	found   int // see Version
	newest  int
	writer  *writer
	readers *readers
	owners  *owners
	changes *changes
	pending sync.Pool // of *pendingAppend

	pruneRecords, batchBytes int // smaller in tests
}

var _ journal.Backend = (*Store)(nil)

// Open opens the store in the file path and creates it, readable by its owner only, if it does not
// exist; likewise the folders above it. It brings an older store up to date. A store that is up to
// date is opened without a write: it can be read while another process holds its lock, and if its
// disk is full.
//
// Errors are journal.ErrNotStore if the file is something else, journal.ErrUnfinished if a copy has
// not ended, journal.ErrOldStore if a build before the first release created it,
// *journal.NewerError if a newer Hocket created it, and *journal.LockedError if it must be written
// and another process holds it. The file is then unchanged.
func Open(ctx context.Context, path string, cfg Config) (*Store, error) {
	path, err := canonicalPath(path)
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
		owners:  newOwners(path+ownersSuffix, cfg.Kind, cfg.Place),

		pruneRecords: pruneRecords, batchBytes: batchBytes,
	}
	s.changes = newChanges(s.readers, s.owners)
	s.writer.owner = s.owners.self.String()
	current, err := s.isCurrent(ctx, cfg.Unfinished)
	if err == nil && !current {
		err = s.writer.prepare(ctx)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open store %s: %w", path, explain(err)), s.Close())
	}
	return s, nil
}

// isCurrent reports whether the file has all tables, and a log. It returns journal.ErrUnfinished if
// a copy into the file has not ended.
func (s *Store) isCurrent(ctx context.Context, unfinished bool) (current bool, _ error) {
	steps, err := migrations()
	if err != nil {
		return false, err
	}
	err = s.readers.read(ctx, func(c *conn) error {
		have, err := schemaVersion(ctx, c, steps)
		if err != nil {
			return err
		}
		if r, err := c.one(ctx, sqlWhose); err != nil || r.int(3) > 0 && !unfinished {
			return cmp.Or(err, journal.ErrUnfinished)
		}
		r, err := c.one(ctx, sqlJournalMode)
		s.found, s.newest = have, newest(steps)
		current = have == newest(steps) && r != nil && r.text(0) == "wal"
		return err
	})
	return current, err
}

// Version returns the version of the tables found when the store was opened, 0 for none, and their
// current version.
func (s *Store) Version() (found, now int) { return s.found, s.newest }

// Close implements journal.Backend.
func (s *Store) Close() error {
	// Readers first: the last connection to close folds the log into the file, and only the writer
	// may.
	err := errors.Join(s.changes.close(), s.readers.close(), s.writer.close(), s.owners.close())
	s.changes.hub.SignalAll() // last: a subscriber that reads now gets ErrClosed, and need not wait for another signal
	return err
}

// canonicalPath makes sure that path is a file, and returns the canonical name by which all
// processes know it, whatever links lead there.
func canonicalPath(path string) (string, error) {
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

// createPrivate creates an empty file with mode 0600. It is created under another name and linked
// into place, because closing a file handle on a database would release the locks that other
// connections of this process have on it.
func createPrivate(path string) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".hocket-*")
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return &fs.PathError{Op: "create", Path: path, Err: e.Err} // the temporary name means nothing to anyone
	}
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
	// There are no hard links here. Renaming could replace a file that another process has just
	// created, so create it in place.
	g, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return g.Close()
}

// openWriter opens a connection that writes. Another process may be changing the journal mode or
// the schema, and SQLite does not always wait for that by itself.
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
	steps, err := migrations()
	if err != nil {
		return err
	}
	have, err := schemaVersion(ctx, c, steps)
	if err != nil {
		return err
	}
	if have == 0 { // must be set before the first table, and would write each time
		if _, err := c.exec(sqlVacuumMode); err != nil {
			return err
		}
	}
	for _, q := range []sqlText{sqlWAL, sqlSync, sqlNoFold, sqlWALLimit, sqlCache, sqlTemp} {
		if _, err := c.exec(q); err != nil {
			return err
		}
	}
	return migrate(ctx, c, steps, have)
}
