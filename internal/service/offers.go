package service

import (
	"cmp"
	"maps"
	"slices"

	"github.com/hocket-run/hocket/internal/model"
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
func (s *Service) ToolOffers() ToolOffers {
	o := ToolOffers{Kinds: toolReports()}
	report := reportConfig(s.cfg.Operator)
	for _, r := range slices.Concat(report.Servers, report.Toolsets) {
		o.Named = append(o.Named, OperatorReport{Name: r.Name, Type: r.Type})
	}
	for _, t := range s.cfg.Tools {
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
func (s *Service) ModelOffers() ModelOffers {
	return ModelOffers{
		Default:   cmp.Or(s.cfg.Env("HOCKET_MODEL"), s.cfg.Operator.DefaultModel),
		Providers: s.kits.registry(&workflow.Workflow{}, false).Found(),
		Named:     slices.Sorted(maps.Keys(s.cfg.Operator.Models)), Own: slices.Sorted(maps.Keys(s.cfg.Models)),
	}
}
