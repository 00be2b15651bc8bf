package httpapi

import (
	"context"
	"net/http"
	"reflect"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/hocket-run/hocket/internal/api/transport"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/op"
)

// registerOperations registers the routes of the table of operations.
func (a *API) registerOperations() {
	mount(a, op.CancelRun)
	mount(a, op.SignalRun)
	mount(a, op.RetryRun)
	mount(a, op.ForkRun)
}

// mount registers the route of an entry. What does not depend on its types is in mounted, since the
// compiler generates mount once for each entry.
func mount[In, Out any](a *API, o *op.Op[In, Out]) {
	m := a.mount(&o.Operation, reflect.TypeFor[bodyOf[Out]]())
	huma.Register(a.huma, m.op, func(ctx context.Context, in *In) (*response, error) { return m.serve(ctx, in) })
	m.describe(a.huma.OpenAPI())
}

// bodyOf is the response with the result of an operation.
type bodyOf[T any] struct{ Body T }

// mounted is the route of an entry.
type mounted struct {
	*registration
	of *op.Operation
}

// mount adds an entry with results of type out to the API's list.
func (a *API) mount(o *op.Operation, out reflect.Type) *mounted {
	switch {
	case o.ReturnsRun() && o.HTTP.Status == http.StatusCreated:
		out = reflect.TypeFor[runMade]()
	case o.ReturnsRun():
		out = reflect.TypeFor[RunAnswer]()
	}
	h := o.HTTP
	return &mounted{a.register(route{Method: h.Method, Path: h.Path, ID: o.ID, Summary: h.Summary, Description: h.About,
		Tag: h.Tag, Role: o.Role, Status: h.Status, Also: h.Also, Errors: h.Errors}, out), o}
}

// serve carries out the operation and returns its result as a response.
func (m *mounted) serve(ctx context.Context, in any) (*response, error) {
	c, _ := ctx.Value(requestKey{}).(huma.Context)
	_ = c.SetReadDeadline(time.Time{}) // the body was read; without a deadline there is none to clear
	res, err := m.result(ctx, c, in)
	if err != nil {
		return nil, responseError(ctx, err)
	}
	return res, nil
}

func (m *mounted) result(ctx context.Context, c huma.Context, in any) (*response, error) {
	var wait time.Duration
	var err error
	if p, ok := in.(interface{ Waiting() op.WaitOptions }); ok {
		if wait, err = p.Waiting().Time(); err != nil {
			return nil, err
		}
	}
	who := &op.Caller{Caller: transport.From(ctx), Channel: event.ChannelHTTP,
		Record: func(action, target string) { transport.RecordAction(ctx, action, target) }}
	var out any
	do := func(ctx context.Context) (err error) {
		out, err = m.of.Call(ctx, who, in)
		return err
	}
	if m.of.HTTP.Bounded {
		err = transport.WithStoreTimeout(ctx, do)
	} else {
		err = do(ctx)
	}
	if err != nil {
		return nil, err
	}
	res := &response{m.answer.status, out}
	if run, ok := out.(op.Run); ok {
		shown, err := waitAndShow(ctx, who.Caller, run.ID, wait)
		if res.Body = shown.Body; err != nil {
			return nil, err
		}
		if m.answer.status == http.StatusCreated {
			c.SetHeader("Location", pathOf("runs", run.ID))
		}
	}
	if later, ok := out.(interface{ Later() bool }); ok && later.Later() {
		res.Status = http.StatusAccepted
	}
	return res, nil
}
