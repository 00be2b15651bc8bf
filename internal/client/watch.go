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
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/sse"
)

// Words of the event stream that are no events.
const (
	streamDelta = "model.delta"
	streamReset = "model.reset"
	streamEnd   = "end"
)

// patience bounds how often in a row a stream that broke is opened again, with waits between that double from firstPause.
const (
	patience   = 8
	firstPause = 100 * time.Millisecond
)

// errLeft says that the watcher wants no more.
var errLeft = errors.New("the consumer has stopped")

// Watch gives the events after the event from, each once and in order, and what models say meanwhile, until the run has ended. A connection that breaks is opened again. An error is the
// last thing given.
func (r *Remote) Watch(ctx context.Context, run string, from uint64) iter.Seq2[driver.Update, error] {
	return func(yield func(driver.Update, error) bool) {
		w := &watch{Remote: r, run: run, seq: from, yield: yield}
		for pause := firstPause; ; pause *= 2 {
			before := w.seq
			ended, err := w.follow(ctx)
			switch {
			case ended || errors.Is(err, errLeft):
				return
			case ctx.Err() != nil:
				yield(driver.Update{}, ctx.Err())
				return
			case w.seq > before:
				pause, w.broken = firstPause, 0
			}
			if w.broken++; w.refused || w.broken > patience {
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

// watch is one Watch at work. seq is the last event that was given.
type watch struct {
	*Remote
	run     string
	seq     uint64
	broken  int
	refused bool // the server answered that it does not give the stream
	yield   func(driver.Update, error) bool
}

// follow reads one stream. It reports whether the run has ended; if not, the error says why the stream did.
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

// message takes one message of the stream.
func (w *watch) message(ctx context.Context, kind string, data []byte) (ended bool, err error) {
	switch kind {
	case streamEnd:
		return true, nil
	case streamReset: // the attempt of what follows tells the same
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
	if wakes(e.Data) {
		select {
		case w.woken <- struct{}{}:
		default:
		}
	}
	return false, err
}

func (w *watch) give(u driver.Update) error {
	if !w.yield(u, nil) {
		return errLeft
	}
	return nil
}

// wakes tells whether Wait may have an end behind an event.
func wakes(d engine.Data) bool {
	switch d.(type) {
	case *engine.RunCompleted, *engine.RunFailed, *engine.RunCancelled, *engine.RunPaused, *engine.WaitOpened, *engine.StepCompleted, *engine.StepFailed:
		return true
	}
	return false
}
