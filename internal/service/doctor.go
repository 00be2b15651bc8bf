package service

import (
	"github.com/hocket-run/hocket/diag"

	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/hocket-run/hocket/internal/config"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/service/definition"
	"github.com/hocket-run/hocket/internal/store"
	"github.com/hocket-run/hocket/internal/tool"
	"github.com/hocket-run/hocket/internal/tool/kinds"
	"github.com/hocket-run/hocket/workflow"
)

// Report is what Diagnose finds.
type Report struct {
	Version      string       `json:"version"`
	Config       ConfigReport `json:"config"`
	Store        StoreReport  `json:"store"`
	DefaultModel string       `json:"defaultModel"`
	// ModelProblem is why the default model cannot be used; empty where it can, or where there is none.
	ModelProblem string `json:"modelProblem,omitempty"`
	// Warnings are about what works now and will not; their codes are those of diagnostics.
	Warnings  diag.List       `json:"warnings,omitempty"`
	Providers []model.Finding `json:"providers"`
	Tools     []ToolReport    `json:"tools"`
}

// ConfigReport is what the operator's configuration offers, with references as they are written. Path and Problem are those of its reader.
type ConfigReport struct {
	Path    string `json:"path"`
	Problem string `json:"problem,omitempty"`
	// Read tells that there is a file, and that it could be used.
	Read     bool             `json:"read"`
	Servers  []OperatorReport `json:"servers,omitempty"`
	Toolsets []OperatorReport `json:"toolsets,omitempty"`
}

// OperatorReport is one server or toolset of the operator: what is started, where it is, or what kind it is.
type OperatorReport struct {
	Name string `json:"name"`
	Type string `json:"type"`
	What string `json:"what,omitempty"`
}

func reportConfig(c *config.Config) ConfigReport {
	r := ConfigReport{Path: c.Path, Read: c.Path != ""}
	report := func(name string, s tool.Spec) OperatorReport {
		o := OperatorReport{Name: name, Type: s.Type}
		switch {
		case s.Command != "":
			o.What = strings.Join(append([]string{s.Command}, s.Args...), " ")
		case s.Remote != nil:
			o.What = s.Remote.URL
		}
		return o
	}
	for _, name := range slices.Sorted(maps.Keys(c.MCPs)) {
		r.Servers = append(r.Servers, report(name, c.MCPs[name]))
	}
	for _, s := range c.Toolsets {
		r.Toolsets = append(r.Toolsets, report(s.Title(), s))
	}
	return r
}

// StoreReport is the state of the store. Problem is empty where it can be used.
type StoreReport struct {
	Path    string `json:"path"`
	Exists  bool   `json:"exists"`
	Bytes   int64  `json:"bytes"`
	Problem string `json:"problem,omitempty"`
}

// ToolReport is one kind of tool that agents may have.
type ToolReport struct {
	Type string `json:"type"`
	How  string `json:"how"`
}

// Diagnose looks at what this machine offers. It connects to nothing and leaves nothing behind.
func Diagnose(ctx context.Context, cfg Config) Report {
	cfg = cfg.withDefaults()
	r := Report{Version: cfg.Version, DefaultModel: cmp.Or(cfg.Env("HOCKET_MODEL"), cfg.Operator.DefaultModel), Store: diagnoseStore(ctx, cfg), Config: reportConfig(cfg.Operator)}
	reg := newKits(cfg).registry(&workflow.Workflow{}, false)
	r.Providers = reg.Found()
	if r.DefaultModel != "" {
		if err := reg.Check(r.DefaultModel); err != nil {
			r.ModelProblem = err.Error()
		}
		r.Warnings = definition.LoadOptions{Retired: true, Model: r.DefaultModel, Operator: cfg.Operator, Env: cfg.Env, Now: cfg.Now}.RetiredModels(&workflow.Workflow{})
		for i := range r.Warnings {
			r.Warnings[i].Message = strings.TrimPrefix(r.Warnings[i].Message, definition.ForEvery)
		}
	}
	r.Tools = toolReports()
	return r
}

// toolReports lists the kinds of toolsets.
func toolReports() []ToolReport {
	var out []ToolReport
	for _, k := range kinds.Supported() {
		out = append(out, ToolReport{k.Name, k.How})
	}
	return out
}

func diagnoseStore(ctx context.Context, cfg Config) StoreReport {
	path, err := cfg.Path()
	if err != nil {
		return StoreReport{Problem: err.Error()}
	}
	r := StoreReport{Path: path}
	at, err := cfg.Locator()
	if err != nil {
		r.Problem = err.Error()
		return r
	}
	if at.IsMemory() {
		return r
	}
	exists, bytes, err := at.Exists()
	if err == nil && !exists {
		err = at.CanCreate()
	}
	if err != nil || !exists {
		if err != nil {
			r.Problem = err.Error()
		}
		return r
	}
	r.Exists, r.Bytes = true, bytes
	home, err := store.Open(ctx, path, cfg.open())
	if err == nil {
		err = home.Close()
	}
	if err != nil {
		r.Problem = err.Error()
	}
	return r
}
