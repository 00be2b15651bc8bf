package bench

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// serve serves h on loopback until the test or benchmark ends.
func serve(b testing.TB, h http.Handler) string {
	b.Helper()
	s := httptest.NewServer(h)
	b.Cleanup(s.Close)
	return s.URL
}
