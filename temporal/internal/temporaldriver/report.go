package temporaldriver

import (
	"time"

	"github.com/hocket-run/hocket/internal/engine"
)

// Report is what a workflow gets to know about its run: what is open after an event. Histories have it, so that its keys are short and it holds ids, kinds and times alone.
type Report struct {
	// Seq is the last event that it knows of.
	Seq uint64 `json:"s"`
	// Open is what is open. Partial: it is only what one decision opened, and Stop what it stopped.
	Open    []Open `json:"o,omitempty"`
	Partial bool   `json:"p,omitempty"`
	// Stop are the calls that were told to stop and have not ended.
	Stop []Open `json:"x,omitempty"`
	// End: nothing is to be done for the run any more, until a signal starts the workflow anew.
	End bool `json:"e,omitempty"`
	// Status is the run's where End is set.
	Status string `json:"st,omitempty"`
	// Host is the queue of the worker that has the run in memory, behind the namespace's, and Takes the kinds of the calls that it makes; "": none is preferred.
	Host  string `json:"h,omitempty"`
	Takes string `json:"t,omitempty"`
	// Beat is the timeout of heartbeats in milliseconds; 0: DefaultHeartbeatTimeout.
	Beat int64 `json:"b,omitempty"`
}

// statusGone is Report.Status where the run is not Temporal's any more: it was moved, or deleted.
const statusGone = "gone"

// Open is a call or a timer.
type Open struct {
	ID   string `json:"i"`
	Kind string `json:"k"`
	// At is when a timer is due, in microseconds since 1970.
	At int64 `json:"at,omitempty"`
	// Node is for people who look at the workflow.
	Node string `json:"n,omitempty"`
	// Place is where the call has to be made; "": anywhere.
	Place string `json:"l,omitempty"`
}

// maxWhole is up to how many open calls and timers a report has all of them: of many that run side by side, each result would list all others.
const maxWhole = 8

// openOf gives calls and timers as reports have them. Tools and functions are called at the place of the run.
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

// wholeReport tells all of a run.
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

// reportOf tells what is open in a run after a decision: all of it, or what the decision changed where that is much less.
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

// timeOf is the time of a timer.
func (o Open) timeOf() time.Time { return time.UnixMicro(o.At) }
