package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/project"
)

// totals ends the progress display with the totals of the run so far: time since its start, tokens,
// calls, and cost as far as models have prices.
func (f *follower) totals(o project.Run) {
	if f.quiet || o.StartedAt == nil {
		return
	}
	fmt.Fprintln(f.Err, f.color.dim(totalsText(o, time.Now())))
}

// totalsText formats the duration and usage of a run.
func totalsText(o project.Run, now time.Time) string {
	if o.EndedAt != nil {
		now = *o.EndedAt
	}
	status := string(o.Status)
	if o.WaitingFor != "" {
		status = "waiting for place " + o.WaitingFor
	} else if o.Status == event.StatusRunning && o.Interrupted {
		status = "interrupted"
	}
	u := o.Usage
	parts := []string{fmt.Sprintf("%s after %s", status, duration(now.Sub(*o.StartedAt)))}
	if u.ModelCalls > 0 {
		parts = append(parts, pluralize(u.ModelCalls, "model call"))
	}
	if u.ToolCalls > 0 {
		parts = append(parts, pluralize(u.ToolCalls, "tool call"))
	}
	if u.InputTokens+u.OutputTokens > 0 {
		parts = append(parts, fmt.Sprintf("%s in, %d out", pluralize(u.InputTokens, "token"), u.OutputTokens))
	}
	switch {
	case u.KnownCost == 0:
	case u.CostUSD == nil:
		parts = append(parts, "at least "+money(u.KnownCost))
	default:
		parts = append(parts, money(u.KnownCost))
	}
	return strings.Join(parts, ", ")
}
