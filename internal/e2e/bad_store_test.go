//go:build unix

package e2e_test

import (
	"context"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/longtest"
	"github.com/hocket-run/hocket/internal/pgtest"
)

// badStore tests the program with stores that cannot be used.
type badStore struct {
	t    *testing.T
	home string
}

// wrongPassword is a password that no server accepts.
const wrongPassword = "canary-77-p4ss"

// checkRefused checks that every kind of command exits with status 2 and one line that contains all
// of says; that doctor reports it too; and that no output shows a password.
func (b badStore) checkRefused(name, at string, says []string, flags ...string) {
	b.t.Run(name, func(t *testing.T) {
		env := []string{"HOCKET_DB=" + at, "HOCKET_TOKEN=" + testToken}
		for _, args := range [][]string{
			{"run", "poem.yaml"}, {"serve", "-v", "--addr", "127.0.0.1:0"}, {"worker", "-v"}, {"store", "migrate"},
			{"doctor"},
		} {
			v := hocket(t, b.home, env, append(args, flags...)...)
			text, want := v.err, 2
			if args[0] == "doctor" {
				text, want = v.out, 1
			}
			if v.status != want {
				t.Errorf("%v: status %d, want %d: %s%s", args, v.status, want, v.out, v.err)
			}
			if lines := strings.Count(v.err, "\n"); args[0] != "doctor" &&
				(lines != 1 || v.out != "" || !strings.HasPrefix(v.err, "hocket: ")) {
				t.Errorf("%v: %d lines: %s%s", args, lines, v.out, v.err)
			}
			for _, what := range says {
				if !strings.Contains(text, what) {
					t.Errorf("%v does not say %q: %s", args, what, text)
				}
			}
			for _, secret := range []string{wrongPassword, pgtest.Password, url.QueryEscape(pgtest.Password),
				url.PathEscape(pgtest.Password), url.UserPassword("", pgtest.Password).String()} {
				if strings.Contains(v.out+v.err, secret) {
					t.Errorf("%v shows the password: %s%s", args, v.out, v.err)
				}
			}
		}
	})
}

// mustMigrate checks that a store can be used, and creates its tables.
func (b badStore) mustMigrate(at string, flags ...string) {
	b.t.Helper()
	if v := hocket(b.t, b.home, []string{"HOCKET_DB=" + at},
		append([]string{"store", "migrate"}, flags...)...); v.status != 0 {
		b.t.Fatalf("%+v", v)
	}
}

// option returns a URL with additional options.
func option(u url.URL, pairs ...string) string {
	q := u.Query()
	for i := 0; i < len(pairs); i += 2 {
		q.Set(pairs[i], pairs[i+1])
	}
	u.RawQuery = strings.ReplaceAll(q.Encode(), "+", "%20")
	return u.String()
}

