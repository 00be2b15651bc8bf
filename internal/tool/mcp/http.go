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

// maxBodyBytes bounds an answer that is not a stream; the SDK bounds the events of streams likewise.
const maxBodyBytes = 16 << 20

var (
	errKilled   = errors.New("connection closed")
	errNoStream = errors.New("no notification stream")
)

// scoped is a RoundTripper that ties requests to the life of one connection, adds the spec's headers, and bounds what is read. All of the SDK's
// requests go through it, those too that it makes with contexts of its own.
type scoped struct {
	base    http.RoundTripper
	ctx     context.Context // ends with the connection
	origin  string
	headers map[string]string
	// listenWait is how long the server may take to begin the stream on which it announces changes. The SDK waits for it without an end.
	listenWait time.Duration
}

// scopedClient gives client with its RoundTripper wrapped in s. Redirects and cookies stay the client's matter.
func scopedClient(client *http.Client, s scoped) *http.Client {
	c := *client
	c.Timeout = 0 // would cut streams
	if s.base = client.Transport; s.base == nil {
		s.base = unguarded{}
	}
	c.Transport = &s
	return &c
}

// unguarded stands for the transport of a client that has none of its own: http.DefaultTransport would go anywhere (SEC8).
type unguarded struct{}

var errUnguarded = errors.New("the HTTP client for MCP servers has no transport that checks addresses")

// RoundTrip refuses.
func (unguarded) RoundTrip(*http.Request) (*http.Response, error) { return nil, errUnguarded }

func (s *scoped) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(req.Context())
	stop := context.AfterFunc(s.ctx, func() { cancel(errKilled) }) //nolint:contextcheck // a request ends with either of two contexts
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
		// A redirect elsewhere: credentials belong to the host that the spec named (SEC8).
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

// roundTrip sends req. A server that does not begin to answer the request for announcements is taken for one that has none.
func (s *scoped) roundTrip(req *http.Request, cancel context.CancelCauseFunc) (*http.Response, error) {
	if req.Method != http.MethodGet || req.Header.Get("Last-Event-ID") != "" {
		resp, err := s.base.RoundTrip(req)
		if err == nil && req.Method == http.MethodPost && req.Header.Get("Mcp-Session-Id") != "" && resp.StatusCode == http.StatusBadRequest {
			err = forgotten(resp)
		}
		return resp, err
	}
	timer := time.AfterFunc(s.listenWait, func() { cancel(errNoStream) })
	defer timer.Stop()
	resp, err := s.base.RoundTrip(req)
	if err != nil && errors.Is(context.Cause(req.Context()), errNoStream) {
		return &http.Response{
			Status: "405 Method Not Allowed", StatusCode: http.StatusMethodNotAllowed, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
			Header: http.Header{}, Body: http.NoBody, Request: req,
		}, nil
	}
	return resp, err
}

// maxComplaintBytes bounds what is read of a refusal before it is known what it says.
const maxComplaintBytes = 16 << 10

// forgotten makes the 404 that the protocol asks for of a 400 by which a server says that it does not know the session. The reference server is one of many that do so.
// Others stay as they are.
func forgotten(resp *http.Response) error {
	said, err := io.ReadAll(io.LimitReader(resp.Body, maxComplaintBytes))
	if err != nil {
		return err
	}
	if text := strings.ToLower(string(said)); strings.Contains(text, "session") || strings.Contains(text, "server not initialized") {
		resp.StatusCode, resp.Status = http.StatusNotFound, "404 Not Found"
	}
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(said), resp.Body), resp.Body}
	return nil
}

// body bounds what is read of an answer and ends the request's context when it is closed. left < 0: no bound.
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
