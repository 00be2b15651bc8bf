package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"strconv"
	"time"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/sse"
)

// Types of messages in the event stream that are not events.
const (
	streamDelta = "model.delta"
	streamReset = "model.reset"
	streamEnd   = "end"
)

// patience is the maximum number of consecutive attempts to reopen a broken stream, with pauses in
// between that start with firstPause and double.
const (
	maxReconnects = 8
	firstPause    = 100 * time.Millisecond
)

// errStopped is returned when the consumer wants no more updates.
var errStopped = errors.New("the consumer has stopped")

// Watch returns the events after the event from, each once and in order, and model output as it
// arrives, until the run has ended. A broken connection is reopened. An error is always the last
// element.
func (r *Remote) Watch(ctx context.Context, run string, from uint64) iter.Seq2[driver.Update, error] {
	return func(yield func(driver.Update, error) bool) {
		w := &watch{Remote: r, run: run, seq: from, yield: yield}
		for pause := firstPause; ; pause *= 2 {
			before := w.seq
			ended, err := w.follow(ctx)
			switch {
			case ended || errors.Is(err, errStopped):
				return
			case ctx.Err() != nil:
				yield(driver.Update{}, ctx.Err())
				return
			case w.seq > before:
				pause, w.broken = firstPause, 0
			}
			if w.broken++; w.refused || w.broken > maxReconnects {
				yield(driver.Update{}, err)
				return
			}
			select {
			case <-time.After(pause):
			case <-ctx.Done():
			}
		}
	}
}

// watch is a Watch in progress. seq is the last event that was yielded.
type watch struct {
	*Remote
	run     string
	seq     uint64
	broken  int
	refused bool // the server rejected the request for the stream
	yield   func(driver.Update, error) bool
}

// follow reads one stream. It reports whether the run has ended; if not, the error is the reason
// why the stream ended.
func (w *watch) follow(ctx context.Context) (ended bool, err error) {
	res, err := w.api.ListEvents(ctx, w.run, nil, func(_ context.Context, r *http.Request) error {
		r.Header.Set("Accept", "text/event-stream")
		r.Header.Set("Last-Event-ID", strconv.FormatUint(w.seq, 10))
		return nil
	})
	if err != nil {
		return false, w.unreachable(err)
	}
	if res.StatusCode == http.StatusNoContent {
		return true, res.Body.Close()
	}
	if res.StatusCode >= http.StatusBadRequest {
		w.refused = res.StatusCode < http.StatusInternalServerError && res.StatusCode != http.StatusTooManyRequests
		return false, w.read(res, nil, nil)
	}
	defer res.Body.Close()
	for m, err := range sse.Events(res.Body) {
		if err != nil {
			return false, w.unreachable(err)
		}
		if ended, err := w.message(ctx, m.Name, m.Data); ended || err != nil {
			return ended, err
		}
	}
	return false, fmt.Errorf("%s ended the event stream of run %s before the run ended", w.url, w.run)
}

// message handles one message of the stream.
func (w *watch) message(ctx context.Context, kind string, data []byte) (ended bool, err error) {
	switch kind {
	case streamEnd:
		return true, nil
	case streamReset: // the attempt number of later deltas implies it
		return false, nil
	case streamDelta:
		var d driver.Delta
		if err := json.Unmarshal(data, &d); err != nil {
			return false, fmt.Errorf("read event stream: %w", err)
		}
		return false, w.give(driver.Update{Delta: &d})
	}
	e, err := w.wholeEvent(ctx, w.run, data)
	if err != nil || e.Seq <= w.seq {
		return false, err
	}
	w.seq = e.Seq
	err = w.give(driver.Update{Event: &e})
	if mayEndWait(e.Data) {
		select {
		case w.woken <- struct{}{}:
		default:
		}
	}
	return false, err
}

func (w *watch) give(u driver.Update) error {
	if !w.yield(u, nil) {
		return errStopped
	}
	return nil
}

// mayEndWait reports whether Wait may return after an event.
func mayEndWait(d event.Data) bool {
	switch d.(type) {
	case *event.RunCompleted, *event.RunFailed, *event.RunCancelled, *event.RunPaused, *event.WaitOpened,
		*event.StepCompleted, *event.StepFailed:
		return true
	}
	return false
}
