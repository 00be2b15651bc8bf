package cli_test

import (
	"strings"
	"testing"
)

// TestPasswordInArguments checks that a password in an argument is refused by an error that does not
// show it, and that a URL without one, or one in the environment, is not.
func TestPasswordInArguments(t *testing.T) {
	t.Parallel()
	const where, with = "127.0.0.1:1/x", "postgres://ann:canary-password@127.0.0.1:1/x"
	for _, tc := range []struct {
		env  string
		args []string
		want bool
	}{
		{"", []string{"runs", "--db", with}, true},
		{"", []string{"runs", "--db=postgres://ann@" + where + "?password=canary-password"}, true},
		{"", []string{"store", "copy", with, "$DIR/copy.db"}, true},
		{"", []string{"runs", "--db", "postgres://ann@" + where}, false},
		{with, []string{"runs"}, false},
		{"", []string{"doctor", "--db", with}, true},
		{"", []string{"serve", "-q", "--db", with}, true},
	} {
		d := newDesk(t, "", nil)
		if tc.env != "" {
			d.env["HOCKET_DB"] = tc.env
		}
		status := d.main(t.Context(), tc.args...) // no server is there
		text := d.err.String()
		if strings.Contains(text, "contains a password") != tc.want || tc.want && status != 2 ||
			strings.Contains(text, "canary") {
			t.Errorf("%q: status %d: %s", tc.args, status, text)
		}
	}
}
