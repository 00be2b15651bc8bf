package httpapi

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/api/transport"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/service"
)

func (a *API) registerSignals() {
	add(a, route{
		Method: http.MethodPost, Path: "/runs/{id}/signals/{name}", ID: "signalRun", Tag: tagRuns, Role: access.RoleRun,
		Summary: "Send a signal to a run",
		Description: "The step that has waited longest of those that wait for the name and accept the value takes " +
			"it: 200, with the step. A signal that no step takes yet is kept for a later one: 202. " +
			"A run keeps at most 100 signals and 1 MiB; a value has at most 256 KiB. With an `Idempotency-Key` the " +
			"same signal again changes nothing and gives the same result. " +
			"404 also means that no step of the workflow waits for a signal of that name.",
		Also:   []int{http.StatusAccepted},
		Errors: []int{http.StatusNotFound, http.StatusConflict, http.StatusRequestEntityTooLarge},
	}, signalRun)
}

// SignalBody is the body of signalRun.
type SignalBody struct {
	Value json.RawMessage `json:"value,omitempty" doc:"Any JSON value (absent: null); the output of the receiving step"`
}

type signalInput struct {
	RunPath
	Name string      `path:"name" maxLength:"64" doc:"Name of the signal" example:"payment"`
	Key  string      `header:"Idempotency-Key" maxLength:"255" doc:"Identifies the signal, so that it can be retried"`
	Body *SignalBody `required:"false"`
}

// SignalResult is the outcome of a signal.
type SignalResult struct {
	Run    string `json:"run" doc:"Run that has the signal: this one, or one that it started and that waits for it"`
	Signal string `json:"signal"`
	Key    string `json:"key" doc:"Key of the signal: that of the request, or a generated one"`
	Wait   string `json:"wait,omitempty" doc:"Wait that took it; absent: it is kept"`
	Node   string `json:"node,omitempty" doc:"Node that took it; absent: it is kept"`
}

type signalled struct {
	Status int
	Body   SignalResult
}

func signalRun(ctx context.Context, c *transport.Caller, in *signalInput) (*signalled, error) {
	q := service.SignalRequest{Name: in.Name, Key: in.Key, By: c.Actor(event.ChannelHTTP)}
	if in.Body != nil {
		q.Value = in.Body.Value
	}
	var out service.Signalled
	err := withStoreTimeout(ctx, func(ctx context.Context) (err error) {
		out, err = c.Service.Signal(ctx, in.ID, q)
		return err
	})
	if err != nil {
		return nil, err
	}
	transport.RecordAction(ctx, transport.ActSignal, out.Run+" "+out.Signal)
	res := signalled{Status: http.StatusOK, Body: SignalResult(out)}
	if out.Wait == "" {
		res.Status = http.StatusAccepted
	}
	return &res, nil
}
