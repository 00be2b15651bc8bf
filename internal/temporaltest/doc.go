// Command temporaltest is a Temporal server for tests: all four services of the real server in one process, on 127.0.0.1.
//
// Without flags its database is SQLite in memory. With -postgres and -visibility it is two databases of PostgreSQL, given by URL; their schemas are made, or brought up to date, in this process, as
// temporal-sql-tool does. With -tls-cert, -tls-key and -tls-ca the frontend asks for TLS and for a certificate of that authority; with -api-key for that key in place of
// a certificate.
//
// Standard output has one line "ready HOST:PORT" when the server answers. Then standard input has one command a line, each answered by a line "done" or "error TEXT":
//
//	namespace NAME    registers a namespace that keeps ended workflows for a day, and waits until it can be used
//	attributes NAME   adds the search attributes HocketWorkflow and HocketStatus to it
//
// SIGINT and SIGTERM stop the server in order. The end of standard input ends the process at once: a server does not outlive the test that started it.
//
// It is a module of its own, since the server needs some 250 modules that Hocket does not. Package internal/temporalserver starts it.
package main
