package outbound_test

import (
	"context"
	"net/http"
	"net/netip"
	"net/url"
	"testing"

	"github.com/hocket-run/hocket/internal/outbound"
	"github.com/hocket-run/hocket/internal/outbound/outboundtest"
	"github.com/hocket-run/hocket/internal/tracecontext"
)

// TestTrace checks that a trace context is sent to the origin for which a request is made, across
// redirects within it, and nowhere else; and only if the client sends traces.
func TestTrace(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		carries bool
		header  []string
		want    map[string]string // by host and path
	}{
		"carried":     {true, nil, map[string]string{"a.example/": "own", "a.example/next": "own", "b.example/": ""}},
		"not carried": {false, nil, map[string]string{"a.example/": "", "a.example/next": "", "b.example/": ""}},
		"its own": {true, []string{"Traceparent", "given"},
			map[string]string{"a.example/": "given", "a.example/next": "given", "b.example/": ""}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := map[string]string{}
			proxy := outboundtest.Serve(t, func(w http.ResponseWriter, r *http.Request) {
				got[r.Host+r.URL.Path] = r.Header.Get("Traceparent")
				switch r.Host + r.URL.Path {
				case "a.example/":
					http.Redirect(w, r, "/next", http.StatusFound)
				case "a.example/next":
					http.Redirect(w, r, "http://b.example/", http.StatusFound)
				}
			})
			via, err := url.Parse(proxy.URL)
			if err != nil {
				t.Fatal(err)
			}
			client := newClient(t, outbound.Config{
				Trace: test.carries, Proxy: func(*http.Request) (*url.URL, error) { return via, nil },
				Resolve: func(context.Context, string) ([]netip.Addr, error) {
					return []netip.Addr{netip.MustParseAddr("93.184.216.34")}, nil
				},
			})
			sc := tracecontext.New([16]byte{1}, [8]byte{2}, true, "")
			r, err := http.NewRequestWithContext(tracecontext.Outgoing(t.Context(), sc), http.MethodGet,
				"http://a.example/", nil)
			if err != nil {
				t.Fatal(err)
			}
			if test.header != nil {
				r.Header.Set(test.header[0], test.header[1])
			}
			res, err := client.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			_ = res.Body.Close()
			for at, want := range test.want {
				if want == "own" {
					want = "00-01000000000000000000000000000000-0200000000000000-01"
				}
				if has, ok := got[at]; !ok || has != want {
					t.Errorf("%s got %q (asked %v), want %q", at, has, ok, want)
				}
			}
		})
	}
}
