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

// maxPatience bounds how long a request may wait for a run (SEC17).
const maxPatience = time.Minute

// storeTime bounds how long a store that takes nothing is tried: a run claims its place again and again until its disk has room.
const storeTime = 20 * time.Second

// prompt does something to a run that a store which does not answer would hold up. Errors: those of do; service.ErrUnavailable, and then the same may be asked for
// again, whether it was done or not.
func prompt(ctx context.Context, do func(context.Context) error) error {
	bound, cancel := context.WithTimeout(ctx, storeTime)
	defer cancel()
	err := do(bound)
	if err != nil && bound.Err() != nil && ctx.Err() == nil {
		return fmt.Errorf("%w: %w", service.ErrUnavailable, err)
	}
	return err
}

// Patience says how long an answer may take that waits for a run to end or to pause.
type Patience struct {
	Wait   string `query:"wait" doc:"Wait until the run has ended or is paused, at most this long: a Go duration up to 1m" example:"10s"`
	Prefer string `header:"Prefer" doc:"The same as wait=SECONDS, in seconds (RFC 7240); more than a minute counts as a minute" example:"wait=10"`
}

// time gives how long; 0: not at all.
func (p Patience) time() (time.Duration, error) {
	if p.Wait != "" {
		d, err := duration("query.wait", p.Wait)
		if err == nil && d > maxPatience {
			err = badField("query.wait", "must be at most "+maxPatience.String())
		}
		return d, err
	}
	for pref := range strings.SplitSeq(p.Prefer, ",") {
		if n, ok := strings.CutPrefix(strings.TrimSpace(pref), "wait="); ok {
			if seconds, err := strconv.Atoi(n); err == nil && seconds > 0 {
				return time.Duration(min(seconds, int(maxPatience/time.Second))) * time.Second, nil
			}
		}
	}
	return 0, nil
}

// duration reads a Go duration above 0; "" is 0.
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

// badField says that a request is not acceptable at a place.
func badField(location, message string) *Problem {
	err := errcode.New(errcode.InvalidArgument, errcode.Fields{"argument": location, "problem": message}, nil)
	p := formProblem(http.StatusUnprocessableEntity, err.Error(), InputError{location, message})
	p.Reason, p.Fields = err.Code, err.Fields
	return p
}

// shown gives the run object, after waiting for the run to rest.
func shown(ctx context.Context, c *transport.Caller, run string, wait time.Duration) (out RunAnswer, err error) {
	if wait > 0 {
		bounded, cancel := context.WithTimeout(ctx, wait)
		go func() { // a server that ends tells how the run stands, before it breaks the request off
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
