package service

import (
	"github.com/hocket-run/hocket/diag"

	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/hocket-run/hocket/internal/errcode"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/service/definition"
	"github.com/hocket-run/hocket/internal/service/resources"
	"github.com/hocket-run/hocket/internal/store"
	"github.com/hocket-run/hocket/workflow"
)

// Report is the result of Diagnose.
type Report struct {
	Version      string                 `json:"version"`
	Config       resources.ConfigReport `json:"config"`
	Store        StoreReport            `json:"store"`
	DefaultModel string                 `json:"defaultModel"`
	// ModelProblem is why the default model cannot be used; empty if it can, or if there is none.
	ModelProblem string `json:"modelProblem,omitempty"`
	// Warnings are about things that work now but will stop working; their codes are diagnostic
	// codes.
	Warnings  diag.List              `json:"warnings,omitempty"`
	Providers []model.Finding        `json:"providers"`
	Tools     []resources.ToolReport `json:"tools"`
}

// StoreReport is the state of the store. Problem is empty if it can be used.
type StoreReport struct {
	Path    string `json:"path"`
	Exists  bool   `json:"exists"`
	Bytes   int64  `json:"bytes"`
	Problem string `json:"problem,omitempty"`
	// Server is what the database server of the store reports about itself; empty for a store
	// without one.
	Server []store.Fact `json:"server,omitempty"`
	// Processes are the living processes that drive runs, or may.
	Processes []ProcessReport `json:"processes,omitempty"`
}

// ProcessReport is a living process on a store.
type ProcessReport struct {
	// Kind is the verb, such as `serve` and `worker`; PID its process id on Host.
	Kind string `json:"kind"`
	PID  int    `json:"pid"`
	Host string `json:"host"`
	// Place is the place at which it continues runs of servers; "" means that it continues none.
	Place string `json:"place,omitempty"`
	// SeenAt is its last heartbeat by its own clock; absent if there was none.
	SeenAt *time.Time `json:"seenAt,omitempty"`
}

// Processes returns the living processes on the store, by kind, host and process id.
func (s *Service) Processes(ctx context.Context) ([]ProcessReport, error) {
	return processes(ctx, s.home)
}

func processes(ctx context.Context, home *store.Home) ([]ProcessReport, error) {
	all, err := home.Journal.Processes(ctx)
	if err != nil {
		return nil, err
	}
	out := []ProcessReport{}
	for _, o := range all {
		p := ProcessReport{Kind: string(o.Kind), PID: o.PID, Host: o.Host, Place: o.Place}
		if !o.Seen.IsZero() {
			p.SeenAt = &o.Seen
		}
		out = append(out, p)
	}
	slices.SortStableFunc(out, func(a, b ProcessReport) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Host, b.Host), cmp.Compare(a.PID, b.PID))
	})
	return out, nil
}

// Diagnose inspects what this machine provides. It connects only to the database server of the
// store, and leaves nothing behind.
func Diagnose(ctx context.Context, cfg Config) Report {
	cfg = cfg.withDefaults()
	r := Report{Version: cfg.Version, DefaultModel: cmp.Or(cfg.Env("HOCKET_MODEL"), cfg.Operator.DefaultModel),
		Store: diagnoseStore(ctx, cfg), Config: resources.ReportConfig(cfg.Operator)}
	opener := resources.New(cfg.resources(nil))
	r.Providers = opener.ModelOffers().Providers
	if r.DefaultModel != "" {
		if err := opener.CheckModel(r.DefaultModel); err != nil {
			r.ModelProblem = err.Error()
		}
		r.Warnings = definition.LoadOptions{Retired: true, Model: r.DefaultModel, Operator: cfg.Operator, Env: cfg.Env,
			Now: cfg.Now}.RetiredModels(&workflow.Workflow{})
		for i := range r.Warnings {
			r.Warnings[i].Message = strings.TrimPrefix(r.Warnings[i].Message, definition.ForEvery)
		}
	}
	r.Tools = resources.ToolReports()
	return r
}

func diagnoseStore(ctx context.Context, cfg Config) StoreReport {
	at, err := cfg.Locator()
	if err != nil {
		return StoreReport{Problem: errcode.Text(err, errcode.Command)}
	}
	r := StoreReport{Path: at.String()}
	if at.IsMemory() {
		return r
	}
	r.Server, _ = at.Facts(ctx) // Look reports the same error
	view, err := at.Look(ctx)
	switch {
	case err == nil && view.Exists:
		r.Exists, r.Bytes = true, view.Bytes
		var home *store.Home
		if home, err = at.Open(ctx, cfg.open()); err == nil {
			r.Processes, err = processes(ctx, home)
			err = errors.Join(err, home.Close())
		}
	case err == nil:
		err = view.CanCreate
	}
	if err != nil {
		r.Problem = errcode.Text(err, errcode.Command)
	}
	return r
}
