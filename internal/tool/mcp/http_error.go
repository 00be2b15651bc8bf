package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"strings"
)

// httpError is a response over HTTP that is not an answer of the protocol.
type httpError struct {
	status     int
	words      string // what the server says
	media      string // the type of a response that claims success
	retryAfter string
}

func newHTTPError(resp *http.Response, text []byte) *httpError {
	e := &httpError{status: resp.StatusCode, retryAfter: resp.Header.Get("Retry-After")}
	media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	switch {
	case e.status < 300 && len(text) == 0:
		e.media = "no content"
	case e.status < 300:
		e.media = "content of type " + cmp.Or(media, "unknown")
	case media == "text/plain", strings.HasSuffix(media, "json"):
		e.words = wordsOf(text)
	}
	return e
}

func (e *httpError) Error() string {
	text := fmt.Sprintf("status %d %s", e.status, http.StatusText(e.status))
	if e.media != "" {
		return text + " with " + e.media + ", which is no answer of MCP"
	}
	if e.retryAfter != "" {
		text += " (Retry-After: " + shorten(e.retryAfter) + ")"
	}
	if e.words != "" {
		text += ": " + e.words
	}
	return text
}

// ofGateway reports whether the response says that a server behind the one that sent it did not
// respond: it may have carried out the request. Any other response is from the server itself.
func (e *httpError) ofGateway() bool {
	switch e.status {
	case http.StatusBadGateway, http.StatusGatewayTimeout, 520, 522, 524: // the last three are Cloudflare's
		return true
	case http.StatusServiceUnavailable: // Envoy and Istio; the connection may have ended after the request was sent
		return strings.HasPrefix(e.words, "upstream connect error or disconnect/reset before headers")
	}
	return false
}

// isTransient reports whether the same request may succeed later.
func (e *httpError) isTransient() bool {
	return e.status >= 500 || e.status == http.StatusTooManyRequests || e.status == http.StatusRequestTimeout
}

// place returns an address without what may be a secret.
func place(u *url.URL) string {
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

const addressHint = "check the address, which often ends in /mcp"

// noServer says why the handshake over HTTP failed: err, and what to do about it.
func (d *dialer) noServer(ctx context.Context, c *conn, err error) error {
	at := place(d.endpoint)
	e, ok := errors.AsType[*httpError](err)
	switch {
	case ok && (e.status == http.StatusUnauthorized || e.status == http.StatusForbidden):
		return fmt.Errorf("the server at %s refuses the connection: %w; check the token in its headers", at, e)
	case ok && e.isTransient():
		return fmt.Errorf("the server at %s fails: %w", at, e)
	case ok && e.status >= 400 && c.http.offersEvents(ctx, d.endpoint):
		return fmt.Errorf("no MCP server with streamable HTTP answers at %s: %w; the server has the old transport "+
			"sse, which is not supported: use its address for streamable HTTP, which often ends in /mcp", at, e)
	case ok:
		return fmt.Errorf("no MCP server answers at %s: %w; %s", at, e, addressHint)
	case refused(err):
		return fmt.Errorf("no MCP server answers at %s: %w; check that it runs and that the address is right", at, err)
	}
	return err
}

// offersEvents reports whether a server answers a GET request with a stream of events, as servers
// of the old transport do.
func (s *scoped) offersEvents(ctx context.Context, u *url.URL) bool {
	ctx, cancel := context.WithTimeout(ctx, s.listenWait)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), http.NoBody)
	if err != nil {
		return false
	}
	req.Header.Set("Accept", mediaEvents)
	for name, value := range s.headers {
		req.Header.Set(name, value)
	}
	resp, err := s.base.RoundTrip(req)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	return resp.StatusCode == http.StatusOK && isEvents(resp)
}
