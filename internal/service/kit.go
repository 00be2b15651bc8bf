package service

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/format/canvas"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/model/script"
	"github.com/hocket-run/hocket/internal/outbound"
	"github.com/hocket-run/hocket/internal/tool"
	"github.com/hocket-run/hocket/internal/tool/mcp"
	"github.com/hocket-run/hocket/internal/tool/think"
	"github.com/hocket-run/hocket/internal/tool/todo"
	"github.com/hocket-run/hocket/workflow"
)

// kits opens models and tools of runs.
type kits struct {
	cfg Config
	// recorder writes down the model calls of this process's runs; nil: nobody does.
	recorder *recorder
}

func newKits(cfg Config) *kits { return &kits{cfg: cfg} }

// defaultModel is what agents without a model of their own use (D26).
func (k *kits) defaultModel(w *workflow.Workflow) string {
	if m := k.cfg.Env("HOCKET_MODEL"); m != "" {
		return m
	}
	if w.Format == "canvas" {
		return canvas.DefaultModel
	}
	return ""
}

// registry finds the providers of a workflow. trusted: the operator stands behind the addresses that the document names.
func (k *kits) registry(w *workflow.Workflow, trusted bool) *model.Registry {
	defs := map[string]model.ProviderDef{}
	for name, p := range w.Providers {
		defs[name] = model.ProviderDef{Protocol: model.Protocol(p.Kind), BaseURL: p.BaseURL, KeyEnv: p.KeyEnv, Trusted: trusted}
	}
	return model.NewRegistry(model.Config{Env: k.cfg.Env, Providers: defs, Adapters: k.cfg.Adapters})
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
	for _, f := range w.Flows {
		if err := k.checkModels(f, override, trusted); err != nil {
			return err
		}
	}
	return nil
}

// open makes what the calls of one run need. It is a driver.OpenFunc.
func (k *kits) open(ctx context.Context, info driver.Info) (*driver.Kit, error) {
	kit := &driver.Kit{DefaultModel: k.defaultModel(info.Workflow)}
	if err := k.openModels(ctx, info, kit); err != nil {
		return nil, err
	}
	if err := k.openTools(ctx, info, kit); err != nil {
		return nil, err
	}
	return kit, nil
}

func (k *kits) openModels(ctx context.Context, info driver.Info, kit *driver.Kit) error {
	replies, err := info.File(ctx, fileReplies)
	switch {
	case err == nil:
		doc, problems := script.Parse("replies", replies)
		if err := problems.Err(); err != nil {
			return fmt.Errorf("read reply script: %w", err)
		}
		h, err := info.History(ctx)
		if err != nil {
			return err
		}
		kit.Models = script.New(doc, h.Replies)
	case errors.Is(err, journal.ErrNotFound):
		kit.Models = k.registry(info.Workflow, info.Meta[metaTrusted] != "")
	default:
		return err
	}
	if k.recorder != nil {
		kit.Models = k.recorder.over(kit.Models)
	}
	return nil
}

func (k *kits) openTools(ctx context.Context, info driver.Info, kit *driver.Kit) error {
	cfg := tool.Config{Agents: map[string]tool.Grant{}, Types: k.types(), Logger: k.cfg.Logger.With("run", info.Run)}
	if err := grants(info.Workflow, info.Meta[metaTrusted], cfg.Agents); err != nil {
		return err
	}
	switch data, err := info.File(ctx, fileTools); {
	case err == nil:
		specs, problems := tool.ParseToolsFile("tools", data)
		if err := problems.Err(); err != nil {
			return fmt.Errorf("read tools file: %w", err)
		}
		for i := range specs {
			specs[i].Trusted = true // the operator's own file (SEC5)
		}
		cfg.Extra = specs
	case !errors.Is(err, journal.ErrNotFound):
		return err
	}
	set, err := tool.NewSet(cfg)
	if err != nil {
		return err
	}
	kit.Tools = set
	return nil
}

// grants says what each agent of a workflow may use. trusted is the hash of the commands that were allowed.
func grants(w *workflow.Workflow, trusted string, into map[string]tool.Grant) error {
	all, problems := documentSpecs(w)
	if err := problems.Err(); err != nil {
		return err
	}
	allowed := trusted != "" && tool.TrustHash(all) == trusted
	for i := range w.Agents {
		a := &w.Agents[i]
		g := tool.Grant{Names: a.Tools}
		for _, raw := range a.Toolsets {
			var sp tool.Spec
			if err := json.Unmarshal(raw, &sp); err != nil {
				return fmt.Errorf("agent %q: toolset: %w", a.ID, err)
			}
			sp.Trusted = allowed
			g.Toolsets = append(g.Toolsets, sp)
		}
		into[a.ID] = g
	}
	for i := range w.Nodes {
		if n := &w.Nodes[i]; n.Tool != nil {
			g := into[""]
			g.Names = append(g.Names, n.Tool.Tool)
			into[""] = g
		}
	}
	return nil
}

// types are the kinds of toolsets that Hocket can open.
func (k *kits) types() map[string]tool.Type {
	return map[string]tool.Type{
		"mcp": mcp.Type(mcp.Config{
			HTTPClient: outbound.New(outbound.Config{}),
			Lookup: func(name string) (string, bool) {
				v := k.cfg.Env(name)
				return v, v != ""
			},
			Environ: os.Environ, Version: k.cfg.Version, Logger: k.cfg.Logger,
		}),
		"think": think.Type(),
		"todo":  todo.Type(),
	}
}
