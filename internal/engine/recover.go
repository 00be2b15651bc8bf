package engine

import (
	"fmt"
	"time"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/loop"
)

// handleRecovered goes on after a crash: cancelled calls are given up, lost ones are treated by their policy, all others are given again (P12).
func (r *Run) handleRecovered(d Recovered) {
	if r.s.Status == StatusRunning {
		r.emit(0, "", &RunResumed{Reason: reasonRecovered, Trace: event.Clean(d.Trace)})
	}
	r.graph.WakeAll()
	r.takeUp(d.Lost, "the process that made the call died")
}

// handleReopen goes on with a run that ended by a limit (D20).
func (r *Run) handleReopen(d Reopen) {
	limits := MergeLimits(r.s.Limits, d.Limits)
	r.emit(0, "", &RunResumed{Reason: reasonReopened, Limits: &limits, Above: d.Above, By: d.By.Clean(), Trace: event.Clean(d.Trace)})
	if r.s.Ending != nil {
		r.steps.cancelScope(0, "the run failed")
		r.abandon(endedBefore)
		return
	}
	r.takeUp(d.Lost, endedBefore)
	r.callWithheld()
}

// Reasons of RunResumed after which calls that were out are made again.
const (
	reasonRecovered = "recovered"
	reasonReopened  = "reopened"
)

const endedBefore = "the run had ended before"

// takeUp goes on with the calls that were out when the run was left.
func (r *Run) takeUp(lost []Lost, why string) {
	if r.s.cancelled() { // nothing is called again only to be stopped
		r.cutOff(why)
		return
	}
	r.abandon(why)
	for _, l := range lost {
		key, c := r.s.openCall(l.ID, loop.Tool)
		if c == nil || c.State != loop.Open {
			continue
		}
		switch l.Policy {
		case "retry":
		case "skip":
			r.lost(key, "skip")
		case "fail":
			r.lost(key, "fail")
		default:
			r.askAbout(key, c, "it was interrupted while it ran")
		}
	}
	r.abandon(why) // those that a failure just cancelled
	r.announced = time.Time{}
	r.commands.reissue()
}

// lost settles a call with unknown outcome as a person or its policy says.
func (r *Run) lost(key, what string) {
	c := r.s.Loop.Call(key)
	step, fr, inAgent := c.Step, c.Frame, c.ToolID != ""
	switch what {
	case "skip":
		r.emitStep(step, &ToolReturned{Call: key, Attempt: c.Attempt, Text: "The outcome of this call is unknown; it was not repeated.", IsError: true})
	default:
		// No retry policy applies: trying again is what was decided against.
		f := Failure{Code: CodeOutcomeUnknown, Message: fmt.Sprintf("outcome of tool %s is unknown", c.Tool), Node: r.nodeID(step)}
		if !r.handledByProgram(step, "", &f, nil) {
			r.steps.giveUp(step, f)
		}
		return
	}
	if inAgent {
		r.agents.turnAnswered(step, fr)
		return
	}
	r.steps.complete(step, &StepCompleted{}, r.plan.out...)
}
