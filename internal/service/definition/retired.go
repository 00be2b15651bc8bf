package definition

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/price"
	"github.com/hocket-run/hocket/workflow"
)

// ForEvery is the prefix of the warning about a model that overrides those of all agents.
const ForEvery = "the model for every agent: "

// RetiredModels returns one warning for each model that its provider has retired or will retire, in
// the workflow, its branches and its flows. Agents without their own model have the default model,
// and its warning says so. Providers at addresses set by the document or the operator are not
// checked.
func (o LoadOptions) RetiredModels(w *workflow.Workflow) (list diag.List) {
	if w == nil || !o.Retired || o.Offline {
		return nil
	}
	now := time.Now
	if o.Now != nil {
		now = o.Now
	}
	if o.Model != "" {
		if text := o.retiredText(w, o.Model, now()); text != "" {
			list.Warnf(diag.Span{File: w.Source.File}, "", price.CodeRetired, ForEvery+"%s", text)
		}
		return list
	}
	seen := map[string]bool{}
	for _, part := range slices.Concat([]*workflow.Workflow{w}, w.Branches) {
		for _, flow := range FlowsOf(part) {
			for i := range flow.Agents {
				a := &flow.Agents[i]
				for _, ref := range a.Models() {
					of := ""
					if ref == "" {
						ref, of = o.defaultModel(), " has no model of its own and gets the default"
					}
					if text := o.retiredText(w, ref, now()); text != "" && !seen[text] {
						seen[text] = true
						list.Warnf(flow.Source.Agent(a.ID), "", price.CodeRetired, "agent %q%s: %s", a.Title(), of,
							text)
					}
				}
			}
		}
	}
	return list
}

// defaultModel returns the model of agents that specify none (D26).
func (o LoadOptions) defaultModel() string {
	var ref string
	if o.Env != nil {
		ref = o.Env("HOCKET_MODEL")
	}
	if o.Operator != nil {
		ref = cmp.Or(ref, o.Operator.DefaultModel)
	}
	return ref
}

// retiredText returns the warning that a model is, or will be, retired; "" if no date is known, or
// if its provider is not the one in the table.
func (o LoadOptions) retiredText(w *workflow.Workflow, ref string, now time.Time) string {
	if o.Operator != nil {
		if m, ok := o.Operator.Models[ref]; ok {
			ref = m.Provider + "/" + m.Model
		}
	}
	full, err := model.ParseRef(ref)
	if err != nil || o.elsewhere(w, full.Provider) {
		return ""
	}
	if r, ok := price.Retires(full.String()); ok {
		return r.Text(full.String(), now)
	}
	return ""
}

// elsewhere reports whether calls to a provider go to an explicitly configured address or program.
func (o LoadOptions) elsewhere(w *workflow.Workflow, provider string) bool {
	if o.Operator != nil {
		if _, ok := o.Operator.Providers[provider]; ok {
			return true
		}
	}
	_, ok := w.Providers[provider]
	variable := strings.ToUpper(provider) + "_BASE_URL"
	if provider == "google" {
		variable = "GOOGLE_GEMINI_BASE_URL"
	}
	return ok || slices.Contains(o.Providers, provider) || o.Env != nil && o.Env(variable) != ""
}
