package run

import (
	"encoding/json"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/service/definition"
	"github.com/hocket-run/hocket/workflow"
)

// isRaised reports whether a run of g had limits above those of g: from the start, or since it was
// reopened or its question about a budget was answered.
func isRaised(past []event.Event, g *workflow.Workflow) bool {
	for _, e := range past {
		l := event.LimitsOf(e.Data)
		if d, ok := e.Data.(*event.RunCreated); ok && d.Meta[metaLimits] != "" {
			l = new(workflow.Limits)
			if json.Unmarshal([]byte(d.Meta[metaLimits]), l) != nil {
				return true // unreadable limits are not known to be lower
			}
		}
		if l != nil && definition.RaisesOwn(*l, g) {
			return true
		}
	}
	return false
}
