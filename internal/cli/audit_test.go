package cli_test

import (
	"database/sql"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestCommands_AuditIntent checks that the command line makes no token or code, and revokes none,
// that the audit log does not announce, and that a change whose outcome cannot be written is listed
// with an unknown one.
func TestCommands_AuditIntent(t *testing.T) {
	t.Parallel()
	d := newDesk(t, "", nil)
	d.InTerminal, d.ErrTerminal, d.OutTerminal = false, false, false
	said := func(line string) (string, int) {
		d.out.b.Reset()
		d.err.b.Reset()
		status := d.main(t.Context(), strings.Fields(line)...)
		return d.out.String() + d.err.String(), status
	}
	out, status := said("tokens create first --role run")
	found := regexp.MustCompile(`token (\w+):`).FindStringSubmatch(out)
	if status != 0 || found == nil {
		t.Fatalf("%d: %s", status, out)
	}
	first, path := found[1], d.env["HOCKET_DB"]
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	at := "http://" + listener.Addr().String()
	if err := os.WriteFile(filepath.Join(filepath.Dir(path), "address"), []byte(at+"\n"+at+"/"), 0o600); err != nil {
		t.Fatal(err)
	}
	refuse := func(statement string) {
		t.Helper()
		db, err := sql.Open("sqlite", "file:"+path)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	lines := []string{"tokens create second --role run", "open --print", "tokens revoke " + first}

	refuse("CREATE TRIGGER no BEFORE INSERT ON audit BEGIN SELECT raise(ABORT, 'full'); END")
	for _, line := range lines {
		if out, status := said(line); status == 0 || !strings.Contains(out, "nothing was changed") ||
			strings.Contains(out, "hk") {
			t.Errorf("hocket %s without an audit log: %d, %s", line, status, out)
		}
	}
	if out, _ := said("tokens list"); !strings.Contains(out, first) || strings.Contains(out, "second") {
		t.Errorf("the tokens changed without an audit log:\n%s", out)
	}

	refuse("DROP TRIGGER no")
	refuse("CREATE TRIGGER no BEFORE UPDATE ON audit BEGIN SELECT raise(ABORT, 'full'); END")
	for _, line := range lines {
		if out, status := said(line); status != 0 || !strings.Contains(out, "the outcome is missing") {
			t.Errorf("hocket %s with half an audit log: %d, %s", line, status, out)
		}
	}
	out, _ = said("audit")
	for _, action := range []string{"tokens.create", "session.code", "tokens.revoke"} {
		if !regexp.MustCompile(action + ` .*unknown`).MatchString(out) {
			t.Errorf("%s is not listed with an unknown outcome:\n%s", action, out)
		}
	}
}
