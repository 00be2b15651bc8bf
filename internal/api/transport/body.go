package transport

import (
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/hocket-run/hocket/internal/inflight"
)

// SlowBodyError says that a body stopped arriving, or arrived too slowly, and was cut off (SEC17).
type SlowBodyError struct {
	// Least is how many bytes had to come within Within.
	Least  int64
	Within time.Duration
}

func (e *SlowBodyError) Error() string {
	return fmt.Sprintf("the body arrived too slowly: less than %d bytes within %s (server: {limits: {bodyIdle: …}})", e.Least, e.Within)
}

// BrokenBodyError says that a body ended early or is malformed.
type BrokenBodyError struct{ Err error }

func (e *BrokenBodyError) Error() string { return "incomplete request body: " + e.Err.Error() }

// Unwrap gives the cause.
func (e *BrokenBodyError) Unwrap() error { return e.Err }

// BodyError makes an error that ProblemOf knows of one that reading a body gave. It is nil for nil and io.EOF.
func BodyError(err error) error {
	if err == nil || errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	var (
		large  *http.MaxBytesError
		full   *inflight.FullError
		slow   *SlowBodyError
		broken *BrokenBodyError
	)
	if errors.As(err, &large) || errors.As(err, &full) || errors.As(err, &slow) || errors.As(err, &broken) {
		return err
	}
	return &BrokenBodyError{err}
}

// ReadBody reads the body of a request, of at most limit bytes. The buffer grows with what arrives: Content-Length reserves nothing. The slice is the caller's.
//
// Errors: those of BodyError, each of which ProblemOf knows.
func ReadBody(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	if err = BodyError(err); err != nil {
		return nil, err
	}
	return data, nil
}

// RetryText is the header Retry-After of a problem, in whole seconds; "" where it has none.
func (p Problem) RetryText() string {
	switch {
	case p.RetryAfter > 0:
		return strconv.Itoa(max(1, int(math.Ceil(p.RetryAfter.Seconds()))))
	case p.Status == http.StatusServiceUnavailable:
		return RetryAfter
	}
	return ""
}
