// Package dial connects to a Temporal server by the operator's settings, and says in one sentence why it cannot.
//
// A [Conn] is made without the server: it connects when it is first used, and again after each failure, so that a process starts while the server is away. [Conn.Check] tells whether the server
// answers, lets this process in and has the namespace; its errors have codes of package errcode.
//
// The package refuses to send an API key without TLS, to hold a key for longer than a minute after it was replaced, and to show one.
package dial
