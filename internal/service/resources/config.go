package resources

import (
	"context"
	"log/slog"

	"github.com/hocket-run/hocket/internal/config"
	"github.com/hocket-run/hocket/internal/documents"
	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/price"
	"github.com/hocket-run/hocket/internal/ratelimit"
	"github.com/hocket-run/hocket/internal/secret"
	"github.com/hocket-run/hocket/internal/store"
	"github.com/hocket-run/hocket/internal/tool"
	"github.com/hocket-run/hocket/internal/tool/fetch"
	"github.com/hocket-run/hocket/internal/tool/memory"
)

// Config is what an Opener is made of. Operator, Env, Keeper, Logger, Prices and Limiters are needed.
type Config struct {
	// Kind is what kind of process this is.
	Kind journal.Kind
	// Env gives the environment.
	Env func(string) string
	// Operator is the operator's configuration.
	Operator *config.Config
	// Keeper gets the secrets that are used, and takes them out of what comes back (SEC11).
	Keeper *secret.Keeper
	// Adapters serve the model protocols: see [SharedAdapters].
	Adapters map[model.Protocol]model.Factory
	// Limiters pace the calls of all runs, by key; RateLimits are what providers take where the program says it.
	Limiters   *ratelimit.Set
	RateLimits map[string]ratelimit.Limits
	// Models are model providers of the program itself, Tools its tools.
	Models map[string]model.Client
	Tools  []tool.Tool
	// Documents is what documents and toolsets of type mcp need.
	Documents documents.Kit
	// Pages turns web pages into text; nil: toolsets of type fetch are not supported.
	Pages fetch.Pages
	// Permissions are the operator's, for every tool call of every run.
	Permissions tool.Permissions
	// Prices says what models cost.
	Prices *price.Table
	// Functions makes the program of one run of Info.Program; nil leaves it.
	Functions func(driver.Info) driver.Program
	// Version is what other programs see of this one.
	Version string
	Logger  *slog.Logger
	// Stores are the stores of this process's operator, which toolsets do not reach.
	Stores []store.Locator
	// Journal tells of runs, for the budgets of workflows; Memory keeps what agents remember over runs. Nil where no run is opened.
	Journal Journal
	// Lines divide the limits of a key among the processes that use it; nil: this process has all.
	Lines  Lines
	Memory memory.Store
}

// Lines are the lines of a store, with the signals of their changes.
type Lines interface {
	journal.Lines
	journal.Changes
}

// Journal is what an Opener reads of the runs of a store.
type Journal interface {
	journal.EventSource
	Head(ctx context.Context, run string) (journal.Head, error)
	List(ctx context.Context, q journal.Query) (page []journal.Head, next string, err error)
}
