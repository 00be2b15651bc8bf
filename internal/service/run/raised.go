package run

import (
	"encoding/json"

	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/service/definition"
	"github.com/hocket-run/hocket/workflow"
)

// isRaised tells whether a run of g had limits above those of g: from its beginning, or since it was reopened or its question about a budget was answered.
func isRaised(past []engine.Event, g *workflow.Workflow) bool {
	for _, e := range past {
		var l *workflow.Limits
		switch d := e.Data.(type) {
		case *engine.RunCreated:
			l = &d.Limits
			if text := d.Meta[metaLimits]; text != "" {
				l = new(workflow.Limits)
				if json.Unmarshal([]byte(text), l) != nil {
					return true // what cannot be read is not known to be lower
				}
			}
		case *engine.RunResumed:
			l = d.Limits
		case *engine.WaitAnswered:
			l = d.Limits
		}
		if l != nil && definition.RaisesOwn(*l, g) {
			return true
		}
	}
	return false
}
