package resources

import (
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/workflow"
)

// Models gives the models of the program and of the providers that Hocket knows, for calls that are no workflow's own, such as those of LLM sessions.
// fallback is for calls that name none (D26); "" for none. Its calls have no clock of their own (P11): the caller sets one.
func (op *Opener) Models() (models model.Client, fallback string) {
	none := &workflow.Workflow{}
	models = model.WithUsage(op.registry(none, false), fullRef)
	if r := op.recorder; r != nil {
		models = r.over(models)
	}
	return models, op.defaultModel(none)
}

// CheckModel tells why calls of a model that no workflow names cannot be made; nil: they can.
func (op *Opener) CheckModel(ref string) error {
	return op.registry(&workflow.Workflow{}, false).Check(ref)
}
