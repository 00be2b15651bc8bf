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

// Config configures an Opener. Operator, Env, Keeper, Logger, Prices and Limiters are required.
type Config struct {
	// Kind is the kind of this process.
	Kind journal.Kind
	// Env looks up environment variables.
	Env func(string) string
	// Operator is the operator's configuration.
	Operator *config.Config
	// Keeper collects the secrets that are used, and redacts them in results (SEC11).
	Keeper *secret.Keeper
	// Adapters serve the model protocols; see [SharedAdapters].
	Adapters map[model.Protocol]model.Factory
	// Limiters limit the rate of calls across all runs, by key; RateLimits are the provider limits
	// that the program specifies.
	Limiters   *ratelimit.Set
	RateLimits map[string]ratelimit.Limits
	// Models are the program's own model providers, Tools its own tools.
	Models map[string]model.Client
	Tools  []tool.Tool
	// Documents provides what documents and toolsets of type mcp need.
	Documents documents.Kit
	// Pages converts web pages to text; if nil, toolsets of type fetch are not supported.
	Pages fetch.Pages
	// Permissions are the operator's permissions, for every tool call of every run.
	Permissions tool.Permissions
	// Prices contains the prices of models.
	Prices *price.Table
	// Functions returns the program that executes the functions of one run, made from Info.Program;
	// if it is nil, Info.Program is used unchanged.
	Functions func(driver.Info) driver.Program
	// Version is the version that other programs see.
	Version string
	Logger  *slog.Logger
	// Stores are the stores of this process's operator, which toolsets cannot access.
	Stores []store.Locator
	// Journal reads runs, for the budgets of workflows; Memory stores what agents remember across
	// runs. Both are nil if no run is opened.
	Journal Journal
	// Lines divide the limits of a key among the processes that use it; nil means that this process
	// has the whole limits.
	Lines  Lines
	Memory memory.Store
}

// Lines are the queues that the processes of a store share, with change signals.
type Lines interface {
	journal.Lines
	journal.Changes
}

// Journal is the part of a store's runs that an Opener reads.
type Journal interface {
	journal.EventSource
	Head(ctx context.Context, run string) (journal.Head, error)
	List(ctx context.Context, q journal.Query) (page []journal.Head, next string, err error)
}
