package schedule

import (
	"log/slog"
	"sync/atomic"

	"github.com/hocket-run/hocket/internal/config"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/service/definition"
	"github.com/hocket-run/hocket/internal/service/run"
)

// Config configures a Scheduler. Operator and Logger are required.
type Config struct {
	// Operator is the operator's configuration, Kind the kind of this process.
	Operator *config.Config
	Kind     journal.Kind
	Logger   *slog.Logger
}

// Scheduler implements the use cases of schedules on one store. It is safe for concurrent use.
type Scheduler struct {
	cfg         Config
	store       journal.Backend
	definitions *definition.Catalog
	runs        *run.Runner
	// request is that of Schedule while this process runs the schedules of stored workflows, or
	// waits to do so; nil otherwise.
	request atomic.Pointer[Request]
}

// New returns a Scheduler. It need not be closed.
func New(cfg Config, store journal.Backend, definitions *definition.Catalog, runs *run.Runner) *Scheduler {
	return &Scheduler{cfg: cfg, store: store, definitions: definitions, runs: runs}
}
