// Package pgurl parses the URLs of stores in PostgreSQL:
// postgres://user@host:5432/database?schema=hocket.
//
// The form is that of libpq, PostgreSQL's own client: several hosts are separated by commas, and
// the options are those of libpq that configure the connection. Two options are Hocket's own:
// schema, the schema of the default namespace, and lease_host, the address of the server itself if
// host is a connection pooler.
//
// The package does not connect, does not read files or the environment, and does not show secrets:
// every text form of a URL except [URL.Conninfo] omits passwords, and so do errors.
package pgurl
