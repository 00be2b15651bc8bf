package server

import (
	"net/http"
	"strings"
	"time"

	"github.com/hocket-run/hocket/internal/inflight"
)

// ioTime is the timeout of one write of at most pieceBytes. A whole response has no timeout: event
// streams last as long as their run.
const (
	ioTime     = 30 * time.Second
	pieceBytes = 64 << 10
)

// responseWriter records the response, and limits the time and the bytes of each write: a client
// that does not read is disconnected, and until then its unsent response is charged to its claim.
// The status is sent with the first bytes, so that a response for which there is no room becomes a
// problem.
type responseWriter struct {
	http.ResponseWriter
	control *http.ResponseController
	claim   *inflight.Claim // nil until the request is admitted
	refuse  func(error)     // responds with a problem
	status  int
	bytes   int64
	sent    bool   // the status was sent
	failed  error  // why the transport's response was dropped
	cut     bool   // dropped partway through
	base    string // path of the server's public address
}

func newAnswer(w http.ResponseWriter, base string) *responseWriter {
	return &responseWriter{ResponseWriter: w, control: http.NewResponseController(w), base: base}
}

// Unwrap returns the underlying ResponseWriter for http.ResponseController.
func (a *responseWriter) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (a *responseWriter) WriteHeader(status int) {
	switch {
	case status < http.StatusOK:
		a.ResponseWriter.WriteHeader(status)
	case a.failed == nil && a.status == 0:
		a.status = status
	}
}

// Write implements http.ResponseWriter.
func (a *responseWriter) Write(p []byte) (int, error) {
	if a.failed != nil {
		return 0, a.failed
	}
	if n := int64(len(p)); n > pieceBytes {
		if err := a.claim.Take(n); err != nil {
			if a.cut = !a.reset(); !a.cut {
				a.refuse(err)
			}
			a.failed = err
			return 0, err
		}
		defer a.claim.Give(n)
	}
	a.commit()
	written := 0
	for {
		piece := p[written:min(len(p), written+pieceBytes)]
		_ = a.control.SetWriteDeadline(time.Now().Add(ioTime)) // a test recorder has no deadlines
		n, err := a.ResponseWriter.Write(piece)
		written += n
		a.bytes += int64(n)
		if err != nil || written == len(p) {
			return written, err
		}
	}
}

// commit sends the status, once.
func (a *responseWriter) commit() {
	if a.status == 0 {
		a.status = http.StatusOK
	}
	if !a.sent {
		a.sent = true
		// clients resolve it against the public address
		if at := a.Header().Get("Location"); a.base != "" && strings.HasPrefix(at, "/") &&
			!strings.HasPrefix(at, "//") {
			a.Header().Set("Location", a.base+at)
		}
		a.ResponseWriter.WriteHeader(a.status)
	}
}

// reset discards the status and the headers of a response and reports whether it did; once the
// response has begun, it cannot.
func (a *responseWriter) reset() bool {
	if a.sent {
		return false
	}
	a.status = 0
	setSecurityHeaders(a.Header())
	for _, h := range []string{"Content-Encoding", "Content-Disposition", "Content-Length", "ETag", "Last-Modified",
		"Location", "Set-Cookie"} {
		a.Header().Del(h)
	}
	return true
}

// end sends a status without a body if none was sent. It returns false if the response was cut off.
func (a *responseWriter) end() bool {
	if a.status != 0 {
		a.commit()
	}
	return !a.cut
}

// Flush implements http.Flusher.
func (a *responseWriter) Flush() { _ = a.FlushError() }

// FlushError is called by http.ResponseController.
func (a *responseWriter) FlushError() error {
	if a.failed != nil {
		return a.failed
	}
	a.commit()
	_ = a.control.SetWriteDeadline(time.Now().Add(ioTime))
	return a.control.Flush()
}
