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

// Queue is a kind of calls that workers take.
type Queue string

// The kinds of calls.
const (
	QueueModel Queue = "model"
	QueueTool  Queue = "tool"
	// QueueFunc are the functions of Go graphs. All calls of such a run are made by programs that have its functions.
	QueueFunc Queue = "func"
)

// Queues lists the kinds of calls.
func Queues() []Queue { return []Queue{QueueModel, QueueTool, QueueFunc} }

// Config is what a Driver is made of. Its Config is for the runs that Temporal does not carry; its Store, Open, Program, Foreign, MaxCalls, Slots, ApproveAll, Hooks, Now and Logger are for all runs.
// Only Store and Client must be set.
type Config struct {
	embedded.Config
	// Client is connected to a namespace of Temporal, or will be: while it is not, runs are stored and wait. The driver does not close it.
	Client client.Client
	// Namespace is Hocket's namespace, a part of the names of queues; "": default.
	Namespace string
	// Queues are the calls that this process carries out. Empty: none, it only starts runs and answers.
	Queues []Queue
	// Place is the label of this machine: calls that need its files come to it alone. "": none do.
	Place string
	// Functions is the name of this program, which has the functions, tools and models of the runs that it starts (driver.MetaProgram): it takes all their calls, and no other process does. "": it is
	// none.
	Functions string
	// HeartbeatTimeout is after how long without a sign a worker is taken for dead, and its calls are made elsewhere; 0: 10 s. Signs are given every tenth of it.
	HeartbeatTimeout time.Duration
	// Attributes: the namespace has the search attributes HocketWorkflow and HocketStatus, of type Keyword.
	Attributes bool
}

// DefaultHeartbeatTimeout is Config.HeartbeatTimeout where it is 0.
const DefaultHeartbeatTimeout = 10 * time.Second

// minHeartbeat keeps a worker that is busy for a moment from being taken for dead.
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
