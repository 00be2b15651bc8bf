package fetch_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/hocket-run/hocket/internal/outbound"
	"github.com/hocket-run/hocket/internal/outbound/outboundtest"
	"github.com/hocket-run/hocket/internal/tool"
	"github.com/hocket-run/hocket/internal/tool/fetch"
	"github.com/hocket-run/hocket/internal/tool/fetch/page"
)

// TestRules_Addresses checks that rules about URLs apply to the address that is requested,
// including through redirects (SEC13).
func TestRules_Addresses(t *testing.T) {
	t.Parallel()
	var reached atomic.Int32
	srv := outboundtest.Serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasPrefix(r.URL.Path, "/admin"):
			reached.Add(1)
		case r.URL.Path == "/moved":
			http.Redirect(w, r, "/%61dmin/x", http.StatusFound)
		}
		_, _ = w.Write([]byte("hello"))
	})
	host := strings.TrimPrefix(srv.URL, "http://")
	cfg := fetch.Config{HTTP: func(tool.Spec) *http.Client {
		return outbound.New(outbound.Config{Allow: []string{host}, Proxy: outboundtest.NoProxy})
	}, Pages: page.Reader{}}
	for _, rules := range []tool.Permissions{{Deny: []string{"fetch:urls=" + srv.URL + "/admin*"}},
		{Ask: []string{"fetch:urls=" + srv.URL + "/admin*"}}, {Deny: []string{"*:url=" + srv.URL + "/admin*"}}} {
		verdict := "denied"
		if len(rules.Ask) > 0 {
			verdict = "asked"
		}
		s, err := tool.NewSet(
			tool.Config{Agents: map[string]tool.Grant{"a": {Toolsets: []tool.Spec{{Type: tool.TypeFetch}}}},
				Types: map[string]tool.Type{tool.TypeFetch: fetch.Type(cfg)}, Permissions: rules})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		for address, want := range map[string]string{
			srv.URL + "/page": "made", srv.URL + "/admin/x": verdict, srv.URL + "/%61dmin/x": verdict,
			srv.URL + "/page/../admin": verdict, srv.URL + "//admin": verdict, strings.ToUpper("http") + "://" + host +
				"/admin": verdict, " " + srv.URL + "/admin#x": verdict,
			"http://x@" + host + "/admin": verdict, srv.URL + "/moved": "refused",
		} {
			args, _ := json.Marshal(map[string]any{"urls": []string{srv.URL + "/page", address}})
			r, err := s.Call(t.Context(), tool.Call{Run: "r", Agent: "a", Key: "k", Name: "fetch", Arguments: args})
			got := "made"
			switch {
			case errors.As(err, new(*tool.HoldError)):
				got = "asked"
			case err != nil:
				t.Fatal(err)
			case strings.Contains(r.Text, "the permissions of this run forbid it"):
				got = "denied"
			case strings.Contains(r.Text, "permissions of this run deny"):
				got = "refused"
			}
			if got != want {
				t.Errorf("%s: %s, want %s: %s", address, got, want, r.Text)
			}
		}
	}
	if n := reached.Load(); n > 0 {
		t.Errorf("what is forbidden was asked for %d times", n)
	}
}
