package resources

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/hocket-run/hocket/internal/config"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/tool"
	"github.com/hocket-run/hocket/internal/tool/kinds"
	"github.com/hocket-run/hocket/workflow"
)

// ToolOffers is what documents may use here as tools: kinds of toolsets, and what the operator named, which documents refer to by that name.
type ToolOffers struct {
	Kinds []ToolReport
	// Named are the operator's servers and toolsets, without what is started and where they are.
	Named []OperatorReport
	// Own are tools of the program itself.
	Own []string
}

// ToolOffers lists tools; nothing is opened.
func (op *Opener) ToolOffers() ToolOffers {
	o := ToolOffers{Kinds: ToolReports()}
	report := ReportConfig(op.cfg.Operator)
	for _, r := range slices.Concat(report.Servers, report.Toolsets) {
		o.Named = append(o.Named, OperatorReport{Name: r.Name, Type: r.Type})
	}
	for _, t := range op.cfg.Tools {
		o.Own = append(o.Own, t.Def().Name)
	}
	return o
}

// ModelOffers is what documents may use here as models.
type ModelOffers struct {
	// Default is the reference for agents that name none, where no format has one; empty: there is none.
	Default   string
	Providers []model.Finding
	// Named are references that the operator gave names of their own, and Own providers of the program itself.
	Named, Own []string
}

// ModelOffers lists models without a request.
func (op *Opener) ModelOffers() ModelOffers {
	return ModelOffers{
		Default:   cmp.Or(op.cfg.Env("HOCKET_MODEL"), op.cfg.Operator.DefaultModel),
		Providers: op.registry(&workflow.Workflow{}, false).Found(),
		Named:     slices.Sorted(maps.Keys(op.cfg.Operator.Models)), Own: slices.Sorted(maps.Keys(op.cfg.Models)),
	}
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

// ReportConfig lists what the operator offers.
func ReportConfig(c *config.Config) ConfigReport {
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

// ToolReport is one kind of tool that agents may have.
type ToolReport struct {
	Type string `json:"type"`
	How  string `json:"how"`
}

// ToolReports lists the kinds of toolsets.
func ToolReports() []ToolReport {
	var out []ToolReport
	for _, k := range kinds.Supported() {
		out = append(out, ToolReport{k.Name, k.How})
	}
	return out
}
