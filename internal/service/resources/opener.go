package resources

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/model/script"
	"github.com/hocket-run/hocket/internal/service/definition"
	"github.com/hocket-run/hocket/internal/tool"
	"github.com/hocket-run/hocket/workflow"
)

// Opener opens models and tools of runs. It is safe for concurrent use.
type Opener struct {
	cfg Config
	// recorder records the model calls of this process's runs; nil means no recording.
	recorder *recorder

	mu           sync.Mutex
	replacements map[string]*replacementFiles // by run
	// reapproved are the keys of what was allowed again in this process; see allowedKey.
	reapproved []string
	// accounts are the accounts of the workflows that this process ran and for which the operator
	// set a budget.
	accounts map[string]*account
}

// New returns an Opener.
func New(cfg Config) *Opener { return &Opener{cfg: cfg, replacements: map[string]*replacementFiles{}} }

// defaultModel returns the model of agents that specify none (D26).
func (op *Opener) defaultModel() string {
	return cmp.Or(op.cfg.Env("HOCKET_MODEL"), op.cfg.Operator.DefaultModel)
}

// modelHints returns hints for Go programs, and for clients of a server, on what to do if there is
// no model; nil for the command line.
func (op *Opener) modelHints() []string {
	switch op.cfg.Kind {
	case journal.KindServe:
		return []string{"name a model of a provider that the server has",
			"give the server the key, in its environment or in hocket.yaml", "start it with --model or --replies"}
	case journal.KindProgram:
	default:
		return nil
	}
	return []string{
		"name another model in StartOptions, RunOptions or HOCKET_MODEL",
		"give the engine a model by WithModel or providers by provider.All()",
		"answer the calls of a document by StartOptions.Replies",
	}
}

// registry returns the providers of a workflow. trusted means that the operator vouches for the
// addresses that the document names.
func (op *Opener) registry(w *workflow.Workflow, trusted bool) *model.Registry {
	defs := map[string]model.ProviderDef{}
	for name, p := range w.Providers {
		defs[name] = model.ProviderDef{Protocol: model.Protocol(p.Kind), BaseURL: p.BaseURL, KeyEnv: p.KeyEnv,
			Omit: p.Omit, Trusted: trusted}
	}
	operatorProviders(op.cfg.Operator, defs)
	// The driver's kit limits each call, using the node's own limit if it has one: a second timeout
	// here would cut longer ones short (P11).
	return model.NewRegistry(model.Config{Env: op.cfg.Env, Providers: defs, Models: operatorModels(op.cfg.Operator),
		Secret: op.secretOf().Value, Adapters: op.cfg.Adapters, Clients: op.cfg.Models, Hints: op.modelHints(),
		Known: op.cfg.Prices.Models(), TotalTimeout: -1, IdleTimeout: -1})
}

// CheckModels returns an error if an agent has no usable model.
func (op *Opener) CheckModels(w *workflow.Workflow, override string, trusted bool) error {
	reg := op.registry(w, trusted)
	seen := map[string]bool{}
	for i := range w.Agents {
		a := &w.Agents[i]
		ref := a.Model
		if override != "" {
			ref = override
		}
		if ref == "" {
			ref = op.defaultModel()
		}
		if seen[ref] {
			continue
		}
		seen[ref] = true
		if err := reg.Check(ref); err != nil {
			return fmt.Errorf("agent %q: %w", a.Title(), err)
		}
	}
	for _, f := range slices.Concat(slices.Collect(maps.Values(w.Flows)), w.Branches,
		slices.Collect(maps.Values(w.Called))) {
		if err := op.CheckModels(f, override, trusted); err != nil {
			return err
		}
	}
	return nil
}

// FromRuns is what the resources of a run get from the runs of the process.
type FromRuns struct {
	// Trace is driver.RunResources.Trace.
	Trace func(context.Context, driver.Traced) context.Context
	// Workflows opens toolsets of type workflow, whose calls start runs.
	Workflows tool.Type
	// Tools, if not nil, execute the calls of the run in place of its toolsets: they wait for runs,
	// and keep no state.
	Tools driver.Tools
}

