package transport

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/hocket-run/hocket/internal/inflight"
)

// SlowBodyError is returned when a body stopped arriving or arrived too slowly and was cut off
// (SEC17).
type SlowBodyError struct {
	// Least is the minimum number of bytes that had to arrive within Within.
	Least  int64
	Within time.Duration
}

func (e *SlowBodyError) Error() string {
	return fmt.Sprintf("the body arrived too slowly: less than %d bytes within %s (server: {limits: {bodyIdle: …}})",
		e.Least, e.Within)
}

// BrokenBodyError is returned when a body ends early or is malformed.
type BrokenBodyError struct{ Err error }

func (e *BrokenBodyError) Error() string { return "incomplete request body: " + e.Err.Error() }

// Unwrap returns the cause.
func (e *BrokenBodyError) Unwrap() error { return e.Err }

// BodyError converts an error from reading a body to an error that ProblemOf knows. It returns nil
// for nil and io.EOF.
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

// ReadBody reads the body of a request, of at most limit bytes. The buffer grows as data arrives:
// nothing is allocated for Content-Length. The caller owns the slice.
//
// The errors are those of BodyError, all of which ProblemOf knows.
func ReadBody(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	if err = BodyError(err); err != nil {
		return nil, err
	}
	return data, nil
}

// ReadJSON reads a body as [ReadBody] does, without a byte order mark, which JSON parsers may
// ignore (RFC 8259, section 8.1).
func ReadJSON(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	data, err := ReadBody(w, r, limit)
	return bytes.TrimPrefix(data, []byte("\uFEFF")), err
}

// RetryText returns the value of the Retry-After header of a problem, in whole seconds, or "" if it
// has none.
func (p Problem) RetryText() string {
	switch {
	case p.RetryAfter > 0:
		return strconv.Itoa(max(1, int(math.Ceil(p.RetryAfter.Seconds()))))
	case p.Status == http.StatusServiceUnavailable:
		return RetryAfter
	}
	return ""
}
