package dial

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/certtest"
	"github.com/hocket-run/hocket/internal/config"
	"github.com/hocket-run/hocket/internal/errcode"
	"github.com/hocket-run/hocket/internal/leaktest"
	"github.com/hocket-run/hocket/internal/temporalserver"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

const theKey = "tmprl-k3y-do-not-show"

// secrets resolves ${env.KEY} and ${env.OTHER}.
func secrets(ref string) (string, error) {
	switch ref {
	case "${env.KEY}":
		return theKey, nil
	case "${env.OTHER}":
		return "another-" + theKey, nil
	}
	return "", errors.New("the variable is not set")
}

// check connects, checks the server, and returns the error's code and message.
func check(t *testing.T, s config.Temporal) (errcode.Code, string) {
	t.Helper()
	c, err := New(Config{Settings: s, Secret: secrets})
	if err == nil {
		defer c.Close()
		err = c.Check(t.Context())
	}
	if err == nil {
		return "", ""
	}
	code, _ := errcode.Of(err)
	text := errcode.Text(err, errcode.Command)
	if strings.Contains(text, theKey) || strings.Count(text, "\n") > 0 {
		t.Errorf("the error shows the key, or has several lines: %q", text)
	}
	return code, text
}

// TestSettings checks that settings that cannot work are rejected before anything is connected to,
// with a one-sentence error.
func TestSettings(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := func(name string, text []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	a, err := certtest.New()
	if err != nil {
		t.Fatal(err)
	}
	cert, key, err := a.Issue("client")
	if err != nil {
		t.Fatal(err)
	}
	_, otherKey, err := a.Issue("other")
	if err != nil {
		t.Fatal(err)
	}
	good, goodKey, noPEM, wrongKey := file("c.pem", cert), file("c.key", key), file("text", []byte("hello")),
		file("o.key", otherKey)
	const at = "127.0.0.1:7233"
	for name, tt := range map[string]struct {
		s    config.Temporal
		code errcode.Code
		want string
	}{
		"no address": {config.Temporal{Namespace: "x"}, errcode.TemporalSetting,
			"address of the server is missing"},
		"address of the web": {config.Temporal{Address: "https://temporal.example.com"}, errcode.TemporalSetting,
			"HOST:PORT"},
		"address of a path": {config.Temporal{Address: "temporal.example.com/a:7233"}, errcode.TemporalSetting,
			"HOST:PORT"},
		"no port": {config.Temporal{Address: "temporal.example.com"}, errcode.TemporalSetting, "HOST:PORT"},
		"port that is none": {config.Temporal{Address: "temporal.example.com:99999"}, errcode.TemporalSetting,
			"HOST:PORT"},
		"certificate alone": {config.Temporal{Address: at, TLS: config.TemporalTLS{Cert: good}},
			errcode.TemporalSetting, "together"},
		"key alone": {config.Temporal{Address: at, TLS: config.TemporalTLS{Key: goodKey}},
			errcode.TemporalSetting, "together"},
		"another key": {config.Temporal{Address: at, TLS: config.TemporalTLS{Cert: good, Key: wrongKey}},
			errcode.TemporalSetting, "does not match"},
		"no file": {config.Temporal{Address: at, TLS: config.TemporalTLS{Cert: good,
			Key: filepath.Join(dir, "none")}}, errcode.TemporalSetting, "no such file"},
		"authority not there": {config.Temporal{Address: at, TLS: config.TemporalTLS{CA: filepath.Join(dir, "none")}},
			errcode.TemporalSetting, "no such file"},
		"authority not PEM": {config.Temporal{Address: at, TLS: config.TemporalTLS{CA: noPEM}},
			errcode.TemporalSetting, "no certificate"},
		"the key itself": {config.Temporal{Address: at, APIKey: theKey}, errcode.TemporalSetting,
			"must be a reference"},
		"key that is not set": {config.Temporal{Address: at, APIKey: "${env.MISSING}"}, errcode.TemporalKey, "not set"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if code, text := check(t, tt.s); code != tt.code || !strings.Contains(text, tt.want) {
				t.Errorf("%s: %s", code, text)
			}
		})
	}
}

// TestUnreachable checks that a connection is created even if there is no server, and that using it
// reports that.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ address, want string }{
		"refused":      {"127.0.0.1:1", "nothing accepts connections there"},
		"unknown host": {"temporal.invalid:7233", "its host is not known"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if code, text := check(t, config.Temporal{Address: tt.address}); code != errcode.TemporalUnreachable ||
				!strings.Contains(text, tt.want) {
				t.Errorf("%s: %s", code, text)
			}
		})
	}
}

// TestKey_Refresh checks that a key is resolved again after a minute, and kept if it cannot be
// resolved.
func TestKey_Refresh(t *testing.T) {
	t.Parallel()
	value, fail := "one", error(nil)
	k := &key{ref: "file:x", resolve: func(string) (string, error) { return value, fail }}
	now := time.Now()
	for i, tt := range []struct {
		after time.Duration
		is    string
		err   error
		want  string
	}{
		{0, "one", nil, "one"},
		{keyAge - 1, "two", nil, "one"},
		{keyAge, "two", nil, "two"},
		{2 * keyAge, "three", errors.New("gone"), "two"},
		{4 * keyAge, "three", nil, "three"},
	} {
		value, fail = tt.is, tt.err
		if got, err := k.value(now.Add(tt.after)); got != tt.want || err != nil {
			t.Errorf("%d: %q %v", i, got, err)
		}
	}
}