// TestBadStore checks that each way in which a PostgreSQL server, or the connection to it, is unfit
// for a store ends a command with status 2 and one sentence, before anything runs. TestClockChanged
// covers clocks that differ.
func TestBadStore(t *testing.T) {
	t.Parallel()
	longtest.Only(t, "internal/store/pghome has each refusal and its text (bad_test.go, open_test.go)")
	b := badStore{t, t.TempDir()}
	for name, text := range map[string]string{"poem.yaml": poem, "other.key": "0123456789012345678901234567890"} {
		if err := os.WriteFile(filepath.Join(b.home, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	plain := pgtest.Start(t, pgtest.Config{TCP: true})
	guarded := pgtest.Start(t,
		pgtest.Config{TCP: true, TLS: true, Settings: map[string]string{"fsync": "off", "max_connections": "5"}})
	u, s := *plain.TCP(t), *guarded.TCP(t)
	b.address(u)
	b.tls(s)
	b.rights(plain, u)
	b.state(plain, u)
	b.settings(plain, u, s)
	b.testProxies(plain)
	for range 2 { // three of five are reserved for superusers
		pgtest.Connect(t, option(s, "sslmode", "require"))
	}
	b.checkRefused("too many connections", option(s, "sslmode", "require"),
		[]string{"the PostgreSQL server at " + s.Host + " has no connection left"}, "--allow-unsafe-store")
}

// address tests addresses that lead to no server, and passwords.
func (b badStore) address(u url.URL) {
	host := strings.Repeat("a", 64) + ".invalid" // no resolver looks up a label of this length
	b.checkRefused("unknown host", "postgres://ann:"+wrongPassword+"@"+host+"/x",
		[]string{"the host " + host + " of the store is not known"})
	ln, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		b.t.Fatal(err)
	}
	addr := ln.Addr().String()
	if err := ln.Close(); err != nil {
		b.t.Fatal(err)
	}
	b.checkRefused("refused", "postgres://ann:"+wrongPassword+"@"+addr+"/x?sslmode=disable",
		[]string{"no PostgreSQL server accepts connections at " + addr})
	bad := u
	bad.User = url.UserPassword(pgtest.User, wrongPassword)
	b.checkRefused("wrong password", bad.String(),
		[]string{"the PostgreSQL server at " + u.Host + ` rejected the password of user "hocket"`})
	missing := u
	missing.Path = "/nosuch"
	b.checkRefused("database missing", missing.String(),
		[]string{`the database "nosuch" does not exist on the PostgreSQL server at ` + u.Host, "createdb"})
	b.checkRefused("unknown option", option(u, "shema", "x"),
		[]string{`unknown option "shema"; did you mean "schema"?`})
	b.checkRefused("option of another driver", option(u, "pool_max_conns", "9"),
		[]string{`unknown option "pool_max_conns"`})
}

// tls tests the TLS requirements of client and server.
func (b badStore) tls(s url.URL) {
	b.checkRefused("TLS demanded", option(s, "sslmode", "disable"),
		[]string{"the PostgreSQL server at " + s.Host + " accepts no connection without TLS", "sslmode=require"})
	b.checkRefused("TLS untrusted", option(s, "sslmode", "verify-full"),
		[]string{"the certificate of the PostgreSQL server at " + s.Host + " is not trusted", "sslrootcert"})
}

// rights tests users without permissions.
func (b badStore) rights(plain *pgtest.Server, u url.URL) {
	plain.Exec(b.t, "CREATE ROLE guest LOGIN PASSWORD '"+strings.ReplaceAll(pgtest.Password, "'", "''")+"'")
	guest := u
	guest.User = url.UserPassword("guest", pgtest.Password)
	b.checkRefused("no right to create schemas", guest.String(),
		[]string{`user "guest" has no right to create schemas in database "hocket"`,
			`GRANT CREATE ON DATABASE "hocket" TO "guest"`})
	plain.Exec(b.t, `GRANT CREATE ON DATABASE "hocket" TO "guest"`) // the statement from the message
	b.mustMigrate(guest.String())
	plain.Exec(b.t, "ALTER ROLE guest CONNECTION LIMIT 0")
	b.checkRefused("too many connections of a user", guest.String(),
		[]string{"has no connection left", "too many connections for role"})
}

// state tests stores of other programs and versions, and a different key.
func (b badStore) state(plain *pgtest.Server, u url.URL) {
	plain.Exec(b.t, "CREATE SCHEMA foreign_1 AUTHORIZATION hocket; CREATE TABLE foreign_1.customers (id integer)")
	b.checkRefused("database of another program", option(u, "schema", "foreign_1"),
		[]string{`schema "foreign_1" of database "hocket" belongs to another program`, "schema=NAME"})
	newer := option(u, "schema", "newer_1")
	b.mustMigrate(newer)
	plain.Exec(b.t, "INSERT INTO newer_1.hocket_store (number, name, least) VALUES (9999, 'later', 9999)")
	b.checkRefused("newer schema", newer,
		[]string{"store has format version 9999, written by a newer hocket; this one reads up to"})

	keyed := option(u, "schema", "keyed_1")
	b.mustMigrate(keyed)
	if v := hocket(b.t, b.home, []string{"HOCKET_DB=" + keyed}, "workflows", "apply", "poem.yaml"); v.status != 0 {
		b.t.Fatalf("%+v", v)
	}
	if v := hocket(b.t, b.home, []string{"HOCKET_DB=" + keyed}, "webhooks", "create", "poem", "--key-file",
		"first.key"); v.status != 0 {
		b.t.Fatalf("%+v", v)
	}
	if err := os.WriteFile(filepath.Join(b.home, "other.key"), []byte(strings.Repeat("k", 32)), 0o600); err != nil {
		b.t.Fatal(err)
	}
	b.checkRefused("wrong hocket.key", keyed, []string{"the key file other.key is not the one of this store"},
		"--key-file",
		"other.key")
	b.checkRefused("hocket.key missing", keyed, []string{"the store needs its key file: third.key does not exist"},
		"--key-file", "third.key")
}

// settings tests servers that accept no writes, or may lose them.
func (b badStore) settings(plain *pgtest.Server, u, s url.URL) {
	b.checkRefused("fsync off", option(s, "sslmode", "require"),
		[]string{"fsync is off on the PostgreSQL server at " + s.Host, "--allow-unsafe-store"})
	b.mustMigrate(option(s, "sslmode", "require"), "--allow-unsafe-store")
	lax := option(u, "schema", "lax_1")
	plain.Exec(b.t, "ALTER DATABASE hocket SET synchronous_commit = off")
	b.checkRefused("synchronous_commit off", lax,
		[]string{"synchronous_commit is off on the PostgreSQL server at " + u.Host,
			"--allow-unsafe-store"})
	b.mustMigrate(lax, "--allow-unsafe-store")
	plain.Exec(b.t, "ALTER DATABASE hocket RESET synchronous_commit")
	copied := u
	r := plain.Replica(b.t)
	copied.Host = net.JoinHostPort("127.0.0.1", strconv.Itoa(r.Port))
	b.checkRefused("read-only replica", copied.String(),
		[]string{"the PostgreSQL server at " + copied.Host + " is read-only: it is a replica"})
}

// testProxies tests servers behind other programs.
func (b badStore) testProxies(plain *pgtest.Server) {
	socket := plain.URL(b.t)
	b.checkRefused("pooler without lease_host", pgtest.NewPooler(b.t, plain)(socket),
		[]string{"there is a connection pooler at ", "lease_host=HOST:PORT"})
	b.checkRefused("server older than 14", pgtest.WithVersion(b.t, socket, "13.9"),
		[]string{"is PostgreSQL 13.9; 14 or newer is needed"})
}
