// Package pgurl reads the URLs of stores in PostgreSQL: postgres://user@host:5432/database?schema=hocket.
//
// The form is that of libpq, PostgreSQL's own client: several hosts are separated by commas, and the options are those of libpq that say how to connect. Two are Hocket's own:
// schema, the schema of the default namespace, and lease_host, the address of the server itself where host is a connection pooler.
//
// The package refuses to connect, to read files or the environment, and to show a secret: every text form of a URL but [URL.Conninfo] leaves passwords out, errors too.
package pgurl
