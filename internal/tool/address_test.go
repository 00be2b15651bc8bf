package tool_test

import (
	"net/url"
	"slices"
	"testing"

	"github.com/hocket-run/hocket/internal/tool"
)

// SEC13, issue 12 item 27: a host is compared as clients look it up, whatever characters it is written with.
func TestHostsInOtherCharacters(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"http://ｅｖｉｌ.example/x": "http://evil.example/x", "http://evil。example./x": "http://evil.example/x", "http://ev­il.example/x": "http://evil.example/x",
		"http://①②⑦.0.0.1/x": "http://127.0.0.1/x", "http://BÜCHER.example/x": "http://xn--bcher-kva.example/x", "http://xn--bcher-kva.example/x": "http://bücher.example/x", "http://a_b.example/x": "http://a_b.example/x", "http://[::1]:80/x": "http://[::1]/x",
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
