package op

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/service"
)

// SignalRun sends a signal to a run.
var SignalRun = New(Operation{
	ID: "signalRun", Role: access.RoleRun, Effect: Acts, Action: "runs.signal",
	HTTP: HTTP{
		Method: http.MethodPost, Path: "/runs/{id}/signals/{name}", Tag: tagRuns, Summary: "Send a signal to a run",
		About: "The step that has waited longest of those that wait for the name and accept the value takes " +
			"it: 200, with the step. A signal that no step takes yet is kept for a later one: 202. " +
			"A run keeps at most 100 signals and 1 MiB; a value has at most 256 KiB. With an `Idempotency-Key` the " +
			"same signal again changes nothing and gives the same result. " +
			"404 also means that no step of the workflow waits for a signal of that name.",
		Also: []int{http.StatusAccepted}, Bounded: true,
		Errors: []int{http.StatusNotFound, http.StatusConflict, http.StatusRequestEntityTooLarge},
	},
	Tool: Tool{
		Name: "signal_run", Title: "Send a signal to a run",
		About: "Sends a signal to a run whose workflow waits for it by name. The step that has waited longest and " +
			"accepts the value takes it, and the run continues; a signal that no step takes yet is kept for a " +
			"later step. " +
			`get_run shows what a run waits for. Example: {"id": "RUN", "signal": "payment", "value": {"amount": 120}}`,
		Args: []Text{aboutRun, {Name: "signal", Of: "name", About: "The name of the signal."},
			{Name: "value", About: "Any value; it is the output of the step that takes the signal. Absent: null."},
			{Name: "idempotencyKey", Of: headerKey,
				About: "Identifies the signal: the same one again changes nothing."}},
		Results: []Text{{Name: "runId", Of: "run",
			About: "The run that has the signal: this one, or one that it started and that waits for it."},
			{Name: "signal"}, {Name: "key"},
			{Name: "wait", About: "The wait that took it; absent: the run keeps the signal."},
			{Name: "node", About: "The step that took it; absent: the run keeps the signal."}},
		Next: func(out any) string {
			if out.(service.SignalResult).Later() {
				return "No step takes the signal now; the run keeps it for a later step."
			}
			return "The run continues: get_run shows it."
		},
	},
}, signalRun, func(in *SignalIn, out *service.SignalResult) string {
	return cmp.Or(out.Run, in.ID) + " " + in.Name
})

// SignalIn is a signal to a run.
type SignalIn struct {
	RunPath
	Name string      `path:"name" maxLength:"64" doc:"Name of the signal" example:"payment"`
	Key  string      `header:"Idempotency-Key" maxLength:"255" doc:"Identifies the signal, so that it can be retried"`
	Body *SignalBody `required:"false"`
}

// SignalBody is the body of a signal.
type SignalBody struct {
	Value json.RawMessage `json:"value,omitempty" doc:"Any JSON value (absent: null); the output of the receiving step"`
}

func signalRun(ctx context.Context, c *Caller, in *SignalIn) (service.SignalResult, error) {
	q := service.SignalRequest{Name: in.Name, Key: in.Key, By: c.By()}
	if in.Body != nil {
		q.Value = in.Body.Value
	}
	return c.Service.Signal(ctx, in.ID, q)
}
