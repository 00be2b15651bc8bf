// Package dial connects to a Temporal server with the operator's settings, and reports in one
// sentence why it cannot.
//
// A [Conn] is created without contacting the server: it connects when it is first used, and again
// after each failure, so that a process can start while the server is down. [Conn.Check] checks
// that the server responds, accepts this process and has the namespace; its errors have codes of
// package errcode.
//
// The package never sends an API key without TLS, keeps a key for more than a minute after it was
// replaced, or shows a key.
package dial
