// Package outboundtest provides what tests of HTTP clients share: a server that is closed with the
// test, and a setting without a proxy.
//
// Only tests may import it.
package outboundtest

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
)

// NoProxy returns no proxy, which keeps tests independent of the environment's.
func NoProxy(*http.Request) (*url.URL, error) {
	return nil, nil
} //nolint:nilnil // that is how net/http says that there is none

// Serve starts a server that is closed at the end of the test.
func Serve(t *testing.T, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return srv
}
