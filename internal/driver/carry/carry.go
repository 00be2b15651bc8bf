// Package carry is the port to an engine beside the store that carries runs: it gives calls to workers, sees which of them died, and keeps timers. Temporal is the only one.
//
// A program has it by importing the package that implements it, so that programs which do not ask for it do not link it. The journal stays the truth on every engine (ADR 88).
package carry

import (
	"context"
	"log/slog"

	"github.com/hocket-run/hocket/internal/config"
	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/driver/embedded"
	"github.com/hocket-run/hocket/internal/store"
)

// The kinds of calls that a process may take from the engine.
const (
	Models    = "model"
	Tools     = "tool"
	Functions = "func"
)

// Queues lists the kinds of calls.
func Queues() []string { return []string{Models, Tools, Functions} }

// Config says how a process connects.
type Config struct {
	// Settings are the operator's, with an address.
	Settings config.Temporal
	// Queues are the kinds of calls that the process carries out; none: it only starts runs and answers.
	Queues []string
	// Program is the name of a program that has the functions, tools and models of the runs that it starts, all calls of which it takes, and of no others; "": it is none.
	Program string
	// Secret gives the value of a reference; nil: there are none.
	Secret func(ref string) (string, error)
	// Logger; nil: none.
	Logger *slog.Logger
}

// Connect makes a Carrier without waiting for the engine. Errors: *errcode.Error where the settings cannot be used.
type Connect func(Config) (Carrier, error)

// Server is a server that a program names.
type Server struct {
	Settings config.Temporal
	Connect  Connect
}

// Carrier is the connection of a process to an engine, for all namespaces. Safe for concurrent use.
type Carrier interface {
	// Prepare looks at the engine before drivers are made, for at most some seconds, and tells why it cannot be used at the moment. Drivers can be made nevertheless: they connect later.
	Prepare(ctx context.Context) error
	// Drive makes the driver of one namespace of Hocket; with cfg.NoDrive it takes calls of no queue. It connects to nothing until a run is started or taken up.
	Drive(namespace string, cfg embedded.Config) (driver.Driver, error)
	// Watch looks at the engine until ctx is done, and logs what Prepare found, when it cannot be used and when it can again.
	Watch(ctx context.Context)
	// Ready tells why the engine could not be used since the process began; nil once it could, also where it cannot now: runs are answered and shown without it.
	Ready() error
	// Facts connects and gives what the engine says of itself, in the order in which it is shown. Where it cannot be used it gives what is known and the error.
	Facts(ctx context.Context) ([]store.Fact, error)
	// Close ends the connection, after the drivers were closed.
	Close()
}
