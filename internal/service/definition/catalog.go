package definition

import (
	"log/slog"
	"time"

	"github.com/hocket-run/hocket/internal/catalog"
	"github.com/hocket-run/hocket/internal/config"
	"github.com/hocket-run/hocket/internal/documents"
	"github.com/hocket-run/hocket/workflow"
)

// Config configures what a Catalog uses in addition to the stored documents.
type Config struct {
	// Operator is the operator's configuration, Env the environment; both are required.
	Operator *config.Config
	Env      func(string) string
	// Agents are agents that documents may name in addition to those of the catalog, over which
	// they take precedence; Providers are model providers that documents may name in addition to
	// the known ones.
	Agents    []workflow.Agent
	Providers []string
	// Model overrides the model of every agent in all runs; "" overrides none. Offline means that
	// no run calls a model.
	Model   string
	Offline bool
	// Documents reads documents; if it has no Formats, documents are rejected.
	Documents documents.Kit
	// Now is the clock that determines which models are retired; nil means the system clock.
	Now func() time.Time
	// Logger logs missing prompt files; nil means that they are not logged.
	Logger *slog.Logger
}

// Catalog loads documents, and stores workflows and agents. It is safe for concurrent use.
type Catalog struct {
	cfg      Config
	stored   catalog.Store
	watchers watchers
}

// New returns a Catalog backed by a store.
func New(cfg Config, stored catalog.Store) *Catalog { return &Catalog{cfg: cfg, stored: stored} }

// FormatGraph is the format of workflows that are Go graphs; only the program that contains their
// functions can drive their runs.
const FormatGraph = "graph"

// IsDocument reports whether workflows of a format come from documents.
func IsDocument(format string) bool {
	return format != "" && format != FormatGraph && format != FormatAgent
}

// FormatAgent is the format of single-agent workflows, which a Go graph runs as child runs: they
// count in the budget of the graph's workflow.
const FormatAgent = "agent"
