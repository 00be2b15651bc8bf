package store

import (
	"context"

	"github.com/hocket-run/hocket/internal/store/pgurl"
)

// Kind is a kind of store on a database server. A program imports the package that implements it
// and passes it in [Servers]. Implementations must be safe for concurrent use.
type Kind interface {
	// Open opens the home at a locator of the kind, and creates it if there is none. Errors are
	// those of [Open], and errors about the server's state, each with a code (package errcode).
	Open(ctx context.Context, at Locator, cfg Config) (*Home, error)
	// Look connects and returns what is there. It creates nothing. Errors are those of Open if the
	// server cannot be used.
	Look(ctx context.Context, at Locator) (View, error)
	// Facts connects and returns what the server reports about itself, in display order. It leaves
	// nothing behind. If the server cannot be used, Facts returns what it knows and the error that
	// Look would return.
	Facts(ctx context.Context, at Locator) ([]Fact, error)
}

// Servers configures which kinds of stores on database servers a program can open, and how. The
// zero value has none.
type Servers struct {
	// Postgres opens stores in PostgreSQL; if nil, they are rejected with *UnsupportedError.
	Postgres Kind
	// KeyFile is the key file of stores on servers. It is compared with the store's fingerprint
	// when a store is opened. "" means hocket.key in Folder, which is read when the key is needed.
	KeyFile string
	// Folder is where this machine keeps files that belong to a store on a server but are not in
	// it, such as the first access token; "" means nowhere.
	Folder string
	// AllowUnsafe opens stores on servers that acknowledge commits before they are on disk.
	AllowUnsafe bool
}

// Place is a store with the kinds that can open it, for programs that embed Hocket.
type Place struct {
	// URL names the store; "" means that another setting names it.
	URL string
	Servers
}

// String returns the URL without its password.
func (p Place) String() string {
	at, err := Parse(p.URL, p.Servers)
	if err != nil {
		return ""
	}
	return at.String()
}

// View is what is known about a store without opening it.
type View struct {
	// Exists reports whether there is a store; Bytes is its size.
	Exists bool
	Bytes  int64
	// CanCreate is the reason why no store can be created if none exists; nil means that it can.
	CanCreate error
}

// Fact is one fact that a server reports about itself.
type Fact struct {
	// Name is a name such as `version`; Value is its value.
	Name  string `json:"name"`
	Value string `json:"value"`
	// Warning describes a problem with the fact; "" means none.
	Warning string `json:"warning,omitempty"`
}

// URL returns the address of a store in PostgreSQL, or nil if the store is of another kind.
func (l Locator) URL() *pgurl.URL { return l.url }

// Servers returns the servers that the locator was parsed with.
func (l Locator) Servers() Servers { return l.servers }

// Tenant returns the namespace of a store on a server, where all homes share one URL.
func (l Locator) Tenant() string { return l.tenant }
