package cli

import (
	"slices"
	"time"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/price"
	"github.com/hocket-run/hocket/workflow"
)

// retired warns of models of agents that their providers retired, or will retire.
func retired(w *workflow.Workflow, now time.Time) diag.List {
	var list diag.List
	if w == nil {
		return nil
	}
	for i := range w.Agents {
		a := &w.Agents[i]
		for _, ref := range slices.Concat([]string{a.Model}, a.Fallbacks) {
			if text := retiredText(ref, now); text != "" {
				list.Warnf(w.Source.Agent(a.ID), "", price.CodeRetired, "agent %q: %s", a.Title(), text)
			}
		}
	}
	return list
}

// retiredText says that a model is, or will be, retired; "" where no date is known.
func retiredText(ref string, now time.Time) string {
	full, err := model.ParseRef(ref)
	if err != nil {
		return ""
	}
	r, ok := price.Retires(full.String())
	if !ok {
		return ""
	}
	return r.Text(full.String(), now)
}