// Open opens what the calls of one run need.
func (op *Opener) Open(ctx context.Context, info driver.Info, r FromRuns) (*driver.RunResources, error) {
	limits := op.cfg.Operator.Limits
	kit := &driver.RunResources{
		DefaultModel: op.defaultModel(), Price: op.cfg.cost,
		MaxReplyBytes: int(op.cfg.Operator.Limits.ReplyBytes), MaxReplyCalls: op.cfg.Operator.Limits.ReplyCalls,
		ModelTimeout: time.Duration(limits.ModelTimeout), ModelIdle: time.Duration(limits.ModelIdleTimeout),
	}
	kit.Trace = r.Trace
	if info.Workflow.Format == definition.FormatGraph {
		if err := op.openProgram(info, kit); err != nil {
			return nil, err
		}
		if !callsExternal(info.Workflow) {
			return kit, nil
		}
	}
	if err := op.openModels(ctx, info, kit); err != nil {
		return nil, err
	}
	if r.Tools != nil {
		kit.Tools, kit.Waits, kit.Stateless = r.Tools, true, true
		return kit, nil
	}
	if err := op.openTools(ctx, info, r.Workflows, kit); err != nil {
		return nil, err
	}
	return kit, nil
}

// callsExternal reports whether steps of a workflow call models or tools; functions of a program
// may do so themselves.
func callsExternal(w *workflow.Workflow) bool {
	if len(w.Agents) > 0 {
		return true
	}
	for i := range w.Nodes {
		if n := &w.Nodes[i]; n.Agent != nil || n.Tool != nil || n.Kind == workflow.KindExec {
			return true
		}
	}
	for _, f := range w.Flows {
		if callsExternal(f) {
			return true
		}
	}
	return false
}

func (op *Opener) openModels(ctx context.Context, info driver.Info, kit *driver.RunResources) error {
	replies, err := op.replies(ctx, info)
	switch {
	case err != nil:
		return err
	case replies != nil:
		kit.Models = replies
	default:
		trusted := info.Meta[MetaTrusted] != ""
		// A resume may lack the key that the start had: the run then stays as it is (S0-17, D19).
		if err := op.CheckModels(info.Workflow, info.Model, trusted); err != nil {
			return err
		}
		reg := op.registry(info.Workflow, trusted)
		kit.Models, kit.Admit = reg, op.admit(reg, kit.DefaultModel)
		if op.cfg.Operator.Search.Native {
			kit.Models = nativeSearch{reg, reg.CanSearch}
		}
	}
	kit.Models = model.WithUsage(cleanModels{kit.Models, op.cfg.Keeper}, fullRef)
	if op.recorder != nil {
		kit.Models = op.recorder.wrap(kit.Models)
	}
	kit.Models = op.withinBudget(kit.Models, info)
	return nil
}

// replies returns the client of the run's reply script, or nil if it has none.
func (op *Opener) replies(ctx context.Context, info driver.Info) (model.Client, error) {
	stored, err := info.File(ctx, FileReplies)
	if err != nil && !errors.Is(err, journal.ErrNotFound) {
		return nil, err
	}
	g := op.replacementOf(info.Run)
	switch {
	case g != nil && g.script != nil && !bytes.Equal(g.replies, stored):
		return g.script, nil
	case err != nil:
		return nil, nil //nolint:nilerr // the run has no reply script
	}
	doc, problems := script.Parse("replies", stored)
	problems.AllowUnknown() // as decided at the start of the run
	if err := problems.Err(); err != nil {
		return nil, fmt.Errorf("read reply script: %w", err)
	}
	h, err := info.History(ctx)
	if err != nil {
		return nil, err
	}
	return script.New(doc, h.Replies), nil
}

// Models returns the models of the program and of the providers that Hocket knows, for calls that
// belong to no workflow, such as those of LLM sessions. fallback is the model for calls that name
// none (D26); "" means none. Calls made with models have no timeout (P11): the caller sets one.
func (op *Opener) Models() (models model.Client, fallback string) {
	models = model.WithUsage(op.registry(&workflow.Workflow{}, false), fullRef)
	if r := op.recorder; r != nil {
		models = r.wrap(models)
	}
	return models, op.defaultModel()
}

// CheckModel returns why calls of a model that no workflow names cannot be made, or nil if they
// can.
func (op *Opener) CheckModel(ref string) error {
	return op.registry(&workflow.Workflow{}, false).Check(ref)
}

// MetaProgram holds the name of the program that started a run by embedding Hocket (D29).
const MetaProgram = driver.MetaProgram

// openProgram adds to a run of a Go graph its functions, which only the program that contains them
// can provide (D29).
func (op *Opener) openProgram(info driver.Info, kit *driver.RunResources) error {
	if info.Program == nil {
		return &driver.ForeignError{Run: info.Run, Graph: info.Workflow.Name, Program: info.Meta[MetaProgram]}
	}
	kit.Program = info.Program
	if op.cfg.Functions != nil {
		kit.Program = op.cfg.Functions(info)
	}
	return nil
}
