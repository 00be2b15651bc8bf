package access_test

import (
	"testing"

	"github.com/hocket-run/hocket/internal/access"
)

// TestPrincipal_May checks the complete matrix of roles (SEC2).
func TestPrincipal_May(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		have access.Role
		want string // for run, edit, admin and an unknown role
	}{
		{"run", "yes no no no"}, {"edit", "yes yes no no"}, {"admin", "yes yes yes no"}, {"", "no no no no"},
		{"root", "no no no no"},
	} {
		got := ""
		for _, need := range append(access.Roles(), "root") {
			got += map[bool]string{true: "yes ", false: "no "}[access.Principal{Role: c.have}.May(need)]
		}
		if got != c.want+" " {
			t.Errorf("role %q: %s, want %s", c.have, got, c.want)
		}
	}
}
