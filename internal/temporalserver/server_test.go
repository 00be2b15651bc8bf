package temporalserver

import (
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/leaktest"
	"github.com/hocket-run/hocket/internal/pgtest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// TestNamespaces checks that tests share a server and have their own namespaces.
func TestNamespaces(t *testing.T) {
	t.Parallel()
	a, one := Namespace(t)
	b, two := Namespace(t)
	if a != b || one == two {
		t.Errorf("%s %s, %s %s", a, one, b, two)
	}
	shared.s.AddAttributes(t, one)
	shared.s.Register(t, one) // it exists already
}

// TestPostgres checks that a killed server on PostgreSQL continues with its stored data, at the
// same address.
func TestPostgres(t *testing.T) {
	t.Parallel()
	Require(t)
	pg := pgtest.Shared(t)
	s := Start(t, Config{Postgres: pg.Database(t), Visibility: pg.Database(t)})
	at := s.Address
	s.Register(t, "kept")
	s.AddAttributes(t, "kept")
	for _, end := range []func(testing.TB){s.Kill, s.Stop} {
		end(t)
		if c, err := net.DialTimeout("tcp", at, time.Second); err == nil {
			_ = c.Close()
			t.Fatal("the server that was ended answers")
		}
		s.Start(t)
		s.AddAttributes(t, "kept") // fails if the namespace is gone
	}
	if s.Address != at {
		t.Errorf("the address was %s and is %s", at, s.Address)
	}
}

// TestTLS checks that the server's own client can connect with a certificate, or with the API key
// instead.
func TestTLS(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]Config{"certificate": {TLS: true}, "key": {TLS: true, APIKey: "k1"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := Start(t, cfg)
			s.Register(t, "secured")
			for _, f := range []string{s.CA, s.Cert, s.Key} {
				if text, err := os.ReadFile(f); err != nil || !strings.HasPrefix(string(text), "-----BEGIN ") {
					t.Errorf("%s: %.20q %v", f, text, err)
				}
			}
		})
	}
}
