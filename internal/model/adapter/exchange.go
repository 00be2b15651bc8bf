package adapter

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"sync"
	"time"
)

// maxErrorBody is the maximum number of bytes kept of an error response.
const maxErrorBody = 16 << 10

// maxAnswer is the maximum size of a response in bytes.
const maxAnswer = 64 << 20

var errTooLarge = fmt.Errorf("the answer is larger than %d bytes", maxAnswer)

// Client returns a copy of base whose exchanges can be watched. Connections are shared with base.
func Client(base *http.Client) *http.Client {
	c := *base
	next := c.Transport
	c.Transport = &watcher{next: next}
	return &c
}

type exchangeKey struct{}

// Begin starts watching the requests made with the context that it returns. onBytes, which may be
// nil, is called whenever a part of the response has arrived, by the goroutine that reads it.
func Begin(ctx context.Context, onBytes func()) (context.Context, *Exchange) {
	x := &Exchange{onBytes: onBytes}
	return context.WithValue(ctx, exchangeKey{}, x), x
}

// Exchange holds what was observed of one call. It belongs to the call's goroutine; data added by
// the transport's own goroutines is guarded.
type Exchange struct {
	onBytes func()
	// list replaces mark in requests; nil means no replacement.
	list *List
	mark string

	mu      sync.Mutex
	status  int
	header  http.Header
	body    []byte
	readErr error
	sendErr error
}

// Status returns the HTTP status of the last response, or 0 if there was none.
func (x *Exchange) Status() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.status
}

// Header returns a header of the last response.
func (x *Exchange) Header(name string) string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.header.Get(name)
}

// watcher records the responses to watched requests.
type watcher struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (w *watcher) RoundTrip(req *http.Request) (*http.Response, error) {
	x, ok := req.Context().Value(exchangeKey{}).(*Exchange)
	if !ok {
		return w.next.RoundTrip(req)
	}
	req, err := x.spliced(req)
	if err != nil {
		return nil, err
	}
	resp, err := w.next.RoundTrip(req)
	x.mu.Lock()
	defer x.mu.Unlock()
	x.sendErr = err
	if err != nil {
		return nil, err
	}
	x.status, x.header, x.body, x.readErr = resp.StatusCode, resp.Header, nil, nil
	resp.Body = &watchedBody{ReadCloser: resp.Body, x: x, keep: resp.StatusCode >= 400, remaining: maxAnswer}
	return resp, nil
}

// CloseIdleConnections is called by http.Client.CloseIdleConnections.
func (w *watcher) CloseIdleConnections() {
	if c, ok := w.next.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// watchedBody records the outcome of reading. A broken connection is recorded and then reported as
// the end of the body, because one of the SDKs prints read errors to standard error:
// Exchange.Failure reports it instead.
type watchedBody struct {
	io.ReadCloser
	x         *Exchange
	keep      bool
	remaining int64 // bytes still allowed
}

// Read implements io.Reader.
func (b *watchedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.remaining -= int64(n); b.remaining < 0 {
		err = errTooLarge
	}
	if n > 0 && b.x.onBytes != nil {
		b.x.onBytes()
	}
	b.x.mu.Lock()
	defer b.x.mu.Unlock()
	if b.keep {
		b.x.body = append(b.x.body, p[:min(n, maxErrorBody-len(b.x.body))]...)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		b.x.readErr = err
		return n, io.EOF
	}
	return n, err
}

// drainTime is the maximum wait for the end of a body whose content is complete.
const drainTime = 250 * time.Millisecond

// Drain reads a body to its end after a complete response, so that the connection can be reused. If
// the server does not close the stream, it is abandoned after a moment with cancel, which must end
// the request.
func Drain(body io.Reader, cancel context.CancelFunc) {
	t := time.AfterFunc(drainTime, cancel)
	defer t.Stop()
	_, _ = io.CopyN(io.Discard, body, 64<<10) // only the connection is at stake
}

// Answers describes the responses that an adapter expects. internal/cmd/live compares real
// responses with it.
type Answers struct {
	// Types are the types into which an event of a stream, or a whole response, is decoded.
	Types []reflect.Type
	// Extra are fields that are read although the types do not have them, as dotted paths without
	// indices.
	Extra []string
	// Words are the known values of enumerated fields, by path.
	Words map[string][]string
	// Texts are the paths of the text chunks.
	Texts []string
	// Usage is the name of the usage field, wherever it occurs.
	Usage string
	// End is the last event of a stream, or its type; "" means there is no such event.
	End string
}
