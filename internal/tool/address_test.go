package tool_test

import (
	"net/url"
	"slices"
	"testing"

	"github.com/hocket-run/hocket/internal/tool"
)

// TestHost_InternationalNames checks that hosts are compared in the form in which clients look them
// up, whatever characters they are written with (SEC13).
func TestHost_InternationalNames(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"http://\uff45\uff56\uff49\uff4c.example/x": "http://evil.example/x",
		"http://evil\u3002example./x":               "http://evil.example/x",
		"http://ev\u00adil.example/x":               "http://evil.example/x",
		"http://\u2460\u2461\u2466.0.0.1/x":         "http://127.0.0.1/x",
		"http://B\u00dcCHER.example/x":              "http://xn--bcher-kva.example/x",
		"http://xn--bcher-kva.example/x":            "http://b\u00fccher.example/x",
		"http://a_b.example/x":                      "http://a_b.example/x", "http://[::1]:80/x": "http://[::1]/x",
	} {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		if r := tool.AddressOf("urls", u); !slices.Contains(slices.Concat(slices.Concat(r.Names...), r.Also), want) {
			t.Errorf("%s: %+v, want %s among them", address, r, want)
		}
	}
}
