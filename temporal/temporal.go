// Package temporal lets a Temporal server execute the runs of programs that embed Hocket, both of
// Go graphs and of documents: it dispatches their calls to the processes of the program, detects
// processes that died, and keeps timers.
//
// It is a separate package because it links the Temporal SDK, which package hocket does not. It
// holds no state: [Carry] is an option of hocket.Open. docs/temporal.md says what is sent to
// Temporal and when using it is worthwhile.
package temporal

import (
	"github.com/hocket-run/hocket"
	"github.com/hocket-run/hocket/internal/config"
	"github.com/hocket-run/hocket/internal/driver/carry"
	"github.com/hocket-run/hocket/internal/parts"
	"github.com/hocket-run/hocket/temporal/internal/carrier"
)

// Server specifies how to reach a Temporal server. With the zero Server, the key `temporal` of
// [hocket.WithConfig] applies.
type Server struct {
	// Address is the address of the frontend, HOST:PORT.
	Address string
	// Namespace is the Temporal namespace, which must exist; empty means default.
	Namespace string
	// Cert and Key are PEM files with the certificate of this program and its key; set both or
	// neither. CA is a PEM file with the authority of the server's certificate; empty means the
	// system's authorities.
	Cert, Key, CA string
	// ServerName is the name in the server's certificate; empty means the host of Address.
	ServerName string
	// APIKey is a reference to an API key, ${env.NAME} or file:PATH, never the key itself. It is
	// sent only over TLS. Empty means none.
	//
	// TLS is used if any of the fields from Cert on is set.
	APIKey string
}

// Carry lets a Temporal server execute the runs that an engine starts. The store must be in
// PostgreSQL (package postgres). All processes of a program, which are those with the same
// [hocket.Config].Program, make the calls of its runs: each process that started a run, or that
// called [hocket.Engine.Work] or [hocket.Engine.Recover], until it is closed. Register the
// program's graphs before that. Runs that were started without Temporal continue without it.
//
// A run does not depend on the process that started it: if the context of hocket.Run is done, or
// the caller stops reading a stream, the run continues, and [hocket.Engine.Cancel] ends it. While
// the server is down, runs are stored and wait; answers and cancellations are accepted. The
// processes of one program should have the same graphs: a process that does not have a graph leaves
// the calls of that graph to the others.
//
// hocket.Open returns an error, each in one sentence, if the settings cannot be used or the store
// is not in PostgreSQL. A server that does not respond, or rejects this program, is not an error:
// it is logged, and retried until it can be used.
func Carry(s Server) hocket.Option {
	server := carry.Server{Connect: carrier.Connect, Settings: config.Temporal{
		Address: s.Address, Namespace: s.Namespace, APIKey: s.APIKey,
		TLS: config.TemporalTLS{Cert: s.Cert, Key: s.Key, CA: s.CA, ServerName: s.ServerName},
	}}
	return func(p *parts.Parts) { p.Carrier = &server }
}
