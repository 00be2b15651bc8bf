package main

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"

	"github.com/hocket-run/hocket/internal/chat"
)

// maxKept is the maximum size of the recorded part of a body, in bytes.
const maxKept = 4 << 20

// exchange is the HTTP request of a call and its response.
type exchange struct {
	path, contentType string
	request, body     []byte
	status            int // 0 means that there was no response
	// cut means that the call was cancelled before the end of the response.
	cut bool
}

// lostTokens is the number of output tokens that an exchange without a response may have used.
const lostTokens = 16_384

// guess returns an upper bound on the tokens that the exchange used, for providers that do not
// report them.
func (x *exchange) guess() chat.Usage {
	if x.status == 0 {
		return chat.Usage{InputTokens: int64(len(x.request) / 3), OutputTokens: lostTokens}
	}
	return chat.Usage{InputTokens: int64(len(x.request) / 3), OutputTokens: int64(len(x.body) / 10)}
}

// recorder records exchanges. It is safe for concurrent use.
type recorder struct {
	mu  sync.Mutex
	all []*exchange
}

func (r *recorder) add(x *exchange) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, x)
}

// take returns the exchanges recorded since the last call.
func (r *recorder) take() []*exchange {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := r.all
	r.all = nil
	return all
}

// tap is a transport that records the model calls that pass through it.
type tap struct {
	next http.RoundTripper
	to   *recorder
}

// RoundTrip implements http.RoundTripper.
func (t *tap) RoundTrip(req *http.Request) (*http.Response, error) {
	if protocolOf(req.URL.Path) == "" {
		return t.next.RoundTrip(req)
	}
	x := &exchange{path: req.URL.Path}
	if req.Body != nil {
		body, err := io.ReadAll(req.Body)
		if err := errors.Join(err, req.Body.Close()); err != nil {
			return nil, err
		}
		x.request = body
		req = req.Clone(req.Context())
		req.Body = io.NopCloser(bytes.NewReader(body))
	}
	resp, err := t.next.RoundTrip(req)
	if err != nil {
		if !refused(err) {
			t.to.add(x)
		}
		return nil, err
	}
	x.status, x.contentType = resp.StatusCode, strings.ToLower(resp.Header.Get("Content-Type"))
	resp.Body = &tapped{ReadCloser: resp.Body, x: x, to: t.to, cancelled: req.Context().Done()}
	return resp, nil
}

// refused reports whether no connection could be made, so that nothing was sent.
func refused(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	return ok && op.Op == "dial"
}

// tapped is a body whose exchange is recorded when it is closed.
type tapped struct {
	io.ReadCloser
	x         *exchange
	to        *recorder
	cancelled <-chan struct{}
	atEnd     bool
	once      sync.Once
}

// Read implements io.Reader.
func (b *tapped) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.x.body = append(b.x.body, p[:min(n, maxKept-len(b.x.body))]...)
	b.atEnd = b.atEnd || errors.Is(err, io.EOF)
	return n, err
}

// Close implements io.Closer.
func (b *tapped) Close() error {
	b.once.Do(func() {
		select {
		case <-b.cancelled:
			b.x.cut = !b.atEnd
		default:
		}
		b.to.add(b.x)
	})
	return b.ReadCloser.Close()
}
