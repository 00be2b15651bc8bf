package temporaldriver

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"go.temporal.io/sdk/client"

	"github.com/hocket-run/hocket/internal/driver/embedded"
	"github.com/hocket-run/hocket/internal/journal"
)

// Queue is a kind of calls that workers accept.
type Queue string

// The kinds of calls.
const (
	QueueModel Queue = "model"
	QueueTool  Queue = "tool"
	// QueueFunc is for the functions of Go graphs. All calls of such a run are made by programs
	// that have its functions.
	QueueFunc Queue = "func"
)

// Queues lists the kinds of calls.
func Queues() []Queue { return []Queue{QueueModel, QueueTool, QueueFunc} }

// Config configures a Driver. Its embedded Config applies to the runs that Temporal does not
// execute; the fields Store, Open, Program, Foreign, MaxCalls, Slots, ApproveAll, Hooks, Now and
// Logger apply to all runs. Only Store and Client are required.
type Config struct {
	embedded.Config
	// Client is connected to a Temporal namespace, or will be: while it is not, runs are stored and
	// wait. The driver does not close it.
	Client client.Client
	// Namespace is the Hocket namespace, which is part of the names of queues; empty means default.
	Namespace string
	// Queues are the kinds of calls that this process executes. If empty, it executes none and only
	// starts runs and accepts answers.
	Queues []Queue
	// Place is the label of this machine: calls that need its files are sent only to it. Empty
	// means that no calls do.
	Place string
	// Functions is the name of this program, which has the functions, tools and models of the runs
	// that it starts (driver.MetaProgram): it makes all their calls, and no other process does.
	// Empty means that it has none.
	Functions string
	// HeartbeatTimeout is the time without a heartbeat after which a worker is considered dead and
	// its calls are made elsewhere; 0 means 10 s. Heartbeats are sent every tenth of it.
	HeartbeatTimeout time.Duration
	// Attributes is set if the namespace has the search attributes HocketWorkflow and HocketStatus,
	// of type Keyword.
	Attributes bool
}

// DefaultHeartbeatTimeout is used if Config.HeartbeatTimeout is 0.
const DefaultHeartbeatTimeout = 10 * time.Second

// minHeartbeat is a lower limit that prevents a briefly busy worker from being considered dead.
const minHeartbeat = time.Second

func (c Config) withDefaults() (Config, error) {
	switch {
	case c.Client == nil:
		return c, errors.New("driver has no Temporal client")
	case c.HeartbeatTimeout != 0 && c.HeartbeatTimeout < minHeartbeat:
		return c, fmt.Errorf("driver: HeartbeatTimeout is %s, less than %s", c.HeartbeatTimeout, minHeartbeat)
	}
	c.Place = cmp.Or(c.Place, c.Config.Place)
	if err := journal.CheckPlace(c.Place); err != nil {
		return c, fmt.Errorf("driver: place %q: %w", c.Place, err)
	}
	for _, q := range c.Queues {
		if !slices.Contains(Queues(), q) {
			return c, fmt.Errorf("driver: there is no queue %q; the queues are model, tool and func", q)
		}
	}
	c.Namespace = cmp.Or(c.Namespace, "default")
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	c.HeartbeatTimeout = cmp.Or(c.HeartbeatTimeout, DefaultHeartbeatTimeout)
	return c, nil
}
