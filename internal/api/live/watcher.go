package live

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/engine/event"
)

const (
	// writeBytes is the size of one write, unless a single message is larger.
	writeBytes = 64 << 10
	// replayBytes is how much of a journal is encoded before it is written.
	replayBytes = 512 << 10
	// slowWrite is how long writing replayBytes may take before the client counts as slow.
	slowWrite = time.Second
)

// watcher is one stream. It belongs to the goroutine of its request.
type watcher struct {
	*Handler
	pump *pump
	ask  *streamRequest
	hold *access.Hold
	// sent is the last event that was written, or skipped because it has no message.
	sent    uint64
	out     http.ResponseWriter
	control *http.ResponseController
	beat    *time.Timer
	more    chan struct{} // notified by the ring
	buf     bytes.Buffer
}

// errStreamEnded is returned when the stream must end.
var errStreamEnded = errors.New("the stream has ended")

func (w *watcher) serve(ctx context.Context, retry time.Duration) {
	// a stream outlasts the deadline for requests; a writer that cannot set one has none
	_ = w.control.SetReadDeadline(time.Time{})
	w.beat = time.NewTimer(w.cfg.Heartbeat)
	defer w.beat.Stop()
	w.buf.WriteString("retry: " + strconv.FormatInt(retry.Milliseconds(), 10) + "\n\n")
	err := w.flush()
	for err == nil {
		err = w.follow(ctx)
		if err == nil { // the ring has overtaken this watcher
			err = w.replay(ctx)
		}
	}
	if errors.Is(err, http.ErrNotSupported) {
		w.cfg.Logger.Error("this server cannot stream events", "err", err)
	}
	_ = w.control.SetWriteDeadline(time.Time{}) // the connection may serve other requests
}

// follow writes the content of the ring until events that were not written are overwritten there,
// in which case it returns nil, or until the stream ends.
func (w *watcher) follow(ctx context.Context) error {
	for {
		place, ok := w.pump.positionAfter(w.sent)
		if !ok {
			return nil
		}
		if err := w.writeFrom(ctx, place); err != nil {
			return err
		}
	}
}

// writeFrom writes the content of the ring from position place on, until what it has not yet
// written is overwritten, whether events or pieces of model output.
func (w *watcher) writeFrom(ctx context.Context, place uint64) error {
	for {
		if err := w.checkOpen(ctx); err != nil {
			return err
		}
		f := w.pump.take(place, writeBytes, w.more)
		if f.lost {
			return nil
		}
		place = f.next
		for _, one := range f.frames {
			w.buffer(one, f.behind)
		}
		if err := w.flush(); err != nil {
			return err
		}
		if f.closed {
			return w.end(f.last)
		}
		if !f.empty {
			continue
		}
		if err := w.wait(ctx); err != nil {
			return err
		}
	}
}

// buffer buffers a message to be written next, unless it was written before or is not wanted. A
// watcher that is too slow loses pieces of model output.
func (w *watcher) buffer(f *frame, behind bool) {
	switch {
	case f.seq == 0 && (behind || !w.ask.deltas()), f.seq > 0 && f.seq <= w.sent:
		return
	}
	w.sent = max(w.sent, f.seq)
	if w.ask.wants(f) {
		w.buf.Write(f.data)
	}
}

// checkOpen returns an error if the stream must end.
func (w *watcher) checkOpen(ctx context.Context) error {
	select {
	case <-w.hold.Lost():
		return errStreamEnded
	case <-w.closing:
		return errStreamEnded
	default:
		return ctx.Err()
	}
}

// wait waits for more messages, and writes heartbeats meanwhile.
func (w *watcher) wait(ctx context.Context) error { return w.waitFor(ctx, w.more, nil) }

// waitForReplaySlot waits until this watcher may read the journal.
func (w *watcher) waitForReplaySlot(ctx context.Context) error {
	return w.waitFor(ctx, nil, w.replaySlots)
}

