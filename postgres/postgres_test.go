package postgres_test

import (
	"context"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hocket-run/hocket"
	"github.com/hocket-run/hocket/graph"
	"github.com/hocket-run/hocket/internal/pgtest"
	"github.com/hocket-run/hocket/postgres"
)

type state struct {
	Text string `json:"text"`
}

// TestOpen checks that a program stores its runs in PostgreSQL, where another engine finds them.
func TestOpen(t *testing.T) {
	t.Parallel()
	at := pgtest.URL(t)
	g, err := graph.New[state]("g").Start(graph.Do("write", func(_ context.Context, s *state) error {
		s.Text += "!"
		return nil
	})).Compile()
	if err != nil {
		t.Fatal(err)
	}
	first := open(t, hocket.Config{}, postgres.Open(at))
	r, err := hocket.Run(t.Context(), first, g, state{Text: "hello"}, hocket.RunOptions{ID: "r"})
	if err != nil || r.State.Text != "hello!" {
		t.Fatalf("%+v, %v", r, err)
	}
	if err := first.Close(); err != nil {
		t.Error(err)
	}
	file := filepath.Join(t.TempDir(), "hocket.yaml")
	if err := os.WriteFile(file, []byte("store: {path: '"+at+"'}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, e := range []*hocket.Engine{
		open(t, hocket.Config{}, postgres.Open(at)), open(t, hocket.Config{DB: at}, postgres.Open("")),
		open(t, hocket.Config{}, hocket.WithConfig(file), postgres.Open("")),
	} {
		if info, err := e.Get(t.Context(), "r"); err != nil || info.Status != hocket.StatusCompleted {
			t.Errorf("%+v, %v", info, err)
		}
	}
}

func open(t *testing.T, cfg hocket.Config, options ...hocket.Option) *hocket.Engine {
	t.Helper()
	e, err := hocket.Open(t.Context(), cfg, options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	return e
}

// TestErrors checks that errors are reported when the engine is opened, without the password.
func TestErrors(t *testing.T) {
	t.Parallel()
	u, err := url.Parse(pgtest.URL(t))
	if err != nil {
		t.Fatal(err)
	}
	u.User, u.Path = url.UserPassword(pgtest.User, "canary-77"), "/nosuch"
	for want, o := range map[string]struct {
		cfg     hocket.Config
		options []hocket.Option
	}{
		"Config.DB and the URL of a store are both given": {hocket.Config{DB: "x.db"},
			[]hocket.Option{postgres.Open(u.String())}},
		"the store has no URL":                      {hocket.Config{}, []hocket.Option{postgres.Open("")}},
		"this program was built without PostgreSQL": {hocket.Config{DB: u.String()}, nil},
		`unknown option "shema"; did you mean "schema"?`: {hocket.Config{},
			[]hocket.Option{postgres.Open("postgres://u:canary-77@h/d?shema=x")}},
		`the database "nosuch" does not exist`: {hocket.Config{},
			[]hocket.Option{postgres.Open(u.String())}},
	} {
		_, err := hocket.Open(t.Context(), o.cfg, o.options...)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "canary") {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
