package resources

import (
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/workflow"
)

// Models returns the models of the program and of the providers that Hocket knows, for calls that
// belong to no workflow, such as those of LLM sessions. fallback is the model for calls that name
// none (D26); "" means none. Its calls have no timeout (P11): the caller sets one.
func (op *Opener) Models() (models model.Client, fallback string) {
	none := &workflow.Workflow{}
	models = model.WithUsage(op.registry(none, false), fullRef)
	if r := op.recorder; r != nil {
		models = r.over(models)
	}
	return models, op.defaultModel(none)
}

// CheckModel returns why calls of a model that no workflow names cannot be made, or nil if they
// can.
func (op *Opener) CheckModel(ref string) error {
	return op.registry(&workflow.Workflow{}, false).Check(ref)
}
