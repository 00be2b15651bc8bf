package mcp

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

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
	conn       *conn
}

// scopedClient returns a copy of client whose RoundTripper is wrapped in s. The client still
// handles redirects and cookies.
func scopedClient(client *http.Client, s *scoped) *http.Client {
	c := *client
	c.Timeout = 0 // would cut streams
	if s.base = client.Transport; s.base == nil {
		s.base = noTransport{}
	}
	c.Transport = s
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
	resp, err := s.roundTrip(req)
	if err != nil {
		done()
		return nil, err
	}
	resp.Body = &body{ReadCloser: resp.Body, done: done}
	return resp, nil
}

// roundTrip sends req and returns a response that the SDK can read.
func (s *scoped) roundTrip(req *http.Request) (*http.Response, error) {
	switch {
	case req.Method == http.MethodPost:
		return s.post(req)
	case req.Method != http.MethodGet:
		return s.base.RoundTrip(req)
	case req.Header.Get("Accept") != mediaEvents && req.Response != nil: // a redirected message has lost its body
		return nil, &httpError{status: req.Response.StatusCode, words: "redirects to " + place(req.URL)}
	case req.Header.Get("Last-Event-ID") != "":
		resp, err := s.base.RoundTrip(req)
		return s.filtered(resp, ""), err
	}
	return s.listen(req)
}

const (
	mediaEvents   = "text/event-stream"
	headerSession = "Mcp-Session-Id"
)

func isEvents(resp *http.Response) bool {
	media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	return media == mediaEvents
}

// filtered makes the events of a response readable; resp may be nil.
func (s *scoped) filtered(resp *http.Response, only string) *http.Response {
	if resp != nil && isEvents(resp) {
		resp.Body = newEvents(resp.Body, reader{isCall: s.conn.isCall, only: only})
	}
	return resp
}

// listen sends the request for announcements. A server that refuses it, or does not start to
// respond, is treated as one that announces nothing.
func (s *scoped) listen(req *http.Request) (*http.Response, error) {
	waiting, stop := context.WithCancelCause(req.Context())
	timer := time.AfterFunc(s.listenWait, func() { stop(errNoStream) })
	resp, err := s.base.RoundTrip(req.WithContext(waiting))
	timer.Stop()
	switch {
	case err == nil && resp.StatusCode == http.StatusOK && isEvents(resp):
		return s.filtered(resp, ""), nil
	case err == nil:
		_ = resp.Body.Close()
	case !errors.Is(context.Cause(waiting), errNoStream):
		stop(nil)
		return nil, err
	}
	resp = reply(req, http.StatusOK, nil)
	resp.Header.Set("Content-Type", mediaEvents)
	resp.Body = silence{req.Context()} // the SDK would end the connection if it were refused a second time
	return resp, nil
}

// silence is a stream without events.
type silence struct{ ctx context.Context }

// Read implements io.Reader. It returns when the context is done.
func (s silence) Read([]byte) (int, error) {
	<-s.ctx.Done()
	return 0, context.Cause(s.ctx)
}

// Close implements io.Closer.
func (silence) Close() error { return nil }

// reply returns a response that takes the place of the server's own. m is a message; nil if there
// is none.
func reply(req *http.Request, status int, m []byte) *http.Response {
	return &http.Response{
		Status: strconv.Itoa(status) + " " + http.StatusText(status), StatusCode: status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(m)),
		ContentLength: int64(len(m)), Request: req,
	}
}

// post sends a message and makes the response readable. It returns an *httpError for a response
// that is not an answer of the protocol: then the connection remains usable, which it would not if
// the SDK saw the response.
func (s *scoped) post(req *http.Request) (*http.Response, error) {
	id := ""
	if message, err := req.GetBody(); err == nil { // the SDK sends from memory
		text, _ := io.ReadAll(message)
		id = s.conn.begin(text)
	}
	resp, err := s.base.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	ok := resp.StatusCode >= 200 && resp.StatusCode < 300
	if ok && (id == "" || isEvents(resp)) || resp.StatusCode/100 == 3 && resp.Header.Get("Location") != "" {
		return s.filtered(resp, id), nil // the client follows redirects
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxMessageBytes+1))
	if err != nil {
		return nil, err
	}
	size := int64(len(text))
	if size > maxMessageBytes {
		rest, _ := io.Copy(io.Discard, io.LimitReader(resp.Body, maxSkippedBytes)) // only its size is told
		size = max(size+rest, resp.ContentLength)
		text = []byte(`{"jsonrpc":"2.0","result":{},"id":` + cmp.Or(id, "null") + `}`)
	}
	var said envelope
	_ = json.Unmarshal(text, &said) // then it said nothing
	unknown := (resp.StatusCode == http.StatusNotFound || resp.StatusCode == http.StatusBadRequest) &&
		saysNoSession(wordsOf([]byte(cmp.Or(string(said.Error), string(text)))))
	lost := unknown || resp.StatusCode == http.StatusNotFound
	if said.answers(id) { // then the server may have carried out the request
		lost = false
		if unknown {
			s.conn.broken.Store(true) // the next request opens a new session
		}
	}
	answer := reader{isCall: s.conn.isCall, only: id}.answer(text, size)
	switch {
	case lost && req.Header.Get(headerSession) != "":
		return reply(req, http.StatusNotFound, nil), nil
	case id == "": // some servers refuse notifications, and answer requests nevertheless
		return reply(req, http.StatusAccepted, nil), nil
	case answer != nil && (ok || said.Error != nil):
		instead := reply(req, http.StatusOK, answer)
		if at := resp.Header.Get(headerSession); at != "" {
			instead.Header.Set(headerSession, at)
		}
		return instead, nil
	}
	return nil, newHTTPError(resp, text)
}

// maxSkippedBytes is how much of a response that is too large is read to find out its size.
const maxSkippedBytes = 256 << 20

// noSession are the beginnings of what servers say about a session that they do not know. Many,
// among them the reference server, say it with status 400, where the protocol requires 404.
var noSession = []string{"session not found", "session has been terminated", "no valid session id",
	"invalid session id", "invalid or missing session id", "invalid or expired session id", "invalid mcp-session-id",
	"unknown session", "unknown mcp-session-id", "server not initialized"}

// saysNoSession reports whether a server's words say that the session is unknown. The failure of a
// tool may mention sessions of another kind, and must not make the call run again.
func saysNoSession(words string) bool {
	words = strings.ToLower(words)
	for _, prefix := range []string{"error: ", "bad request: ", "not found: "} {
		words = strings.TrimPrefix(words, prefix)
	}
	return slices.ContainsFunc(noSession, func(s string) bool { return strings.HasPrefix(words, s) })
}

// body cancels the request's context when it is closed.
type body struct {
	io.ReadCloser
	done func()
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
