package mcp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// maxBodyBytes is the maximum size of a response that is not a stream; the SDK limits the events of
// streams to the same size.
const maxBodyBytes = 16 << 20

var (
	errKilled   = errors.New("connection closed")
	errNoStream = errors.New("no notification stream")
)

// scoped is a RoundTripper that ties requests to the lifetime of one connection, adds the spec's
// headers, and limits what is read. All requests of the SDK go through it, including those that the
// SDK makes with its own contexts.
type scoped struct {
	base    http.RoundTripper
	ctx     context.Context // ends with the connection
	origin  string
	headers map[string]string
	// listenWait is how long the server may take to start the stream on which it announces changes.
	// The SDK would wait for it indefinitely.
	listenWait time.Duration
}

// scopedClient returns a copy of client whose RoundTripper is wrapped in s. The client still
// handles redirects and cookies.
func scopedClient(client *http.Client, s scoped) *http.Client {
	c := *client
	c.Timeout = 0 // would cut streams
	if s.base = client.Transport; s.base == nil {
		s.base = noTransport{}
	}
	c.Transport = &s
	return &c
}

// noTransport replaces the transport of a client that has none: http.DefaultTransport would connect
// to any address (SEC8).
type noTransport struct{}

var errUnguarded = errors.New("the HTTP client for MCP servers has no transport that checks addresses")

// RoundTrip always returns an error.
func (noTransport) RoundTrip(*http.Request) (*http.Response, error) { return nil, errUnguarded }

func (s *scoped) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(req.Context())
	stop := context.AfterFunc(s.ctx, func() {
		cancel(errKilled)
	}) //nolint:contextcheck // a request ends with either of two contexts
	done := func() {
		stop()
		cancel(nil)
	}
	req = req.Clone(ctx)
	if origin(req.URL) == s.origin {
		for name, value := range s.headers {
			req.Header.Set(name, value)
		}
	} else {
		// A redirect to another host: credentials belong to the host that the spec named (SEC8).
		req.Header.Del("Authorization")
		req.Header.Del("Cookie")
	}
	resp, err := s.roundTrip(req, cancel)
	if err != nil {
		done()
		return nil, err
	}
	limit := int64(maxBodyBytes)
	if media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); media == "text/event-stream" {
		limit = -1
	}
	resp.Body = &body{ReadCloser: resp.Body, left: limit, done: done}
	return resp, nil
}

// roundTrip sends req. A server that does not start to respond to the request for announcements is
// treated as one that has none.
func (s *scoped) roundTrip(req *http.Request, cancel context.CancelCauseFunc) (*http.Response, error) {
	if req.Method != http.MethodGet || req.Header.Get("Last-Event-ID") != "" {
		resp, err := s.base.RoundTrip(req)
		if err == nil && req.Method == http.MethodPost && req.Header.Get("Mcp-Session-Id") != "" &&
			resp.StatusCode == http.StatusBadRequest {
			err = normalizeSessionError(resp)
		}
		return resp, err
	}
	timer := time.AfterFunc(s.listenWait, func() { cancel(errNoStream) })
	defer timer.Stop()
	resp, err := s.base.RoundTrip(req)
	if err != nil && errors.Is(context.Cause(req.Context()), errNoStream) {
		return &http.Response{
			Status: "405 Method Not Allowed", StatusCode: http.StatusMethodNotAllowed, Proto: "HTTP/1.1", ProtoMajor: 1,
			ProtoMinor: 1,
			Header:     http.Header{}, Body: http.NoBody, Request: req,
		}, nil
	}
	return resp, err
}

// maxErrorBodyBytes is the maximum number of bytes of an error response that are read to find out
// what it says.
const maxErrorBodyBytes = 16 << 10

// normalizeSessionError turns a 400 response that says that the session is unknown into the 404
// that the protocol requires. Many servers send such a 400, among them the reference server. Other
// responses are unchanged.
func normalizeSessionError(resp *http.Response) error {
	said, err := io.ReadAll(io.LimitReader(resp.Body, maxErrorBodyBytes))
	if err != nil {
		return err
	}
	if text := strings.ToLower(string(said)); strings.Contains(text, "session") ||
		strings.Contains(text, "server not initialized") {
		resp.StatusCode, resp.Status = http.StatusNotFound, "404 Not Found"
	}
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(said), resp.Body), resp.Body}
	return nil
}

// body limits how much of a response is read, and cancels the request's context when it is closed.
// left < 0 means no limit.
type body struct {
	io.ReadCloser
	left int64
	done func()
}

func (b *body) Read(p []byte) (int, error) {
	if b.left == 0 {
		return 0, fmt.Errorf("answer has more than %d bytes", maxBodyBytes)
	}
	if b.left > 0 && int64(len(p)) > b.left {
		p = p[:b.left]
	}
	n, err := b.ReadCloser.Read(p)
	if b.left > 0 {
		b.left -= int64(n)
	}
	return n, err
}

func (b *body) Close() error {
	err := b.ReadCloser.Close()
	b.done()
	return err
}

func origin(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return strings.ToLower(u.Scheme + "://" + u.Hostname() + ":" + port)
}
