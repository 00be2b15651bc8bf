package store

import (
	"cmp"
	"context"
	"log/slog"
	"os"
	"slices"
	"time"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/api/hooks/hookdata"
	"github.com/hocket-run/hocket/internal/catalog"
	"github.com/hocket-run/hocket/internal/checkpoint"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/store/sqlite"
	"github.com/hocket-run/hocket/internal/store/tables"
	"github.com/hocket-run/hocket/internal/store/tables/accessdb"
	"github.com/hocket-run/hocket/internal/store/tables/catalogdb"
	"github.com/hocket-run/hocket/internal/store/tables/checkpointdb"
	"github.com/hocket-run/hocket/internal/store/tables/hookdb"
	"github.com/hocket-run/hocket/internal/store/tables/memorydb"
	"github.com/hocket-run/hocket/internal/tool/memory"
)

// Access stores tokens, names of namespaces and the audit log.
type Access interface {
	access.SessionStore
	access.Store
	access.Log
}

// Parts are the stored parts of a namespace. All are safe for concurrent use.
type Parts struct {
	Journal     journal.Backend
	Catalog     catalog.Store
	Access      Access
	Hooks       hookdata.Store
	Checkpoints checkpoint.Store
	Memories    memory.Store
	// Tables provides all tables, including the journal's, for copies of the store, during which
	// nothing else may use them; nil in memory.
	Tables tables.DB
}

// Home is an open store with all its parts, which must not be used after Close.
type Home struct {
	Parts

	at      Locator
	key     func() ([]byte, error)
	sizes   func() []Size
	version Version
}

// Version is the version of a store's tables. Each kind of store counts its own.
type Version struct {
	// Found is the version found when the home was opened; 0 means that there were no tables. Now
	// is the version since then, the newest that this program knows. Both are 0 in memory.
	Found, Now int
}

// New returns the home with the given parts; it is for implementations of kinds of stores. key
// returns the key, for [Home.Key], and sizes the size of the store, for [Home.Sizes]. The home's
// Close closes Journal.
func New(at Locator, parts Parts, key func() ([]byte, error), sizes func() []Size, v Version) *Home {
	return &Home{Parts: parts, at: at, key: key, sizes: sizes, version: v}
}

// Config configures how a home is opened. Its zero value is suitable for reading.
type Config struct {
	// Kind is the kind of process, used in errors that others get when it owns a run.
	Kind journal.Kind
	// Place is where the process continues others' runs; "" means nowhere.
	Place string
	// LockTimeout is how long a caller waits while another process holds the store, before it gets
	// a *journal.LockedError; 0 means without limit.
	LockTimeout time.Duration
	// Locked is called while waiting for another process: after two seconds, then every five, and
	// when LockTimeout is reached. It must be quick. If nil, waits are not reported.
	Locked func(journal.LockWait)
	// Logger receives notable facts about a server that are not errors, such as a wrong clock; if
	// nil, they are dropped.
	Logger *slog.Logger
	// RetainRuns is how many ended runs an in-memory home keeps; 0 means 1,000, a negative value
	// none. See journal.Memory.Retain.
	RetainRuns int
	// Unfinished opens a store that contains an unfinished copy (package storecopy); without it,
	// opening such a store returns journal.ErrUnfinished.
	Unfinished bool
}

// Limits on the ended runs that an in-memory home keeps. The limit on events takes effect if runs
// are long.
const (
	defaultRetainRuns = 1000
	maxRetainEvents   = 100_000
)

// Open opens the home that a locator names, and creates it, readable by its owner only, if there is
// none. An older one is brought up to date.
//
// Errors are those of Parse; journal.ErrNotStore if something else is there; *journal.NewerError if
// a newer Hocket created it; *journal.LockedError if it must be written and another process holds
// it; errors that match journal.ErrUnavailable, which may be temporary; and, for a server, errors
// about its state, each with a code.
func Open(ctx context.Context, locator string, cfg Config) (*Home, error) {
	at, err := Parse(locator, Servers{})
	if err != nil {
		return nil, err
	}
	return at.Open(ctx, cfg)
}

// Open opens the home at the locator, as [Open] does.
func (l Locator) Open(ctx context.Context, cfg Config) (*Home, error) {
	switch {
	case l.url != nil:
		return l.servers.Postgres.Open(ctx, l, cfg)
	case l.IsMemory():
		return openMemory(l, cfg), nil
	}
	file, err := sqlite.Open(ctx, l.text, sqlite.Config{Kind: cfg.Kind, Place: cfg.Place, LockTimeout: cfg.LockTimeout,
		Locked: cfg.Locked, Unfinished: cfg.Unfinished})
	if err != nil {
		return nil, err
	}
	sizes := func() []Size {
		out := []Size{{Part: "main"}, {Part: "wal"}}
		for i, suffix := range []string{"", "-wal"} {
			if st, err := os.Stat(l.text + suffix); err == nil {
				out[i].Bytes = st.Size()
			}
		}
		return out
	}
	parts := Parts{
		Journal: file, Catalog: catalogdb.New(file), Access: accessdb.New(file), Hooks: hookdb.New(file),
		Checkpoints: checkpointdb.New(file), Memories: memorydb.New(file), Tables: file,
	}
	return New(l, parts, l.readKey, sizes, versionOf(file)), nil
}

func openMemory(at Locator, cfg Config) *Home {
	key := newKey()
	runs := journal.NewMemory()
	runs.Retain(max(0, cmp.Or(cfg.RetainRuns, defaultRetainRuns)), maxRetainEvents)
	return New(at, Parts{
		Journal: runs.Open(cfg.Kind), Catalog: &catalog.Memory{}, Access: &access.Memory{}, Hooks: &hookdata.Memory{},
		Checkpoints: &checkpoint.Memory{}, Memories: &memory.Kept{},
	}, func() ([]byte, error) { return slices.Clone(key), nil }, func() []Size { return nil }, Version{})
}

func versionOf(file *sqlite.Store) Version {
	found, now := file.Version()
	return Version{found, now}
}

// Locator returns the location of the home.
func (h *Home) Locator() Locator { return h.at }

// Version returns the version of the tables before the home was opened, and the current one.
func (h *Home) Version() Version { return h.version }

// IsDurable reports whether the stored data outlives the process.
func (h *Home) IsDurable() bool { return !h.at.IsMemory() }

// Key returns the home's secret key, 32 bytes, with which secrets are sealed and links are signed.
// It is created when it is first requested, so read-only use needs none. The slice belongs to the
// caller.
//
// Key returns an error if the key cannot be read or created, if others can read it, or if it has
// another length.
func (h *Home) Key() ([]byte, error) { return h.key() }

// Size is the size of a part of a store on disk: `main`, or `wal` for the write-ahead log of a
// file.
type Size struct {
	Part  string
	Bytes int64
}

// Sizes returns the sizes of the store's parts on disk; nil in memory. A missing part has size 0.
func (h *Home) Sizes() []Size { return h.sizes() }

// Close waits for pending writes, releases every run that the home's journal owns, and frees all
// resources. A second Close has no effect.
func (h *Home) Close() error { return h.Journal.Close() }
