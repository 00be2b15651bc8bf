package pghome_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/api/hooks/hookdata"
	"github.com/hocket-run/hocket/internal/catalog"
	"github.com/hocket-run/hocket/internal/errcode"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/pgtest"
	"github.com/hocket-run/hocket/internal/store"
	"github.com/hocket-run/hocket/internal/store/pghome"
	"github.com/hocket-run/hocket/internal/tool/memory"
)

func open(t *testing.T, l store.Locator) *store.Home {
	t.Helper()
	h, err := l.Open(t.Context(), store.Config{Kind: journal.KindServe})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	return h
}

// grant creates the first token of a namespace, and with it the namespace.
func grant(t *testing.T, h *store.Home, namespace string) {
	t.Helper()
	if _, _, err := access.NewTokens(access.Config{Store: h.Access}).Create(t.Context(),
		access.Grant{Name: "ann", Namespace: namespace, Role: access.RoleAdmin}); err != nil {
		t.Fatal(err)
	}
}

// fill stores something in every part of a home.
func fill(t *testing.T, h *store.Home) {
	t.Helper()
	ctx, at := t.Context(), time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)
	record := journal.Record{First: 1, Last: 1, Data: []byte("x")}
	if err := h.Journal.Append(ctx, journal.Append{Run: "r", Create: &journal.NewRun{Kind: journal.KindServe,
		Created: at}, Record: record, At: at, Status: journal.StatusRunning}); err != nil {
		t.Error(err)
	}
	if _, err := h.Catalog.Put(ctx, []catalog.Put{{ID: "w", Format: "steps", Text: []byte("x"), At: at}},
		nil); err != nil {
		t.Error(err)
	}
	if err := h.Access.Record(ctx, access.Record{Namespace: access.DefaultNamespace, At: at, Action: "x"}); err != nil {
		t.Error(err)
	}
	if _, err := h.Hooks.SetWebhook(ctx, "wh", func(w *hookdata.Webhook) error {
		w.ID, w.Path = "wh", "p"
		return nil
	}); err != nil {
		t.Error(err)
	}
	if err := h.Checkpoints.Save(ctx, "r", json.RawMessage(`1`), "a"); err != nil {
		t.Error(err)
	}
	if _, err := h.Memories.Add(ctx, "s", "k", memory.Entry{Text: "x"}); err != nil {
		t.Error(err)
	}
}

// checkCounts checks how much is in each part of a home.
func checkCounts(t *testing.T, h *store.Home, want int) {
	t.Helper()
	ctx := t.Context()
	runs, _, err1 := h.Journal.List(ctx, journal.Query{Limit: 10})
	_, err2 := h.Catalog.Entry(ctx, "w")
	if want == 0 && errors.Is(err2, catalog.ErrNotFound) {
		err2 = nil
	}
	page, err3 := h.Access.Records(ctx, access.Query{Namespace: access.DefaultNamespace})
	hooks, err4 := h.Hooks.Webhooks(ctx)
	labels, err5 := h.Checkpoints.List(ctx, "r")
	kept, err6 := h.Memories.All(ctx, "s")
	if err := errors.Join(err1, err2, err3, err4, err5, err6); err != nil {
		t.Error(err)
	}
	if len(runs) != want || len(page.Items) != want || len(hooks) != want || len(labels) != want || len(kept) != want {
		t.Errorf("%d runs, %d records, %d webhooks, %d checkpoints, %d memories, want %d of each", len(runs),
			len(page.Items), len(hooks), len(labels), len(kept), want)
	}
}

