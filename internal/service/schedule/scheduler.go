package schedule

import (
	"log/slog"

	"github.com/hocket-run/hocket/internal/config"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/service/definition"
	"github.com/hocket-run/hocket/internal/service/run"
)

// Config is what a Scheduler is made of. Operator and Logger are needed.
type Config struct {
	// Operator is the operator's configuration, Kind what kind of process this is.
	Operator *config.Config
	Kind     journal.Kind
	Logger   *slog.Logger
}

// Scheduler is the use cases of schedules over one store. Safe for concurrent use.
type Scheduler struct {
	cfg         Config
	store       journal.Backend
	definitions *definition.Catalog
	runs        *run.Runner
}

// New makes a Scheduler. It needs no closing.
func New(cfg Config, store journal.Backend, definitions *definition.Catalog, runs *run.Runner) *Scheduler {
	return &Scheduler{cfg, store, definitions, runs}
}
