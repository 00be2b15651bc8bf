// Package carry is the port to an engine next to the store that executes runs: it hands calls to
// workers, detects which of them died, and keeps timers. Temporal is the only one.
//
// A program gets it by importing the package that implements it, so that programs which do not need
// it do not link it. The journal remains the source of truth on every engine (ADR 88).
package carry

import (
	"context"
	"log/slog"

	"github.com/hocket-run/hocket/internal/config"
	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/driver/embedded"
	"github.com/hocket-run/hocket/internal/store"
)

// The kinds of calls that a process can take from the engine.
const (
	Models    = "model"
	Tools     = "tool"
	Functions = "func"
)

// Queues returns the kinds of calls.
func Queues() []string { return []string{Models, Tools, Functions} }

// Config configures the connection of a process.
type Config struct {
	// Settings are the operator's settings, with an address.
	Settings config.Temporal
	// Queues are the kinds of calls that the process executes; if empty, it only starts and answers
	// runs.
	Queues []string
	// Program is the name of a program that has the functions, tools and models of the runs that it
	// starts; it takes all calls of those runs and of no others. "" means that the process is not
	// such a program.
	Program string
	// Secret returns the value of a reference; nil means that there are no secrets.
	Secret func(ref string) (string, error)
	// Logger receives log messages; nil disables logging.
	Logger *slog.Logger
}

// Connect creates a Carrier without waiting for the engine. It returns an *errcode.Error if the
// settings cannot be used.
type Connect func(Config) (Carrier, error)

// Server is a server named by a program.
type Server struct {
	Settings config.Temporal
	Connect  Connect
}

// Carrier is a process's connection to an engine, for all namespaces. It is safe for concurrent
// use.
type Carrier interface {
	// Prepare checks the engine before drivers are created, for at most a few seconds, and returns
	// an error if it cannot be used at the moment. Drivers can be created nevertheless: they
	// connect later.
	Prepare(ctx context.Context) error
	// Drive creates the driver of one Hocket namespace; with cfg.NoDrive it takes calls from no
	// queue. It does not connect until a run is started or resumed.
	Drive(namespace string, cfg embedded.Config) (driver.Driver, error)
	// Watch checks the engine until ctx is done. It logs what Prepare found, and when the engine
	// becomes unavailable and available again.
	Watch(ctx context.Context)
	// Ready returns the reason why the engine has not been usable since the process started. It
	// returns nil once the engine was usable, even if it is not now: runs are answered and shown
	// without it.
	Ready() error
	// Facts connects and returns what the engine reports about itself, in display order. If the
	// engine cannot be used, it returns what is known and the error.
	Facts(ctx context.Context) ([]store.Fact, error)
	// Close closes the connection. The drivers must have been closed before.
	Close()
}
