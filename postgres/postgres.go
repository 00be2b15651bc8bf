// Package postgres lets programs that embed Hocket store their runs in PostgreSQL, which processes
// on many machines can share.
//
// It is a separate package because it links the PostgreSQL driver, which package hocket does not.
// It holds no state: [Open] is an option of hocket.Open. It makes no connection before the engine
// is opened.
package postgres

import (
	"github.com/hocket-run/hocket"
	"github.com/hocket-run/hocket/internal/parts"
	"github.com/hocket-run/hocket/internal/store"
	"github.com/hocket-run/hocket/internal/store/pghome"
)

// Open stores an engine's runs in the database at a URL,
// postgres://user@host:5432/database?schema=hocket, as described in docs/postgresql.md. It requires
// PostgreSQL 14 or newer; the schema is created if it does not exist, and an older one is migrated.
// The password may also be in PGPASSWORD, or in a password file (~/.pgpass, passfile=FILE); it
// appears in no error and no log. An empty URL means the URL in [hocket.Config].DB, or in
// store.path of [hocket.WithConfig].
//
// hocket.Open returns an error if no URL is set, if the URL is not valid, or if the server cannot
// be reached or cannot hold a store; each error says what to do about it.
func Open(url string) hocket.Option {
	return func(p *parts.Parts) {
		p.Store = &store.Place{URL: url, Servers: store.Servers{Postgres: pghome.New(nil)}}
	}
}
