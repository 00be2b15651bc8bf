package httpapi

import (
	"context"
	"net/http"
	"time"

	"github.com/hocket-run/hocket/internal/api/transport"
	"github.com/hocket-run/hocket/internal/op"
	"github.com/hocket-run/hocket/internal/view"
)

// badField returns the problem for an invalid value at a location in the request.
func badField(location, message string) *Problem {
	return fieldProblem(&op.FieldError{Location: location, Problem: message})
}

func fieldProblem(e *op.FieldError) *Problem {
	p := formProblem(http.StatusUnprocessableEntity, e.Error(), InputError{e.Location, e.Problem})
	p.Reason, p.Fields = e.Coded()
	return p
}

// waitAndShow returns the run object, after waiting up to wait for the run to end or to pause.
func waitAndShow(ctx context.Context, c *transport.Caller, run string, wait time.Duration) (out RunAnswer, err error) {
	if wait > 0 {
		bounded, cancel := context.WithTimeout(ctx, wait)
		go func() { // a server that shuts down reports the run's status before it aborts the request
			select {
			case <-transport.Closing(ctx):
				cancel()
			case <-bounded.Done():
			}
		}()
		_, err = c.Service.Wait(bounded, run)
		isOver := bounded.Err() != nil
		cancel()
		if err != nil && (ctx.Err() != nil || !isOver) {
			return out, err
		}
	}
	answer, err := runAnswer(ctx, c, run, view.Page{Limit: view.DefaultPage})
	if err != nil {
		return out, err
	}
	return *answer, nil
}
