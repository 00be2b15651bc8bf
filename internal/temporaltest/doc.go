// Command temporaltest is a Temporal server for tests: all four services of the real server in one
// process, on 127.0.0.1.
//
// Without flags its database is SQLite in memory. With -postgres and -visibility it uses two
// PostgreSQL databases, specified by URL; their schemas are created, or brought up to date, in this
// process, as temporal-sql-tool does. With -tls-cert, -tls-key and -tls-ca the frontend requires
// TLS and a certificate of that authority; with -api-key it requires that key instead of a
// certificate.
//
// Standard output has one line "ready HOST:PORT" when the server answers. Then standard input has
// one command per line, each answered by a line "done" or "error TEXT":
//
//	namespace NAME    registers a namespace that keeps ended workflows for a day, and waits until it can be used
//	attributes NAME   adds the search attributes HocketWorkflow and HocketStatus to it
//
// SIGINT and SIGTERM stop the server gracefully. The end of standard input ends the process
// immediately: a server does not outlive the test that started it.
//
// It is a separate module, because the server needs about 250 modules that Hocket does not. Package
// internal/temporalserver starts it.
package main
