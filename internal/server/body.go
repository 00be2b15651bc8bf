package server

import (
	"errors"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/hocket-run/hocket/internal/api/transport"
	"github.com/hocket-run/hocket/internal/inflight"
)

const (
	// bodyTime is the maximum time for a whole body.
	bodyTime = 5 * time.Minute
	// minBodyBytes is the number of bytes of a body that must arrive within Limits.BodyIdle.
	minBodyBytes = 16 << 10
	// bodyWeight is the number of budget bytes that a byte of a body costs: one as received, one
	// for what is decoded from it.
	bodyWeight = 2
	// bodyDrainTimeout is the maximum time to wait for the rest of a body that no transport read,
	// so that the connection can be reused.
	bodyDrainTimeout = 500 * time.Millisecond
)

// body charges the received bytes to the claim of its request, and limits the time of reads,
// individually and in total: a client that sends its body in a trickle, or stops, is disconnected.
// Only time spent waiting counts. It is not safe for concurrent use.
type body struct {
	io.ReadCloser
	control *http.ResponseController
	claim   *inflight.Claim
	until   time.Time
	idle    time.Duration

	received int64 // bytes since waited was 0
	waited   time.Duration
	err      error // returned by every further read
}

func (b *body) Read(p []byte) (int, error) {
	if b.err != nil {
		return 0, b.err
	}
	p = p[:min(len(p), pieceBytes)]
	began := time.Now()
	deadline := began.Add(b.idle - b.waited)
	if b.until.Before(deadline) {
		deadline = b.until
	}
	err := b.control.SetReadDeadline(deadline)
	n, rerr := b.ReadCloser.Read(p)
	if err == nil {
		// Once the body has ended, the connection is read in the background to detect whether the
		// client leaves; that read has no deadline.
		err = b.control.SetReadDeadline(time.Time{})
	}
	if b.received += int64(n); b.received >= minBodyBytes {
		b.received, b.waited = 0, 0
	} else {
		b.waited += time.Since(began)
	}
	switch {
	case errors.Is(rerr, os.ErrDeadlineExceeded):
		b.err = &transport.SlowBodyError{Least: minBodyBytes, Within: b.idle}
	case rerr != nil:
		b.err = rerr
	case err != nil && !errors.Is(err, http.ErrNotSupported):
		b.err = err
	}
	if full := b.claim.Take(int64(n) * bodyWeight); full != nil {
		b.err, n = full, 0
	}
	return n, b.err
}

// end limits how long the server waits for the rest of the body. A nil body has ended.
func (b *body) end() {
	if b == nil || errors.Is(b.err, io.EOF) {
		return
	}
	rest := bodyDrainTimeout
	if _, slow := errors.AsType[*transport.SlowBodyError](b.err); slow {
		rest = 0
	}
	_ = b.control.SetReadDeadline(time.Now().Add(rest))
}
