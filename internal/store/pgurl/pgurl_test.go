package pgurl_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/errcode"
	"github.com/hocket-run/hocket/internal/store/pgurl"
)

// TestParse checks what is read from a URL, and what is shown of it.
func TestParse(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct{ shown, conninfo, schema, lease string }{
		"postgres://": {"postgres://", "", "hocket", ""},
		"postgres://ann:s3cret@db.example.com:5433/runs": {"postgres://ann@db.example.com:5433/runs",
			`dbname='runs' host='db.example.com' password='s3cret' port='5433' user='ann'`, "hocket", ""},
		"POSTGRESQL://db/runs?schema=blue&lease_host=pg1:6000": {"postgres://db/runs?schema=blue&lease_host=pg1%3A6000",
			`dbname='runs' host='db'`, "blue", `dbname='runs' host='pg1' port='6000'`},
		// the first colon ends the user
		"postgres://a@b:p@ss@[::1]:5/x%20y": {"postgres://a%40b@[::1]:5/x%20y", "", "hocket",
			""},
		"postgres://u:it's%5C@h1,h2:7/d?sslmode=require": {"postgres://u@h1:5432,h2:7/d?sslmode=require",
			`dbname='d' host='h1,h2' password='it\'s\\' port='5432,7' sslmode='require' user='u'`, "hocket", ""},
		"postgres:///d?host=/var/run/postgresql&user=u&password=p4ss": {
			"postgres://u@/d?host=%2Fvar%2Frun%2Fpostgresql",
			`dbname='d' host='/var/run/postgresql' password='p4ss' user='u'`, "hocket", "",
		},
		"postgres://%2Ftmp%2Fs/d?lease_host=/tmp/t": {
			"postgres:///d?host=%2Ftmp%2Fs&lease_host=%2Ftmp%2Ft", `dbname='d' host='/tmp/s'`, "hocket",
			`dbname='d' host='/tmp/t' port='5432'`,
		},
		"postgres://h/d?passfile=/x/a+b%20c": {"postgres://h/d?passfile=%2Fx%2Fa%2Bb%20c",
			`dbname='d' host='h' passfile='/x/a+b c'`, "hocket", ""},
	} {
		u, err := pgurl.Parse(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if u.String() != want.shown || want.conninfo != "" && u.Conninfo() != want.conninfo ||
			u.Schema() != want.schema {
			t.Errorf("%s:\n got %s, %s, %s\nwant %s, %s, %s", text, u, u.Conninfo(), u.Schema(), want.shown,
				want.conninfo, want.schema)
		}
		if lease := u.LeaseConninfo(); want.lease != "" && lease != want.lease || want.lease == "" &&
			lease != u.Conninfo() {
			t.Errorf("%s: leases at %s", text, lease)
		}
		if again, err := pgurl.Parse(u.String()); err != nil || again.String() != u.String() {
			t.Errorf("%s is read again as %v, %v", u, again, err)
		}
	}
}

// TestInvalid checks that each mistake is reported in one sentence, which does not contain the
// password.
func TestInvalid(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"mysql://u:s3cret@h/d":                    "it does not begin with postgres://",
		"postgres://u:s3cret@h/d?shema=x":         `unknown option "shema"; did you mean "schema"?`,
		"postgres://u:s3cret@h/d?pool_max_conns=": `unknown option "pool_max_conns"`,
		"postgres://u:s3cret@h/d?sslmode=yes": "the option sslmode must be one of disable, allow, prefer, " +
			"require, verify-ca, verify-full",
		"postgres://u:s3cret@h/d?schema=pg_temp": "the option schema names a schema of PostgreSQL itself",
		"postgres://u:s3cret@h/d?schema=Ann": "the option schema must be 1 to 48 lower-case letters, digits " +
			"and _, and begin with a letter",
		"postgres://u:s3cret@h/d?schema=a&schema=b": "the option schema is given twice",
		"postgres://u:s3cret@h/d?user=x":            "the option user is given twice",
		"postgres://u:s3cret@h/d?schema":            "the option schema is empty",
		"postgres://u:s3cret@h/d?connect_timeout=0": "the option connect_timeout must be a number of seconds from " +
			"1 to 3600",
		"postgres://u:s3cret@h/d?lease_host=a:b": "the option lease_host must be a host, or host:port",
		"postgres://u:s3cret@h/d?host=a%00b":     "the option host has an invalid percent sign or a zero byte",
		"postgres://u:s3cret@:x/d":               "the host or its port is not valid",
		"postgres://u:s3cret@h:70000/d":          "the host or its port is not valid",
		"postgres://u:5/cret@h/d": "there is an @ behind the host; write / and ? of a password as " +
			"%2F and %3F, and other @ as %40",
		"postgres://u:5?cret=x@h/d": "there is an @ behind the host; write / and ? of a password as " +
			"%2F and %3F, and other @ as %40",
		"postgres://u:5@6/cret@h/d": "there is an @ behind the host; write / and ? of a password as " +
			"%2F and %3F, and other @ as %40",
		"postgres://u:s3%zzcret@h/d":           "the password has an invalid percent sign or a zero byte",
		"postgres://u:s3%00cret@h/d":           "the password has an invalid percent sign or a zero byte",
		"postgres://h/d?password=s3cret&x=%zz": `unknown option "x"`,
		"postgres://h/d?password=%zzs3cret":    "the option password has an invalid percent sign or a zero byte",
		"postgres://h/a/s3cret": "the name of the database has a slash, an invalid percent sign " +
			"or a zero byte",
	} {
		_, err := pgurl.Parse(text)
		if code, _ := errcode.Of(err); code != errcode.StoreURL {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := strings.TrimPrefix(err.Error(), "the URL of the store is not valid: "); got != want {
			t.Errorf("%s:\n got %s\nwant %s", text, got, want)
		}
		if shown := errcode.Text(err, errcode.Command); strings.Contains(shown, "cret") {
			t.Errorf("%s: %s", text, shown)
		}
	}
}

// FuzzParse checks that no input panics, that the printed form of a parsed URL can be parsed again,
// and that neither errors nor the printed form contain the password.
func FuzzParse(f *testing.F) {
	for _, text := range []string{
		"postgres://ann:canary-77@db:5/x?schema=y", "postgres://a:canary-77@[::1]/x?sslpassword=canary-77",
		"postgres://canary-77", "postgres://u:canary-77/@h/?x", "postgresql://,,@:5,:6/%00?port=1,2",
		"postgres:///d?host=/x,y&port=5,6", "postgres://u:p?canary-77@h/d", "postgres://h/d?password=canary-77#&&==",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		u, err := pgurl.Parse(text)
		if err != nil {
			return
		}
		again, err := pgurl.Parse(u.String())
		if err != nil || again.String() != u.String() {
			t.Fatalf("%q is shown as %q, which is read as %v, %v", text, u, again, err)
		}
	})
}

// TestSecrets checks that no way of formatting a URL shows a password.
func TestSecrets(t *testing.T) {
	t.Parallel()
	u, err := pgurl.Parse("postgres://ann:canary-77@db/x?sslpassword=canary-78&sslmode=require")
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "url", u, "any", struct{ U *pgurl.URL }{u})
	raw, err := json.Marshal(map[string]any{"u": u})
	if err != nil {
		t.Fatal(err)
	}
	if all := fmt.Sprintf("%v %+v %#v %s %q %x %s %s", u, u, u, u, u, u, raw, &log); strings.Contains(all, "canary") ||
		strings.Contains(all, "63616e617279") {
		t.Error(all)
	}
	if got := u.Secrets(); len(got) != 2 || got[0] != "canary-77" || got[1] != "canary-78" {
		t.Errorf("%q", got)
	}
}
