package httpapi

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/hocket-run/hocket/internal/api/transport"
	"github.com/hocket-run/hocket/internal/errcode"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/internal/view"
)

// maxWait is the longest time that a request may wait for a run (SEC17).
const maxWait = time.Minute

// storeTimeout is how long a store that accepts no writes is retried: a run tries to claim its slot
// until the disk has room.
const storeTimeout = 20 * time.Second

// withStoreTimeout calls do, which acts on a run and would block on a store that does not respond.
// It returns the error of do, or service.ErrUnavailable, after which the caller may retry the
// operation whether or not it took effect.
func withStoreTimeout(ctx context.Context, do func(context.Context) error) error {
	bound, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	err := do(bound)
	if err != nil && bound.Err() != nil && ctx.Err() == nil {
		return fmt.Errorf("%w: %w", service.ErrUnavailable, err)
	}
	return err
}

// Patience specifies how long a request may wait for a run to end or to pause.
type Patience struct {
	Wait   string `query:"wait" doc:"Longest wait for the run to end or pause; a Go duration up to 1m" example:"10s"`
	Prefer string `header:"Prefer" doc:"Like the parameter wait, in seconds (RFC 7240), capped at 60" example:"wait=10"`
}

// time returns the duration; 0 means that the request does not wait.
func (p Patience) time() (time.Duration, error) {
	if p.Wait != "" {
		d, err := duration("query.wait", p.Wait)
		if err == nil && d > maxWait {
			err = badField("query.wait", "must be at most "+maxWait.String())
		}
		return d, err
	}
	for pref := range strings.SplitSeq(p.Prefer, ",") {
		if n, ok := strings.CutPrefix(strings.TrimSpace(pref), "wait="); ok {
			if seconds, err := strconv.Atoi(n); err == nil && seconds > 0 {
				return time.Duration(min(seconds, int(maxWait/time.Second))) * time.Second, nil
			}
		}
	}
	return 0, nil
}

// duration parses a positive Go duration; "" yields 0.
func duration(location, text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return 0, badField(location, "must be a duration above 0, such as 30s or 10m")
	}
	return d, nil
}

// badField returns the problem for an invalid value at a location in the request.
func badField(location, message string) *Problem {
	err := errcode.New(errcode.InvalidArgument, errcode.Fields{"argument": location, "problem": message}, nil)
	p := formProblem(http.StatusUnprocessableEntity, err.Error(), InputError{location, message})
	p.Reason, p.Fields = err.Code, err.Fields
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
