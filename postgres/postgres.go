// Package postgres lets programs that embed Hocket keep their runs in PostgreSQL, which processes on many machines share.
//
// It is a package of its own because it links the driver of PostgreSQL, which package hocket does not. It holds no state: [Open] is an option of hocket.Open. Nothing is connected before the engine is
// opened.
package postgres

import (
	"github.com/hocket-run/hocket"
	"github.com/hocket-run/hocket/internal/parts"
	"github.com/hocket-run/hocket/internal/store"
	"github.com/hocket-run/hocket/internal/store/pghome"
)

// Open keeps an engine's runs in the database of a URL, postgres://user@host:5432/database?schema=hocket, as docs/postgresql.md describes it: PostgreSQL 14 or newer; the schema is made where there is none, and an older one is
// brought up to date. The password may also be in PGPASSWORD, or in a password file (~/.pgpass, passfile=FILE); no error and no log has it. "" leaves the URL to [hocket.Config].DB, or to store.path of [hocket.WithConfig].
//
// Errors, of hocket.Open: no URL is given; the URL is not valid; the server cannot be reached, or cannot carry a store, each with what to do about it.
func Open(url string) hocket.Option {
	return func(p *parts.Parts) {
		p.Store = &store.Place{URL: url, Servers: store.Servers{Postgres: pghome.New(nil)}}
	}
}
