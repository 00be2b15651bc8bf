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

// Access keeps tokens, names of namespaces and the audit log.
type Access interface {
	access.SessionStore
	access.Store
	access.Log
}

// Parts are what is kept of a namespace. All are safe for concurrent use.
type Parts struct {
	Journal     journal.Backend
	Catalog     catalog.Store
	Access      Access
	Hooks       hookdata.Store
	Checkpoints checkpoint.Store
	Memories    memory.Store
	// Tables lends all tables, the journal's too, for copies of the store, which nothing else may use meanwhile; nil in memory.
	Tables tables.DB
}

// Home is an open store with all its parts, which are of no use after Close.
type Home struct {
	Parts

	at      Locator
	key     func() ([]byte, error)
	sizes   func() []Size
	version Version
}

// Version is that of a store's tables. Each kind of store counts its own.
type Version struct {
	// Found is what was there when the home was opened; 0: no tables. Now is what is there since: the newest that this program knows. Both are 0 in memory.
	Found, Now int
}

// New makes the home of parts, for the kinds of stores. key gives the key, for [Home.Key], and sizes how large the store is, for [Home.Sizes]. The home's Close closes Journal.
func New(at Locator, parts Parts, key func() ([]byte, error), sizes func() []Size, v Version) *Home {
	return &Home{Parts: parts, at: at, key: key, sizes: sizes, version: v}
}

// Config says how to open a home. Its zero value is good for reading.
type Config struct {
	// Kind is the kind of process, for the errors that others get when it owns a run.
	Kind journal.Kind
	// Place is where the process continues runs of others; "": nowhere.
	Place string
	// LockTimeout is how long a caller waits while another process holds the store, before it gets a *journal.LockedError; 0: as long as it takes.
	LockTimeout time.Duration
	// Locked is called for a wait for another process after two seconds, from then on every five, and when LockTimeout is reached. It must be quick. Nil: it is not told.
	Locked func(journal.LockWait)
	// Logger gets what is remarkable about a server and no error, such as a clock that is wrong; nil: dropped.
	Logger *slog.Logger
	// RetainRuns is how many ended runs a home in memory keeps; 0: 1,000, negative: none. See journal.Memory.Retain.
	RetainRuns int
	// Unfinished opens a store in which a copy has not ended (package storecopy); others get journal.ErrUnfinished.
	Unfinished bool
}

// Bounds of the ended runs that a home in memory keeps. Events bound them where runs are long.
const (
	defaultRetainRuns = 1000
	maxRetainEvents   = 100_000
)

// Open opens the home that a locator names, and makes it, readable by its owner alone, where there is none. An older one is brought up to date.
//
// Errors: those of Parse; journal.ErrNotStore where something else is there, *journal.NewerError where a newer Hocket made it, *journal.LockedError where it has to be written and
// another process holds it; those that match journal.ErrUnavailable, which may pass; of a server, those of its state, each with a code.
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
	file, err := sqlite.Open(ctx, l.text, sqlite.Config{Kind: cfg.Kind, Place: cfg.Place, LockTimeout: cfg.LockTimeout, Locked: cfg.Locked, Unfinished: cfg.Unfinished})
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
		Journal: file, Catalog: catalogdb.New(file), Access: accessdb.New(file), Hooks: hookdb.New(file), Checkpoints: checkpointdb.New(file), Memories: memorydb.New(file), Tables: file,
	}
	return New(l, parts, l.readKey, sizes, versionOf(file)), nil
}

func openMemory(at Locator, cfg Config) *Home {
	key := newKey()
	runs := journal.NewMemory()
	runs.Retain(max(0, cmp.Or(cfg.RetainRuns, defaultRetainRuns)), maxRetainEvents)
	return New(at, Parts{
		Journal: runs.Open(cfg.Kind), Catalog: &catalog.Memory{}, Access: &access.Memory{}, Hooks: &hookdata.Memory{}, Checkpoints: &checkpoint.Memory{}, Memories: &memory.Kept{},
	}, func() ([]byte, error) { return slices.Clone(key), nil }, func() []Size { return nil }, Version{})
}

func versionOf(file *sqlite.Store) Version {
	found, now := file.Version()
	return Version{found, now}
}

// Locator says where the home is.
func (h *Home) Locator() Locator { return h.at }

// Version gives the version of the tables before the home was opened, and now.
func (h *Home) Version() Version { return h.version }

// IsDurable tells whether what is kept outlives the process.
func (h *Home) IsDurable() bool { return !h.at.IsMemory() }

// Key gives the secret key of the home, 32 bytes, by which secrets are sealed and links are signed. It is made when it is asked for first; who only looks needs none. The
// slice is the caller's.
//
// Errors: the key cannot be read or made; others can read it; it has another length.
func (h *Home) Key() ([]byte, error) { return h.key() }

// Size is a part of a store on disk: `main`, or `wal` for the write-ahead log of a file.
type Size struct {
	Part  string
	Bytes int64
}

// Sizes gives how large the store is on disk; nil in memory. A part that is not there is empty.
func (h *Home) Sizes() []Size { return h.sizes() }

// Close waits for what is being written, gives up every run that the home's journal owns, and frees everything. A second Close does nothing.
func (h *Home) Close() error { return h.Journal.Close() }
