// Package outboundtest has what tests of HTTP clients share: a server that ends with the test, and the absence of a proxy.
//
// It refuses to be imported outside of tests.
package outboundtest

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
)

// NoProxy keeps tests independent of the environment's proxy.
func NoProxy(*http.Request) (*url.URL, error) { return nil, nil } //nolint:nilnil // that is how net/http says that there is none

// Serve starts a server that is closed at the end of the test.
func Serve(t *testing.T, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return srv
}