// waitFor waits for more messages or for a turn, one of which is nil, and writes heartbeats
// meanwhile.
func (w *watcher) waitFor(ctx context.Context, more <-chan struct{}, turn chan<- struct{}) error {
	for {
		select {
		case <-more:
			return nil
		case turn <- struct{}{}:
			return nil
		case <-w.beat.C:
			if err := w.heartbeat(); err != nil {
				return err
			}
		case <-w.hold.Lost():
			return errStreamEnded
		case <-w.closing:
			return errStreamEnded
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// heartbeat shows the client and any proxies that the stream is alive.
func (w *watcher) heartbeat() error {
	if !w.hold.Keep() {
		return errStreamEnded
	}
	w.buf.WriteString(": heartbeat\n\n")
	return w.flush()
}

// end writes the last message. If the pump was interrupted there is none, and the client
// reconnects.
func (w *watcher) end(last *frame) error {
	if last != nil {
		w.buf.Write(last.data)
		if err := w.flush(); err != nil {
			return err
		}
	}
	return errStreamEnded
}

// flush writes the buffered messages.
func (w *watcher) flush() error {
	if w.buf.Len() == 0 {
		return nil
	}
	if err := w.control.SetWriteDeadline(time.Now().Add(w.cfg.WriteTimeout)); err != nil &&
		!errors.Is(err, http.ErrNotSupported) {
		return err
	}
	if _, err := w.out.Write(w.buf.Bytes()); err != nil {
		return err
	}
	if w.buf.Cap() > 2*writeBytes {
		w.buf = bytes.Buffer{}
	}
	w.buf.Reset()
	w.beat.Reset(w.cfg.Heartbeat)
	return w.control.Flush()
}

var errFull = errors.New("write buffer full")

// replay writes the events of the journal after the last one that was written, and returns nil when
// it reaches the end.
//
// A few watchers at a time read the journal once and write while they read, for as long as their
// clients keep up. All others, including watchers whose clients turn out to be slow, read it again
// for each chunk, so that no part of it is held in memory while a slow client reads; this takes
// time proportional to the square of the run's size.
func (w *watcher) replay(ctx context.Context) error {
	before := w.sent
	err := errFull
	select {
	case w.passSlots <- struct{}{}:
		err = w.passThrough(ctx)
	default:
	}
	for errors.Is(err, errFull) {
		if err = w.flush(); err == nil {
			err = w.bufferChunk(ctx)
		}
	}
	if err == nil {
		err = w.flush()
	}
	if err == nil && w.sent == before {
		return errStreamEnded // the journal has less than the ring had: it was pruned
	}
	return err
}

// passThrough writes while it reads. It returns errFull if the client is slow.
func (w *watcher) passThrough(ctx context.Context) error {
	defer func() { <-w.passSlots }()
	return w.read(ctx, func() error {
		if err := w.checkOpen(ctx); err != nil {
			return err
		}
		began := time.Now()
		if err := w.flush(); err != nil {
			return err
		}
		if time.Since(began) > slowWrite {
			return errFull
		}
		return nil
	})
}

// bufferChunk buffers up to replayBytes of the journal. It returns errFull if there is more.
func (w *watcher) bufferChunk(ctx context.Context) error {
	if err := w.waitForReplaySlot(ctx); err != nil {
		return err
	}
	defer func() { <-w.replaySlots }()
	return w.read(ctx, func() error { return errFull })
}

// read buffers the events of the journal after the last one that was written, and calls full
// whenever the buffer reaches replayBytes. It stops at the first error that full returns.
func (w *watcher) read(ctx context.Context, full func() error) error {
	w.reads.Add(1)
	v, r, err := newView(ctx, w.ask, w.pump.service, w.pump.run, w.pump.def)
	if err != nil {
		return err
	}
	each := func(take func(event.Event) error) error { return w.pump.service.EachEvent(ctx, w.pump.run, 0, take) }
	if r != nil {
		each = func(take func(event.Event) error) error { return r.Each(ctx, 0, take) }
	}
	return each(func(e event.Event) error {
		f, err := v.add(e, w.sent)
		if err != nil {
			return err
		}
		if e.Seq > w.sent {
			w.sent = e.Seq
			if f != nil && w.ask.wants(f) {
				w.buf.Write(f.data)
			}
		}
		if w.buf.Len() >= replayBytes {
			return full()
		}
		return nil
	})
}
