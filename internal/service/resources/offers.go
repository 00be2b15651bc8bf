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

// ToolOffers lists what documents may use here as tools: kinds of toolsets, and the operator's
// named servers and toolsets, to which documents refer by name.
type ToolOffers struct {
	Kinds []ToolReport
	// Named are the operator's servers and toolsets, without their commands and addresses.
	Named []OperatorReport
	// Own are the program's own tools.
	Own []string
}

// ToolOffers lists the tools without opening any.
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

// ModelOffers lists what documents may use here as models.
type ModelOffers struct {
	// Default is the reference for agents that name none, if no format has one; empty if there is
	// none.
	Default   string
	Providers []model.Finding
	// Named are references that the operator named, and Own the program's own providers.
	Named, Own []string
}

// ModelOffers lists the models without a request.
func (op *Opener) ModelOffers() ModelOffers {
	return ModelOffers{
		Default:   cmp.Or(op.cfg.Env("HOCKET_MODEL"), op.cfg.Operator.DefaultModel),
		Providers: op.registry(&workflow.Workflow{}, false).Found(),
		Named:     slices.Sorted(maps.Keys(op.cfg.Operator.Models)), Own: slices.Sorted(maps.Keys(op.cfg.Models)),
	}
}

// ConfigReport is what the operator's configuration offers, with references as they are written.
// Path and Problem are from its reader.
type ConfigReport struct {
	Path    string `json:"path"`
	Problem string `json:"problem,omitempty"`
	// Read means that there is a file, and that it could be used.
	Read     bool             `json:"read"`
	Servers  []OperatorReport `json:"servers,omitempty"`
	Toolsets []OperatorReport `json:"toolsets,omitempty"`
}

// OperatorReport is one server or toolset of the operator: its command, its address, or its kind.
type OperatorReport struct {
	Name string `json:"name"`
	Type string `json:"type"`
	What string `json:"what,omitempty"`
}

// ReportConfig lists what the operator's configuration offers.
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
