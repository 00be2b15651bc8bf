package store

import (
	"context"

	"github.com/hocket-run/hocket/internal/store/pgurl"
)

// Kind is a kind of store on a database server. A program has it by importing the package that implements it and passing it in [Servers]. Implementations are safe for
// concurrent use.
type Kind interface {
	// Open opens the home at a locator of the kind, and makes it where there is none. Errors: those of [Open], and those of the server's state, each with a code (package errcode).
	Open(ctx context.Context, at Locator, cfg Config) (*Home, error)
	// Look connects and tells what is there. It makes nothing. Errors: those of Open, where the server cannot be used.
	Look(ctx context.Context, at Locator) (View, error)
	// Facts connects and gives what the server says of itself, in the order in which it is shown. It leaves nothing behind. Where the server cannot be used it gives what it knows and the
	// error, which is that of Look.
	Facts(ctx context.Context, at Locator) ([]Fact, error)
}

// Servers says which kinds of stores on database servers a program opens, and how. The zero value has none.
type Servers struct {
	// Postgres opens stores in PostgreSQL; nil: they are refused with *UnsupportedError.
	Postgres Kind
	// KeyFile is the file of the key of stores on servers. It is compared with the store's fingerprint when a store is opened. "": hocket.key in Folder, which is read when the key
	// is needed.
	KeyFile string
	// Folder is where this machine keeps what belongs to a store on a server and is not in it, such as the first access token; "": nowhere.
	Folder string
	// AllowUnsafe opens stores on servers that acknowledge commits before they are on disk.
	AllowUnsafe bool
}

// Place is a store with the kinds that open it, for programs that embed Hocket.
type Place struct {
	// URL is the store; "": another setting says it.
	URL string
	Servers
}

// String gives the URL without its password.
func (p Place) String() string {
	at, err := Parse(p.URL, p.Servers)
	if err != nil {
		return ""
	}
	return at.String()
}

// View is what is known about a store without opening it.
type View struct {
	// Exists tells whether there is a store, and Bytes how large it is.
	Exists bool
	Bytes  int64
	// CanCreate is why no store can be made where none exists; nil: it can.
	CanCreate error
}

// Fact is one thing that a server says of itself.
type Fact struct {
	// Name is such as `version`, Value what it is.
	Name  string `json:"name"`
	Value string `json:"value"`
	// Warning says what is wrong with it; "": nothing.
	Warning string `json:"warning,omitempty"`
}

// URL is the address of a store in PostgreSQL; nil: the store is of another kind.
func (l Locator) URL() *pgurl.URL { return l.url }

// Servers is what the locator was read with.
func (l Locator) Servers() Servers { return l.servers }

// Tenant is the namespace of a store on a server, whose homes have one URL.
func (l Locator) Tenant() string { return l.tenant }
