package service

import (
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/workflow"
)

// Models gives the models of the program and of the providers that Hocket knows, for calls that are no workflow's own, such as those of LLM sessions.
// fallback is for calls that name none (D26); "" for none. Its calls have no clock of their own (P11): the caller sets one.
func (s *Service) Models() (models model.Client, fallback string) {
	none := &workflow.Workflow{}
	models = model.WithUsage(s.kits.registry(none, false), fullRef)
	if r := s.kits.recorder; r != nil {
		models = r.over(models)
	}
	return models, s.kits.defaultModel(none)
}
