package pghome_test

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/errcode"
	"github.com/hocket-run/hocket/internal/pgtest"
	"github.com/hocket-run/hocket/internal/store"
	"github.com/hocket-run/hocket/internal/store/pghome"
)

// canary is a password that must not appear in any output.
const canary = "canary-77-p4ss"

// at parses a URL with the kind under test.
func at(t *testing.T, text string, servers store.Servers) store.Locator {
	t.Helper()
	if servers.Postgres == nil {
		servers.Postgres = pghome.New(nil)
	}
	l, err := store.Parse(text, servers)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// refused looks at a store that cannot be used, and compares the code and text of the error. want
// may contain the placeholders HOST and PORT of the URL. Neither the error nor the facts may
// contain a password.
func refused(t *testing.T, l store.Locator, code errcode.Code, want string) {
	t.Helper()
	_, err := l.Look(t.Context())
	got, _ := errcode.Of(err)
	if got != code {
		t.Errorf("%s: code %q, want %q: %v", l, got, code, err)
		return
	}
	entry, _ := errcode.Find(code)
	if status := errcode.GroupOf(entry.Family).Status; status != http.StatusUnprocessableEntity &&
		status != http.StatusServiceUnavailable {
		t.Errorf("%s: status %d", code, status)
	}
	if text := errcode.Text(err, errcode.Command); text != want {
		t.Errorf("%s:\n got %s\nwant %s", l, text, want)
	}
	facts, ferr := l.Facts(t.Context())
	all := fmt.Sprintf("%v %+v %#v %v %v", err, err, err, facts, ferr)
	for err := err; err != nil; err = errors.Unwrap(err) {
		all += fmt.Sprintf("%v %+v %#v", err, err, err)
	}
	for _, secret := range []string{canary, pgtest.Password, url.QueryEscape(pgtest.Password),
		url.PathEscape(pgtest.Password)} {
		if strings.Contains(all, secret) {
			t.Errorf("the password is shown: %s", all)
		}
	}
}

// with returns a URL with an additional option.
func with(u url.URL, key, value string) string {
	q := u.Query()
	q.Set(key, value)
	u.RawQuery = strings.ReplaceAll(q.Encode(), "+", "%20")
	return u.String()
}

// socketURL returns the URL of a schema on the shared server as a value.
func socketURL(t *testing.T) url.URL {
	t.Helper()
	u, err := url.Parse(pgtest.URL(t))
	if err != nil {
		t.Fatal(err)
	}
	return *u
}

func TestHostUnknown(t *testing.T) {
	t.Parallel()
	host := strings.Repeat("a", 64) + ".invalid" // no resolver looks up a label of this length
	refused(t, at(t, "postgres://ann:"+canary+"@"+host+"/x", store.Servers{}), errcode.StoreHostUnknown,
		"the host "+host+" of the store is not known; check the host name in the URL of the store")
}

func TestRefused(t *testing.T) {
	t.Parallel()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := ln.Addr().String()
	if err := ln.Close(); err != nil {
		t.Fatal(err)
	}
	refused(t, at(t, "postgres://ann:"+canary+"@"+addr+"/x?sslmode=disable", store.Servers{}), errcode.StoreRefused,
		"no PostgreSQL server accepts connections at "+addr+
			"; check host and port in the URL of the store, and that the server runs")
	dir := t.TempDir()
	refused(t, at(t, "postgres:///x?user=ann&password="+canary+"&host="+dir, store.Servers{}), errcode.StoreRefused,
		"no PostgreSQL server accepts connections at "+dir+
			"; check host and port in the URL of the store, and that the server runs")
}

// TestSeveralHosts checks that the reason of each server is named if they differ.
func TestSeveralHosts(t *testing.T) {
	t.Parallel()
	addr := make([]string, 3)
	for i := range addr {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		addr[i] = ln.Addr().String()
		if i < 2 { // nothing listens at the first two; the third accepts, and sends nothing
			err = ln.Close()
		} else {
			t.Cleanup(func() { _ = ln.Close() })
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	url := func(hosts ...string) store.Locator {
		return at(t, "postgres://ann:"+canary+"@"+strings.Join(hosts, ",")+"/x?sslmode=disable&connect_timeout=1",
			store.Servers{})
	}
	refused(t, url(addr[0], addr[1]), errcode.StoreRefused, "no PostgreSQL server accepts connections at "+addr[0]+
		","+addr[1]+"; check host and port in the URL of the store, and that the server runs")
	refused(t, url(addr[0], addr[2]), errcode.StoreConnection, "cannot connect to the PostgreSQL server at "+addr[0]+
		","+addr[2]+": no PostgreSQL server accepts connections at "+addr[0]+"; the PostgreSQL server at "+addr[2]+
		" did not respond in time")
	unknown := strings.Repeat("a", 64) + ".invalid"
	refused(t, url(unknown, addr[0]), errcode.StoreConnection, "cannot connect to the PostgreSQL server at "+
		unknown+":5432,"+addr[0]+": the host "+unknown+" of the store is not known; no PostgreSQL server accepts "+
		"connections at "+addr[0])
}

func TestOpen_ServerNotResponding(t *testing.T) {
	t.Parallel()
	ln, err := net.Listen("tcp", "127.0.0.1:0") // it accepts, and sends nothing
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ln.Close() })
	addr := ln.Addr().String()
	refused(t, at(t, "postgres://ann:"+canary+"@"+addr+"/x?sslmode=disable&connect_timeout=1", store.Servers{}),
		errcode.StoreSilent,
		"the PostgreSQL server at "+addr+" did not respond in time; check host and port in the URL of the store; "+
			"connect_timeout sets how long to wait")
}

// TestPassword covers what depends on a password or on fsync, with a server that requires a
// password and has fsync off.
func TestPassword(t *testing.T) {
	t.Parallel()
	s := pgtest.Start(t, pgtest.Config{TCP: true, Settings: map[string]string{"fsync": "off"}})
	u := *s.TCP(t)
	host := u.Host
	unsafe := store.Servers{AllowUnsafe: true}
	wrong := "the PostgreSQL server at " + host + ` rejected the password of user "hocket"; give the password in ` +
		`PGPASSWORD, in a password file, or in the URL of the store`

	bad := u
	bad.User = url.UserPassword(pgtest.User, canary)
	refused(t, at(t, bad.String(), unsafe), errcode.StorePassword, wrong)
	bare := u
	bare.User = url.User(pgtest.User)
	refused(t, at(t, bare.String(), unsafe), errcode.StorePassword, wrong)
	refused(t, at(t, with(u, "sslmode", "require"), unsafe), errcode.StoreTLSMissing,
		"the PostgreSQL server at "+host+" does not offer TLS, which sslmode=require demands; turn TLS on at the "+
			"server, or lower sslmode in the URL of the store")
	missing := u
	missing.Path = "/nosuch"
	refused(t, at(t, missing.String(), unsafe), errcode.StoreDatabaseMissing,
		`the database "nosuch" does not exist on the PostgreSQL server at `+host+
			"; create it with createdb, or correct the URL of the store")
	refused(t, at(t, u.String(), store.Servers{}), errcode.StoreUnsafe,
		"fsync is off on the PostgreSQL server at "+host+
			", so stored results can be lost in a crash; turn it on, or accept it with --allow-unsafe-store")

	file := filepath.Join(t.TempDir(), "pass file")
	line := "127.0.0.1:" + u.Port() + ":*:" + pgtest.User + ":" + strings.NewReplacer(`\`, `\\`, `:`, `\:`).Replace(
		pgtest.Password) + "\n"
	if err := os.WriteFile(file, []byte(line), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, l := range []store.Locator{at(t, u.String(), unsafe), at(t, with(bare, "passfile", file), unsafe)} {
		if view, err := l.Look(t.Context()); err != nil || view.Exists {
			t.Errorf("%s: %+v, %v", l, view, err)
		}
	}
	if err := os.Chmod(file, 0o644); err != nil {
		t.Fatal(err)
	}
	const hint = "; write postgres://user@host:5432/database; the password may also be in PGPASSWORD or a password file"
	refused(t, at(t, with(bare, "passfile", file), unsafe), errcode.StoreURL,
		"the URL of the store is not valid: the password file "+file+
			" has the mode 0644, so other users can read it; run chmod 600 "+file+hint)
	refused(t, at(t, with(bare, "passfile", file+"2"), unsafe), errcode.StoreURL,
		"the URL of the store is not valid: the password file cannot be read: "+file+"2: no such file or directory"+
			hint)
	refused(t, at(t, with(u, "sslrootcert", file+"2")+"&sslmode=verify-full", unsafe), errcode.StoreURL,
		"the URL of the store is not valid: "+file+"2: no such file or directory"+hint)

	// The same data as a replica, which waits for data from a primary server that does not exist.
	s.Stop(t, pgtest.Fast)
	if err := os.WriteFile(filepath.Join(s.Dir, "data", "standby.signal"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	s.Start(t)
	refused(t, at(t, u.String(), unsafe), errcode.StoreReadOnly,
		"the PostgreSQL server at "+host+" is read-only: it is a replica; connect to the primary server; with "+
			"several hosts in the URL of the store, the first that can be written is used")
	two := strings.Replace(u.String(), host, host+","+host, 1)
	refused(t, at(t, two, unsafe), errcode.StoreReadOnly,
		"the PostgreSQL server at "+host+","+host+
			" is read-only: it is a replica, or default_transaction_read_only is on; connect to the primary server; "+
			"with several hosts in the URL of the store, the first that can be written is used")
}

func TestTLS(t *testing.T) {
	t.Parallel()
	s := pgtest.Start(t, pgtest.Config{TCP: true, TLS: true})
	u := *s.TCP(t)
	refused(t, at(t, with(u, "sslmode", "disable"), store.Servers{}), errcode.StoreTLSDemanded,
		"the PostgreSQL server at "+u.Host+
			" accepts no connection without TLS; add sslmode=require or sslmode=verify-full to the URL of the store")
	refused(t, at(t, with(u, "sslmode", "verify-full"), store.Servers{}), errcode.StoreTLSUntrusted,
		"the certificate of the PostgreSQL server at "+u.Host+" is not trusted: x509: certificate signed by unknown "+
			"authority; name the file of the certificate authority by sslrootcert in the URL of the store")
	l := at(t, with(u, "sslmode", "verify-full")+"&sslrootcert="+url.QueryEscape(s.Authority), store.Servers{})
	if view, err := l.Look(t.Context()); err != nil || view.Exists {
		t.Errorf("%+v, %v", view, err)
	}
}

// TestOpen_MissingPermissions checks that errors about missing permissions include the statement
// that fixes them.
func TestOpen_MissingPermissions(t *testing.T) {
	t.Parallel()
	s := pgtest.Shared(t)
	u := socketURL(t)
	name := u.Query().Get("schema")
	role := "role_" + name
	s.Exec(t, "CREATE ROLE "+role+" LOGIN")
	t.Cleanup(func() { s.Exec(t, "DROP OWNED BY "+role+"; DROP ROLE "+role) })
	u.User = url.User(role)
	refused(t, at(t, u.String(), store.Servers{}), errcode.StoreNoRight,
		"user \""+role+"\" has no right to create schemas in database \"hocket\"; run on the server: GRANT CREATE ON "+
			"DATABASE \"hocket\" TO \""+role+"\"")
	s.Exec(t, "CREATE SCHEMA "+name+" AUTHORIZATION hocket")
	refused(t, at(t, u.String(), store.Servers{}), errcode.StoreNoRight,
		"user \""+role+"\" has no right to use the schema "+name+
			" in database \"hocket\"; run on the server: GRANT USAGE, CREATE ON SCHEMA \""+name+"\" TO \""+role+"\"")
	s.Exec(t, "GRANT USAGE, CREATE ON SCHEMA "+name+" TO "+role+"; CREATE TABLE "+name+".hocket_store (number integer)")
	refused(t, at(t, u.String(), store.Servers{}), errcode.StoreNoRight,
		"user \""+role+"\" has no right to use the tables of schema "+name+
			" in database \"hocket\"; run on the server: GRANT \"hocket\" TO \""+role+"\"")
	s.Exec(t, "ALTER TABLE "+name+".hocket_store RENAME TO customers")
	refused(t, at(t, u.String(), store.Servers{}), errcode.StoreForeign,
		"schema \""+name+"\" of database \"hocket\" belongs to another program; name another schema by schema=NAME "+
			"in the URL of the store")
	s.Exec(t, "ALTER ROLE "+role+" CONNECTION LIMIT 0")
	refused(t, at(t, u.String(), store.Servers{}), errcode.StoreFull,
		"the PostgreSQL server at "+s.Dir+" has no connection left: too many connections for role \""+role+
			"\"; raise max_connections on the server, or the limit of the user or the database")
	u.User = url.User("nosuch")
	refused(t, at(t, u.String(), store.Servers{}), errcode.StoreUserRejected,
		"the PostgreSQL server at "+s.Dir+" does not let user \"nosuch\" connect to database \"hocket\": role "+
			"\"nosuch\" does not exist; check user and database in the URL of the store, and pg_hba.conf on the server")
}

// TestSettings checks database settings with which a store cannot be used.
func TestSettings(t *testing.T) {
	t.Parallel()
	s := pgtest.Shared(t)
	text := s.Database(t)
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	name := strings.TrimPrefix(u.Path, "/")
	s.Exec(t, "ALTER DATABASE "+name+" SET synchronous_commit = off")
	refused(t, at(t, text, store.Servers{}), errcode.StoreUnsafe,
		"synchronous_commit is off on the PostgreSQL server at "+s.Dir+
			", so stored results can be lost in a crash; turn it on, or accept it with --allow-unsafe-store")
	if _, err := at(t, text, store.Servers{AllowUnsafe: true}).Look(t.Context()); err != nil {
		t.Error(err)
	}
	s.Exec(t, "ALTER DATABASE "+name+" SET default_transaction_read_only = on")
	refused(t, at(t, text, store.Servers{AllowUnsafe: true}), errcode.StoreReadOnly,
		"the PostgreSQL server at "+s.Dir+" is read-only: default_transaction_read_only is on; connect to the "+
			"primary server; with several hosts in the URL of the store, the first that can be written is used")
	s.Exec(t, "REVOKE CONNECT ON DATABASE "+name+" FROM PUBLIC; REVOKE CONNECT ON DATABASE "+name+
		" FROM hocket; ALTER DATABASE "+name+" OWNER TO postgres")
	refused(t, at(t, text, store.Servers{}), errcode.StoreNoRight,
		"user \"hocket\" has no right to connect in database \""+name+
			"\"; run on the server: GRANT CONNECT ON DATABASE \""+name+"\" TO \"hocket\"")
}

// TestServerOld runs the real server behind a proxy that changes the version it reports at startup.
func TestServerOld(t *testing.T) {
	t.Parallel()
	u, err := url.Parse(pgtest.WithVersion(t, pgtest.URL(t), "13.9"))
	if err != nil {
		t.Fatal(err)
	}
	refused(t, at(t, u.String(), store.Servers{}), errcode.StoreServerOld, "the server at "+u.Query().Get("host")+
		" is PostgreSQL 13.9; 14 or newer is needed")
}

func TestPooler(t *testing.T) {
	t.Parallel()
	s := pgtest.Shared(t)
	direct, pooled := s.Dir, pgtest.NewPooler(t, s)(pgtest.URL(t))
	p, err := url.Parse(pooled)
	if err != nil {
		t.Fatal(err)
	}
	dir := p.Query().Get("host")
	refused(t, at(t, pooled, store.Servers{}), errcode.StorePooler,
		"there is a connection pooler at "+dir+", and some connections must reach the server itself; add "+
			"lease_host=HOST:PORT, the address of the server, to the URL of the store")
	const hint = "; write postgres://user@host:5432/database; the password may also be in PGPASSWORD or a password file"
	again := pgtest.NewPooler(t, s)(pgtest.URL(t))
	p2, err := url.Parse(again)
	if err != nil {
		t.Fatal(err)
	}
	refused(t, at(t, pooled+"&lease_host="+url.QueryEscape(p2.Query().Get("host")+":"+p2.Query().Get("port")),
		store.Servers{}), errcode.StoreURL,
		"the URL of the store is not valid: lease_host is the address of a connection pooler, not of the server itself"+
			hint)
	l := at(t, pooled+"&lease_host="+url.QueryEscape(direct), store.Servers{})
	if view, err := l.Look(t.Context()); err != nil || view.Exists {
		t.Errorf("%+v, %v", view, err)
	}
	facts, err := l.Facts(t.Context())
	if text := fmt.Sprint(facts); err != nil || !strings.Contains(text, "{pooler yes; sessions connect to "+direct) {
		t.Error(text, err)
	}
}

// TestClocks checks that clocks that are 5 s apart are reported but do not prevent opening.
func TestClocks(t *testing.T) {
	t.Parallel()
	for offset, want := range map[time.Duration]string{0: "", -time.Minute: "the clocks differ by 5s or more",
		time.Minute: "the clocks differ by 5s or more"} {
		kind := pghome.New(func() time.Time { return time.Now().Add(offset) })
		facts, err := at(t, pgtest.URL(t), store.Servers{Postgres: kind}).Facts(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, f := range facts {
			if f.Name == "clock" {
				found = true
				if f.Warning != want {
					t.Errorf("%s: %+v", offset, f)
				}
			}
		}
		if !found {
			t.Errorf("no clock in %v", facts)
		}
	}
}

// TestFacts checks what doctor shows about a server.
func TestFacts(t *testing.T) {
	t.Parallel()
	facts, err := at(t, pgtest.URL(t), store.Servers{}).Facts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range facts {
		names = append(names, f.Name)
		if f.Value == "" || f.Warning != "" {
			t.Errorf("%+v", f)
		}
	}
	if got := strings.Join(names, " "); got != "version commit synchronous_commit fsync replicas pooler clock "+
		"connections" {
		t.Error(got)
	}
	if major, err := strconv.Atoi(strings.Split(strings.TrimPrefix(facts[0].Value, "PostgreSQL "),
		".")[0]); err != nil || major < 14 {
		t.Errorf("%+v", facts[0])
	}
}