// TestHome checks that a home has every part, including after it is reopened, and that each
// namespace has its own schema.
func TestHome(t *testing.T) {
	t.Parallel()
	l := at(t, pgtest.URL(t), store.Servers{Folder: t.TempDir()})
	if view, err := l.Look(t.Context()); err != nil || view.Exists {
		t.Errorf("%+v, %v", view, err)
	}
	h := open(t, l)
	fill(t, h)
	checkCounts(t, open(t, l), 1)
	checkCounts(t, open(t, at(t, pgURL(l), store.Servers{})), 1) // another process
	if view, err := l.Look(t.Context()); err != nil || !view.Exists || view.Bytes == 0 {
		t.Errorf("%+v, %v", view, err)
	}
	if s := h.Sizes(); len(s) != 1 || s[0].Part != "main" || s[0].Bytes == 0 || !h.IsDurable() ||
		h.Locator().String() != l.String() {
		t.Errorf("sizes %+v, locator %s", s, h.Locator())
	}

	news, err := l.Namespace("newsroom")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := news.Open(t.Context(), store.Config{}); !errors.Is(err, access.ErrNoNamespace) {
		t.Errorf("a namespace that does not exist: %v", err)
	}
	if view, err := news.Look(t.Context()); err != nil || view.Exists {
		t.Errorf("%+v, %v", view, err)
	}
	grant(t, h, "newsroom")
	grant(t, h, strings.Repeat("n", 63))
	long, err := l.Namespace(strings.Repeat("n", 63))
	if err != nil {
		t.Fatal(err)
	}
	checkCounts(t, open(t, long), 0)
	n := open(t, news)
	checkCounts(t, n, 0)
	fill(t, n)
	checkCounts(t, n, 1)
	checkCounts(t, h, 1)
	c := pgtest.Connect(t, pgURL(l))
	var schemas int
	if err := c.QueryRow(t.Context(), "SELECT count(*) FROM pg_namespace WHERE nspname IN ($1 || '_n1', $1 || '_n2')",
		l.URL().Schema()).Scan(&schemas); err != nil || schemas != 2 {
		t.Errorf("%d schemas, %v", schemas, err)
	}
}

// pgURL returns the URL of a store on the shared server, which requires no password.
func pgURL(l store.Locator) string { return l.String() }

// TestNewer checks that a store of a newer release, and a schema of another program, are rejected
// and left unchanged.
func TestNewer(t *testing.T) {
	t.Parallel()
	l := at(t, pgtest.URL(t), store.Servers{})
	if err := open(t, l).Close(); err != nil {
		t.Fatal(err)
	}
	c := pgtest.Connect(t, pgURL(l))
	if _, err := c.Exec(t.Context(),
		"INSERT INTO hocket_store (number, name, least) VALUES (9999, 'later', 9999)"); err != nil {
		t.Fatal(err)
	}
	var newer *journal.NewerError
	if _, err := l.Open(t.Context(), store.Config{}); !errors.As(err, &newer) || newer.Found != 9999 {
		t.Errorf("a newer store: %v", err)
	}
	other := at(t, pgtest.URL(t), store.Servers{})
	pgtest.Shared(t).Exec(t, "CREATE SCHEMA "+other.URL().Schema()+" AUTHORIZATION hocket; CREATE TABLE "+
		other.URL().Schema()+".customers (id integer)")
	_, err := other.Open(t.Context(), store.Config{})
	if code, _ := errcode.Of(err); code != errcode.StoreForeign {
		t.Errorf("a schema of another program: %v", err)
	}
}

