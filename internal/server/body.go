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
	// bodyTime bounds the time of a whole body.
	bodyTime = 5 * time.Minute
	// leastBody is how many bytes of a body have to come within Limits.BodyIdle.
	leastBody = 16 << 10
	// bodyWeight is how many bytes of the budget a byte of a body takes: one as it came, one as what is read of it.
	bodyWeight = 2
	// restTime bounds how long the rest of a body that no transport read is waited for, so that the connection can be used again.
	restTime = 500 * time.Millisecond
)

// body charges what arrives to the claim of its request, and bounds the time of reads, one by one and together: a client that sends its body in drops, or stops, is let
// go. Only time spent waiting counts. Not safe for concurrent use.
type body struct {
	io.ReadCloser
	control *http.ResponseController
	claim   *inflight.Claim
	until   time.Time
	idle    time.Duration

	came   int64 // since waited was 0
	waited time.Duration
	err    error // that of every further read
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
		// Once the body has ended the connection is read in the background to see whether the client leaves: that has no end of time.
		err = b.control.SetReadDeadline(time.Time{})
	}
	if b.came += int64(n); b.came >= leastBody {
		b.came, b.waited = 0, 0
	} else {
		b.waited += time.Since(began)
	}
	switch {
	case errors.Is(rerr, os.ErrDeadlineExceeded):
		b.err = &transport.SlowBodyError{Least: leastBody, Within: b.idle}
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

// end bounds how long the server waits for what is left of the body. A nil body has ended.
func (b *body) end() {
	if b == nil || errors.Is(b.err, io.EOF) {
		return
	}
	rest := restTime
	if _, slow := errors.AsType[*transport.SlowBodyError](b.err); slow {
		rest = 0
	}
	_ = b.control.SetReadDeadline(time.Now().Add(rest))
}
