package service

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
	"github.com/hocket-run/hocket/internal/format/canvas"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/model/script"
	"github.com/hocket-run/hocket/internal/service/definition"
	"github.com/hocket-run/hocket/internal/tool/memory"
	"github.com/hocket-run/hocket/workflow"
)

// kits opens models and tools of runs.
type kits struct {
	cfg Config
	// service starts the runs of branches.
	service *Service
	// recorder writes down the model calls of this process's runs; nil: not recorded.
	recorder *recorder
	// memory keeps what agents remember over runs.
	memory memory.Store

	mu    sync.Mutex
	again map[string]*given // by run
	// allowedAgain are the keys of what was allowed once more in this process: see allowedKey.
	allowedAgain []string
	// accounts are those of the workflows that this process ran, where the operator set a budget for them.
	accounts map[string]*account
}

func newKits(cfg Config) *kits {
	cfg = cfg.withDefaults()
	cfg.Adapters = cfg.Shared.adapters
	return &kits{cfg: cfg, again: map[string]*given{}}
}

// defaultModel is what agents without a model of their own use (D26).
func (k *kits) defaultModel(w *workflow.Workflow) string {
	if m := cmp.Or(k.cfg.Env("HOCKET_MODEL"), k.cfg.Operator.DefaultModel); m != "" {
		return m
	}
	if w.Format == "canvas" {
		return canvas.DefaultModel
	}
	return ""
}

// modelHints says to a Go program, and to those who call a server, what may be done where there is no model; nil for the command line.
func (k *kits) modelHints() []string {
	switch k.cfg.Kind {
	case journal.KindServe:
		return []string{"name a model of a provider that the server has", "give the server the key, in its environment or in hocket.yaml", "start it with --model or --replies"}
	case journal.KindProgram:
	default:
		return nil
	}
	return []string{
		"name another model in StartOptions, RunOptions or HOCKET_MODEL", "give the engine a model by WithModel or providers by WithAdapters(provider.All())",
		"answer the calls of a document by StartOptions.Replies",
	}
}

// registry finds the providers of a workflow. trusted: the operator stands behind the addresses that the document names.
func (k *kits) registry(w *workflow.Workflow, trusted bool) *model.Registry {
	defs := map[string]model.ProviderDef{}
	for name, p := range w.Providers {
		defs[name] = model.ProviderDef{Protocol: model.Protocol(p.Kind), BaseURL: p.BaseURL, KeyEnv: p.KeyEnv, Trusted: trusted}
	}
	operatorProviders(k.cfg.Operator, defs)
	// The driver's kit bounds each call, by the node's own limit where it has one: a second clock here would cut the longer ones short (P11).
	return model.NewRegistry(model.Config{Env: k.cfg.Env, Providers: defs, Models: operatorModels(k.cfg.Operator), Secret: k.secretOf().Value, Adapters: k.cfg.Adapters, Clients: k.cfg.Models, Hints: k.modelHints(), Known: k.cfg.Prices.Models(), TotalTimeout: -1, IdleTimeout: -1})
}

// checkModels tells whether every agent has a model that calls can go to.
func (k *kits) checkModels(w *workflow.Workflow, override string, trusted bool) error {
	reg := k.registry(w, trusted)
	seen := map[string]bool{}
	for i := range w.Agents {
		a := &w.Agents[i]
		ref := a.Model
		if override != "" {
			ref = override
		}
		if ref == "" {
			ref = k.defaultModel(w)
		}
		if seen[ref] {
			continue
		}
		seen[ref] = true
		if err := reg.Check(ref); err != nil {
			return fmt.Errorf("agent %q: %w", a.Title(), err)
		}
	}
	for _, f := range slices.Concat(slices.Collect(maps.Values(w.Flows)), w.Branches) {
		if err := k.checkModels(f, override, trusted); err != nil {
			return err
		}
	}
	return nil
}

// open makes what the calls of one run need. It is a driver.OpenFunc.
func (k *kits) open(ctx context.Context, info driver.Info) (*driver.RunResources, error) {
	limits := k.cfg.Operator.Limits
	kit := &driver.RunResources{
		DefaultModel: k.defaultModel(info.Workflow), Price: k.cfg.cost,
		MaxReplyBytes: int(k.cfg.Operator.Limits.ReplyBytes), MaxReplyCalls: k.cfg.Operator.Limits.ReplyCalls,
		ModelTimeout: time.Duration(limits.ModelTimeout), ModelIdle: time.Duration(limits.ModelIdleTimeout),
	}
	kit.Trace = k.service.tracing(info)
	kit.Idles = k.cfg.Spawns // tools of the program may start runs
	if info.Workflow.Format == definition.FormatGraph {
		if err := k.openProgram(info, kit); err != nil {
			return nil, err
		}
		if !callsOut(info.Workflow) {
			return kit, nil
		}
	}
	if err := k.openModels(ctx, info, kit); err != nil {
		return nil, err
	}
	if info.Meta[metaTogether] != "" {
		kit.Tools, kit.Waits, kit.Stateless = &branchRuns{k.service, info}, true, true
		return kit, nil
	}
	if err := k.openTools(ctx, info, kit); err != nil {
		return nil, err
	}
	return kit, nil
}

// callsOut tells whether steps of a workflow call models or tools; functions of a program may do so by themselves.
func callsOut(w *workflow.Workflow) bool {
	if len(w.Agents) > 0 {
		return true
	}
	for i := range w.Nodes {
		if n := &w.Nodes[i]; n.Agent != nil || n.Tool != nil || n.Kind == workflow.KindExec {
			return true
		}
	}
	for _, f := range w.Flows {
		if callsOut(f) {
			return true
		}
	}
	return false
}

func (k *kits) openModels(ctx context.Context, info driver.Info, kit *driver.RunResources) error {
	replies, err := k.replies(ctx, info)
	switch {
	case err != nil:
		return err
	case replies != nil:
		kit.Models = replies
	default:
		trusted := info.Meta[metaTrusted] != ""
		// A resume may lack the key that the start had: then it stays as it is (S0-17, D19).
		if err := k.checkModels(info.Workflow, info.Model, trusted); err != nil {
			return err
		}
		reg := k.registry(info.Workflow, trusted)
		kit.Models, kit.Admit = reg, k.admit(reg, kit.DefaultModel)
		if k.cfg.Operator.Search.Native {
			kit.Models = nativeSearch{reg, reg.CanSearch}
		}
	}
	kit.Models = model.WithUsage(cleanModels{kit.Models, k.cfg.Keeper}, fullRef)
	if k.recorder != nil {
		kit.Models = k.recorder.over(kit.Models)
	}
	kit.Models = k.withinBudget(kit.Models, info)
	return nil
}

// replies gives the client of the run's reply script, nil where it has none.
func (k *kits) replies(ctx context.Context, info driver.Info) (model.Client, error) {
	stored, err := info.File(ctx, fileReplies)
	if err != nil && !errors.Is(err, journal.ErrNotFound) {
		return nil, err
	}
	g := k.givenTo(info.Run)
	switch {
	case g != nil && g.script != nil && !bytes.Equal(g.replies, stored):
		return g.script, nil
	case err != nil:
		return nil, nil //nolint:nilerr // the run has no reply script
	}
	doc, problems := script.Parse("replies", stored)
	problems.AllowUnknown() // as was decided when the run began
	if err := problems.Err(); err != nil {
		return nil, fmt.Errorf("read reply script: %w", err)
	}
	h, err := info.History(ctx)
	if err != nil {
		return nil, err
	}
	return script.New(doc, h.Replies), nil
}
