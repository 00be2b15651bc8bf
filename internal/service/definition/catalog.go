package definition

import (
	"log/slog"
	"time"

	"github.com/hocket-run/hocket/internal/catalog"
	"github.com/hocket-run/hocket/internal/config"
	"github.com/hocket-run/hocket/internal/documents"
	"github.com/hocket-run/hocket/workflow"
)

// Config is what a Catalog knows beside what is stored.
type Config struct {
	// Operator is the operator's configuration, Env the environment; both are needed.
	Operator *config.Config
	Env      func(string) string
	// Agents are those that documents may name beside the ones of the catalog, which they win over; Providers are model providers that documents may name
	// beside the known ones.
	Agents    []workflow.Agent
	Providers []string
	// Model overrides the model of every agent in all runs; "" overrides none. Offline says that no run calls a model.
	Model   string
	Offline bool
	// Documents reads documents; where it has no Formats, documents are refused.
	Documents documents.Kit
	// Now is the clock by which models are retired; nil: the system's.
	Now func() time.Time
	// Logger logs prompt files that are not found; nil: they are not logged.
	Logger *slog.Logger
}

// Catalog loads documents, and stores workflows and agents. Safe for concurrent use.
type Catalog struct {
	cfg      Config
	stored   catalog.Store
	watchers watchers
}

// New makes a Catalog on a store.
func New(cfg Config, stored catalog.Store) *Catalog { return &Catalog{cfg: cfg, stored: stored} }

// FormatGraph is the format of workflows that are Go graphs: only the program with their functions can drive their runs.
const FormatGraph = "graph"

// IsDocument tells whether workflows of a format come from documents.
func IsDocument(format string) bool {
	return format != "" && format != FormatGraph && format != FormatAgent
}

// FormatAgent is the format of workflows that are one agent, which a Go graph runs as a child run: they count in the budget of the graph's workflow.
const FormatAgent = "agent"
