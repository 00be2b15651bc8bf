package api_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/tool"
	"github.com/hocket-run/hocket/internal/tool/api"
)

// TestRules_Addresses checks that rules apply to the address that a call reaches, including through
// redirects, and that what a person is shown of it contains no secret (SEC13).
func TestRules_Addresses(t *testing.T) {
	t.Parallel()
	srv := record(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/orders/moved" {
			http.Redirect(w, r, "/orders/admin", http.StatusFound)
		}
	})
	cfg := config(strings.TrimPrefix(srv.URL, "http://"))
	sp := apiSpec(`{"name":"get_order","method":"GET","endpoint":"` + srv.URL +
		`/orders/{id}?key=${env.CANARY}","args":{"id":{"type":"string"}},"required":["id"]}`)
	for _, rules := range []tool.Permissions{{Deny: []string{"get_order:url=*/orders/admin*"}},
		{Deny: []string{"*:urls=*/orders/admin*"}}, {Ask: []string{"get_order:url=" + srv.URL + "/orders/ADMIN*"}}} {
		verdict := "denied"
		if len(rules.Ask) > 0 {
			verdict = "asked"
		}
		s, err := tool.NewSet(tool.Config{Agents: map[string]tool.Grant{"a": {Toolsets: []tool.Spec{sp}}},
			Types: map[string]tool.Type{tool.TypeAPI: api.Type(cfg)}, Permissions: rules})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		for id, want := range map[string]string{"5": "made", "admin": verdict, "moved": "refused"} {
			args, _ := json.Marshal(map[string]string{"id": id})
			r, err := s.Call(t.Context(), tool.Call{Run: "r", Agent: "a", Key: "k", Name: "get_order", Arguments: args})
			got := "made"
			hold, held := errors.AsType[*tool.HoldError](err)
			switch {
			case held:
				got = "asked"
				if p := hold.Hold.Prompt; strings.Contains(p, canary) || !strings.Contains(p, "/orders/admin") {
					t.Errorf("the question shows a secret or no address: %s", p)
				}
			case err != nil:
				got = "refused"
			case strings.Contains(r.Text, "the permissions of this run forbid it"):
				got = "denied"
			}
			if got != want {
				t.Errorf("%s: %s, want %s: %+v, %v", id, got, want, r, err)
			}
		}
	}
	for _, s := range srv.all() {
		if strings.HasPrefix(s.uri, "/orders/admin") {
			t.Errorf("what is forbidden was asked for: %s", s.uri)
		}
	}
}
