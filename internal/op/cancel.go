package op

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/journal"
)

// CancelRun stops a run and the runs that it started.
var CancelRun = New(Operation{
	ID: "cancelRun", Role: access.RoleRun, Effect: Removes, Action: "runs.cancel",
	HTTP: HTTP{
		Method: http.MethodPost, Path: "/runs/{id}/cancel", Tag: tagRuns, Summary: "Stop a run",
		About: "Stops the runs that it started, too. A run that is already cancelled is returned unchanged; one that " +
			"ended otherwise is 409.",
		Bounded: true, Errors: []int{http.StatusNotFound, http.StatusConflict},
	},
	Tool: Tool{
		Name: "cancel_run", Title: "Stop a run",
		About: "Stops a run for good, with the runs that it started. Its events so far are kept. If it already " +
			"completed or failed, the call fails with the code conflict.",
		Args: []Text{aboutRun, {Name: "reason", About: "Recorded with the run."}}, Stop: 15 * time.Second,
	},
}, cancelRun, func(in *CancelIn, _ *Run) string { return in.ID })

// CancelIn names a run to be stopped.
type CancelIn struct {
	RunPath
	WaitOptions
	Body *CancelInputBody `required:"false"`
}

// CancelInputBody is the body of a cancellation.
type CancelInputBody struct {
	Reason string `json:"reason,omitempty" maxLength:"2000" doc:"Recorded with the run"`
}

func cancelRun(ctx context.Context, c *Caller, in *CancelIn) (Run, error) {
	reason := ""
	if in.Body != nil {
		reason = in.Body.Reason
	}
	err := c.Service.Cancel(ctx, in.ID, reason)
	if errors.Is(err, engine.ErrEnded) {
		// a run that is cancelled already is as the caller wants it
		if h, herr := c.Service.Head(ctx, in.ID); herr == nil && h.Status == journal.StatusCancelled {
			err = nil
		}
	}
	return Run{in.ID}, err
}