// TestKey checks that the first use of a key stores its fingerprint, and that from then on no other
// key opens the store, on any machine. Namespaces have their own keys.
func TestKey(t *testing.T) {
	t.Parallel()
	text, dir := pgtest.URL(t), t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name, "hocket.key") }
	with := func(name string) store.Locator { return at(t, text, store.Servers{KeyFile: file(name)}) }
	code := func(err error) errcode.Code { c, _ := errcode.Of(err); return c }
	h := open(t, with("a"))
	if _, err := os.Stat(file("a")); !os.IsNotExist(err) {
		t.Errorf("a key before it is needed: %v", err)
	}

	// Two machines with different keys first use them at the same time: one of them succeeds.
	a, b := open(t, with("a")), open(t, with("b"))
	var wg sync.WaitGroup
	errs := make([]error, 2)
	keys := make([][]byte, 2)
	for i, home := range []*store.Home{a, b} {
		wg.Go(func() { keys[i], errs[i] = home.Key() })
	}
	wg.Wait()
	first, second := 0, 1
	if errs[0] != nil {
		first, second = 1, 0
	}
	if errs[first] != nil || len(keys[first]) != store.KeyBytes || code(errs[second]) != errcode.StoreKeyDiffers &&
		code(errs[second]) != errcode.StoreKeyMissing {
		t.Fatalf("%v, %v", errs[first], errs[second])
	}
	name := []string{"a", "b"}[first]
	if again, err := open(t, with(name)).Key(); err != nil || !bytes.Equal(again, keys[first]) {
		t.Errorf("the key again: %v", err)
	}
	if raw, err := os.ReadFile(file(name)); err != nil || !bytes.Equal(raw, keys[first]) {
		t.Errorf("the key is not that of the file: %v", err)
	}
	if _, err := with("c").Open(t.Context(), store.Config{}); code(err) != errcode.StoreKeyMissing ||
		!strings.Contains(err.Error(), "does not exist") {
		t.Errorf("a file that is missing: %v", err)
	}
	if err := os.MkdirAll(filepath.Dir(file("d")), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file("d"), bytes.Repeat([]byte("d"), store.KeyBytes), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := with("d").Open(t.Context(), store.Config{}); code(err) != errcode.StoreKeyDiffers {
		t.Errorf("another key: %v", err)
	}
	// If no key file is named, the key is read when it is needed.
	if _, err := open(t, at(t, text, store.Servers{Folder: filepath.Dir(file("d"))})).Key(); code(
		err) != errcode.StoreKeyDiffers {
		t.Errorf("another key in the folder: %v", err)
	}
	if _, err := open(t, at(t, text, store.Servers{})).Key(); code(err) != errcode.StoreKeyMissing {
		t.Errorf("no key: %v", err)
	}

	grant(t, h, "newsroom")
	news, err := with(name).Namespace("newsroom")
	if err != nil {
		t.Fatal(err)
	}
	derived, err := open(t, news).Key()
	if err != nil || len(derived) != store.KeyBytes || bytes.Equal(derived, keys[first]) {
		t.Errorf("the key of a namespace: %x, %v", derived, err)
	}
}

// TestThroughPooler checks that sessions connect to the server itself, and everything else through
// the pooler.
func TestThroughPooler(t *testing.T) {
	t.Parallel()
	s := pgtest.Shared(t)
	l := at(t, pgtest.NewPooler(t, s)(pgtest.URL(t))+"&lease_host="+url.QueryEscape(s.Dir), store.Servers{})
	h := open(t, l)
	fill(t, h)
	checkCounts(t, h, 1)
	owners, err := h.Journal.Owners(t.Context())
	if err != nil || len(owners) != 1 {
		t.Errorf("%v, %v", owners, err)
	}
}

// TestOpen_SharedConnections checks that the homes of a process on one database share connections.
func TestOpen_SharedConnections(t *testing.T) {
	t.Parallel()
	l := at(t, pgtest.URL(t)+"&application_name=shared_"+strings.ReplaceAll(t.Name(), "/", "_"),
		store.Servers{Postgres: pghome.New(nil)})
	h := open(t, l)
	var homes []*store.Home
	for _, name := range []string{"a", "b", "c", "d"} {
		grant(t, h, name)
		n, err := l.Namespace(name)
		if err != nil {
			t.Fatal(err)
		}
		homes = append(homes, open(t, n))
	}
	for _, n := range append(homes, h) {
		fill(t, n)
	}
	c := pgtest.Connect(t, pgtest.Shared(t).Superuser(pgtest.Name))
	var connections int
	if err := c.QueryRow(t.Context(), "SELECT count(*) FROM pg_stat_activity WHERE application_name = $1",
		l.URL().Setting("application_name")).Scan(&connections); err != nil || connections > 11 {
		t.Errorf("%d connections, %v", connections, err)
	}
}

// TestPasswordVariable covers PGPASSWORD, and PGPASSFILE in addition to it.
func TestPasswordVariable(t *testing.T) { //nolint:paralleltest // it sets the environment
	s := pgtest.Start(t, pgtest.Config{TCP: true})
	u := *s.TCP(t)
	u.User = url.User(pgtest.User)
	t.Setenv("PGPASSWORD", pgtest.Password)
	h := open(t, at(t, u.String(), store.Servers{}))
	fill(t, h)
	t.Setenv("PGPASSWORD", canary)
	refused(t, at(t, u.String(), store.Servers{}), errcode.StorePassword,
		"the PostgreSQL server at "+u.Host+` rejected the password of user "hocket"; give the password in `+
			`PGPASSWORD, in a password file, or in the URL of the store`)
}
