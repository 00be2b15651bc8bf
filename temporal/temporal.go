// Package temporal lets a Temporal server carry the runs of programs that embed Hocket, of Go graphs and of documents: it gives their calls to the processes of the program, notices those that died,
// and keeps timers.
//
// It is a package of its own because it links the SDK of Temporal, which package hocket does not. It holds no state: [Carry] is an option of hocket.Open. docs/temporal.md says what Temporal gets
// and when it is worth it.
package temporal

import (
	"github.com/hocket-run/hocket"
	"github.com/hocket-run/hocket/internal/config"
	"github.com/hocket-run/hocket/internal/driver/carry"
	"github.com/hocket-run/hocket/internal/parts"
	"github.com/hocket-run/hocket/temporal/internal/carrier"
)

// Server says how to reach a Temporal server. The zero Server leaves all to the key `temporal` of [hocket.WithConfig].
type Server struct {
	// Address is that of the frontend, HOST:PORT.
	Address string
	// Namespace is that of Temporal, which must exist; "": default.
	Namespace string
	// Cert and Key are PEM files with the certificate of this program and its key, both or none. CA is a PEM file with the authority of the server's certificate; "": those of the machine.
	Cert, Key, CA string
	// ServerName is the name in the server's certificate; "": the host of Address.
	ServerName string
	// APIKey is a reference to an API key, ${env.NAME} or file:PATH, never the key itself. It goes over TLS only. "": none.
	//
	// TLS is used where one of the fields from Cert on is set.
	APIKey string
}

// Carry has a Temporal server carry the runs that an engine starts. The store must be in PostgreSQL (package postgres). All processes of a program, those with the same [hocket.Config].Program, make the
// calls of its runs: each that started a run, or that called [hocket.Engine.Work] or [hocket.Engine.Recover], until it is closed. Register its graphs before that. Runs that were started without
// Temporal go on without it.
//
// A run does not depend on the process that started it: where the context of hocket.Run is done, or a stream is left, the run goes on, and [hocket.Engine.Cancel] ends it. While the server is away,
// runs are stored and wait; answers and cancellations are taken. The processes of one program should have the same graphs: a call of one that a process does not have is left to the others.
//
// Errors, of hocket.Open: the settings cannot be used, each in one sentence; the store is not in PostgreSQL. A server that does not answer, or refuses this program, is no error: it is logged, and
// tried until it can be used.
func Carry(s Server) hocket.Option {
	server := carry.Server{Connect: carrier.Connect, Settings: config.Temporal{
		Address: s.Address, Namespace: s.Namespace, APIKey: s.APIKey,
		TLS: config.TemporalTLS{Cert: s.Cert, Key: s.Key, CA: s.CA, ServerName: s.ServerName},
	}}
	return func(p *parts.Parts) { p.Carrier = &server }
}