// TestTemporalNamespace checks that the error names a missing namespace, and that an existing one
// can be used, with search attributes or without.
func TestTemporalNamespace(t *testing.T) {
	t.Parallel()
	s := temporalserver.Start(t, temporalserver.Config{})
	settings := config.Temporal{Address: s.Address, Namespace: "agents"}
	if code, text := check(t, settings); code != errcode.TemporalNamespace ||
		!strings.Contains(text, `no namespace "agents"`) {
		t.Errorf("%s: %s", code, text)
	}
	s.Register(t, "agents")
	c, err := New(Config{Settings: settings})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, attributes := range []bool{false, true} {
		if attributes {
			s.AddAttributes(t, "agents")
		}
		r, err := c.Report(t.Context())
		if err != nil || "v"+r.Version != temporalserver.Version || r.Retention != 24*time.Hour ||
			r.Attributes != attributes {
			t.Errorf("attributes %t: %+v %v", attributes, r, err)
		}
	}
	s.Kill(t)
	if code, _ := errcode.Of(c.Check(t.Context())); code != errcode.TemporalUnreachable {
		t.Errorf("after the server was killed: %s", code)
	}
	s.Start(t) // without its data, which was only in memory
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		code, _ := errcode.Of(c.Check(ctx))
		if code == errcode.TemporalNamespace {
			break
		}
		if ctx.Err() != nil {
			t.Fatalf("the connection does not recover: %s", code)
		}
	}
}

// TestTemporalTLS checks that the connection is secure with the certificates of the server, and
// that each wrong or missing certificate is reported.
func TestTemporalTLS(t *testing.T) {
	t.Parallel()
	s := temporalserver.Start(t, temporalserver.Config{TLS: true})
	s.Register(t, "agents")
	a, err := certtest.New()
	if err != nil {
		t.Fatal(err)
	}
	cert, key, err := a.Issue("stranger")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	strange, strangeKey, strangeCA := filepath.Join(dir, "c.pem"), filepath.Join(dir, "c.key"),
		filepath.Join(dir, "ca.pem")
	if err := errors.Join(os.WriteFile(strange, cert, 0o600), os.WriteFile(strangeKey, key, 0o600),
		os.WriteFile(strangeCA, a.PEM, 0o600)); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		tls  config.TemporalTLS
		code errcode.Code
		want string
	}{
		"right":    {config.TemporalTLS{CA: s.CA, Cert: s.Cert, Key: s.Key}, "", ""},
		"its name": {config.TemporalTLS{CA: s.CA, Cert: s.Cert, Key: s.Key, ServerName: "localhost"}, "", ""},
		"another name": {config.TemporalTLS{CA: s.CA, Cert: s.Cert, Key: s.Key,
			ServerName: "temporal.example.com"}, errcode.TemporalTLS, "for another name"},
		"another authority": {config.TemporalTLS{CA: strangeCA, Cert: s.Cert, Key: s.Key}, errcode.TemporalTLS,
			"unknown authority"},
		"no certificate": {config.TemporalTLS{CA: s.CA}, errcode.TemporalTLS, "the certificate of a client"},
		"another client": {config.TemporalTLS{CA: s.CA, Cert: strange, Key: strangeKey}, errcode.TemporalTLS,
			"the certificate of "},
		"no TLS": {config.TemporalTLS{}, errcode.TemporalUnreachable, "without TLS"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if code, text := check(t, config.Temporal{Address: s.Address, Namespace: "agents",
				TLS: tt.tls}); code != tt.code || !strings.Contains(text, tt.want) {
				t.Errorf("%s: %s", code, text)
			}
		})
	}
}

// TestTemporalKey checks that an API key grants access to the server, only over TLS, and that
// another key is rejected.
func TestTemporalKey(t *testing.T) {
	t.Parallel()
	s := temporalserver.Start(t, temporalserver.Config{TLS: true, APIKey: theKey})
	s.Register(t, "agents")
	plain := temporalserver.Start(t, temporalserver.Config{APIKey: theKey})
	for name, tt := range map[string]struct {
		at, ref, ca string
		code        errcode.Code
		want        string
	}{
		"right":   {s.Address, "${env.KEY}", s.CA, "", ""},
		"another": {s.Address, "${env.OTHER}", s.CA, errcode.TemporalRefused, "refused the credentials"},
		"none":    {s.Address, "", s.CA, errcode.TemporalRefused, "refused the credentials"},
		"no TLS":  {plain.Address, "${env.KEY}", "", errcode.TemporalTLS, "does not use TLS"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			settings := config.Temporal{Address: tt.at, Namespace: "agents", TLS: config.TemporalTLS{CA: tt.ca},
				APIKey: tt.ref}
			if code, text := check(t, settings); code != tt.code || !strings.Contains(text, tt.want) {
				t.Errorf("%s: %s", code, text)
			}
		})
	}
}
