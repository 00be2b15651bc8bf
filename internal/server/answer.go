package server

import (
	"errors"
	"io"
	"net/http"
	"time"
)

// Times of one read or write, and of a whole body. There is none for a whole answer: event streams last as long as their run.
const (
	ioTime   = 30 * time.Second
	bodyTime = 5 * time.Minute
)

// answer remembers what was answered, and bounds the time of each write: a client that does not read is let go.
type answer struct {
	http.ResponseWriter
	control *http.ResponseController
	status  int
	bytes   int64
}

func newAnswer(w http.ResponseWriter) *answer {
	return &answer{ResponseWriter: w, control: http.NewResponseController(w)}
}

// Unwrap lets http.ResponseController find what is behind.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (a *answer) WriteHeader(status int) {
	if a.status == 0 && status >= http.StatusOK {
		a.status = status
	}
	a.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (a *answer) Write(p []byte) (int, error) {
	if a.status == 0 {
		a.status = http.StatusOK
	}
	_ = a.control.SetWriteDeadline(time.Now().Add(ioTime)) // what has no deadlines is a test's recorder
	n, err := a.ResponseWriter.Write(p)
	a.bytes += int64(n)
	return n, err
}

// Flush implements http.Flusher.
func (a *answer) Flush() { _ = a.FlushError() }

// FlushError is what http.ResponseController calls.
func (a *answer) FlushError() error {
	if a.status == 0 {
		a.status = http.StatusOK
	}
	_ = a.control.SetWriteDeadline(time.Now().Add(ioTime))
	return a.control.Flush()
}

// body bounds the time of reads, one by one and together: a client that sends its body in drops is let go.
type body struct {
	io.ReadCloser
	control *http.ResponseController
	until   time.Time
}

func (b *body) Read(p []byte) (int, error) {
	deadline := time.Now().Add(ioTime)
	if b.until.Before(deadline) {
		deadline = b.until
	}
	err := b.control.SetReadDeadline(deadline)
	n, rerr := b.ReadCloser.Read(p)
	if err == nil {
		// Once the body has ended the connection is read in the background to see whether the client leaves: that has no end of time.
		err = b.control.SetReadDeadline(time.Time{})
	}
	if rerr == nil && !errors.Is(err, http.ErrNotSupported) {
		rerr = err
	}
	return n, rerr
}
