package temporaldriver

import (
	"time"

	"github.com/hocket-run/hocket/internal/engine"
)

// Report tells a workflow about its run: what is open after an event. It is part of histories, so
// its keys are short and it contains only IDs, kinds and times.
type Report struct {
	// Seq is the number of the last event that the report takes into account.
	Seq uint64 `json:"s"`
	// Open lists what is open. If Partial is set, it is only what one decision opened, and Stop is
	// what it stopped.
	Open    []Open `json:"o,omitempty"`
	Partial bool   `json:"p,omitempty"`
	// Stop lists the calls that were told to stop and have not ended.
	Stop []Open `json:"x,omitempty"`
	// End means that nothing more is to be done for the run, until a signal starts the workflow
	// again.
	End bool `json:"e,omitempty"`
	// Status is the run's status if End is set.
	Status string `json:"st,omitempty"`
	// Host is the queue of the worker that has the run in memory, without the namespace's prefix,
	// and Takes the kinds of calls that the worker makes; empty means that no worker is preferred.
	Host  string `json:"h,omitempty"`
	Takes string `json:"t,omitempty"`
	// Beat is the heartbeat timeout in milliseconds; 0 means DefaultHeartbeatTimeout.
	Beat int64 `json:"b,omitempty"`
}

// statusGone is the Report.Status of a run that no longer belongs to Temporal, because it was moved
// or deleted.
const statusGone = "gone"

// Open is an open call or timer.
type Open struct {
	ID   string `json:"i"`
	Kind string `json:"k"`
	// At is when a timer is due, in microseconds since 1970.
	At int64 `json:"at,omitempty"`
	// Node is for people who look at the workflow.
	Node string `json:"n,omitempty"`
	// Place is where the call must be made; empty means anywhere.
	Place string `json:"l,omitempty"`
}

// maxWhole is the maximum number of open calls and timers for which a report lists all of them:
// with many concurrent calls, each result would list all others.
const maxWhole = 8

// openOf converts calls and timers to the form used in reports. Tools and functions are called at
// the place of the run.
func openOf(cmds []engine.Command, place string) []Open {
	var list []Open
	for _, c := range cmds {
		switch c := c.(type) {
		case *engine.CallModel:
			list = append(list, Open{ID: c.ID, Kind: kindModel, Node: c.Node})
		case *engine.CallTool:
			list = append(list, Open{ID: c.ID, Kind: kindTool, Node: c.Node, Place: place})
		case *engine.CallFunc:
			list = append(list, Open{ID: c.ID, Kind: kindFunc, Node: c.Node, Place: place})
		case *engine.StartTimer:
			list = append(list, Open{ID: c.ID, Kind: kindTimer, At: c.At.UnixMicro()})
		}
	}
	return list
}

// wholeReport reports everything that is open in a run.
func wholeReport(run *engine.Run, place string) Report {
	r := Report{Seq: run.Seq()}
	if run.Status().Ended() {
		r.End, r.Status = true, string(run.Status())
		return r
	}
	r.Open, r.Stop = openOf(run.Open(), place), openOf(run.Stopped(), place)
	r.End = len(r.Open)+len(r.Stop) == 0
	if r.End {
		r.Status = string(run.Status())
	}
	return r
}

// reportOf reports what is open in a run after a decision: everything, or only what the decision
// changed if that is much less.
func reportOf(run *engine.Run, dec []engine.Command, place string) Report {
	r := wholeReport(run, place)
	if r.End || len(r.Open)+len(r.Stop) <= maxWhole {
		return r
	}
	part := Report{Seq: r.Seq, Partial: true, Open: openOf(dec, place)}
	for _, c := range dec {
		stop, ok := c.(*engine.CancelCalls)
		if !ok {
			continue
		}
		for _, s := range r.Stop {
			for _, id := range stop.IDs {
				if s.ID == id {
					part.Stop = append(part.Stop, s)
				}
			}
		}
	}
	return part
}

// timeOf returns the time of a timer.
func (o Open) timeOf() time.Time { return time.UnixMicro(o.At) }
