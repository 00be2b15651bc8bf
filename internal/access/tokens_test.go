package access_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/access/accesstest"
)

func TestMemory(t *testing.T) {
	t.Parallel()
	accesstest.Run(t, func(*testing.T) (accesstest.Both, func() accesstest.Both) {
		m := &access.Memory{Keep: accesstest.Keep}
		return m, func() accesstest.Both { return m }
	})
}

// counted counts recorded uses.
type counted struct {
	access.Store
	touches atomic.Int64
	err     error
}

func (c *counted) Touch(ctx context.Context, namespace, id string, at time.Time) error {
	c.touches.Add(1)
	if c.err != nil {
		return c.err
	}
	return c.Store.Touch(ctx, namespace, id, at)
}

// TestTokens checks that the plaintext is returned once and finds its principal until the token is
// revoked or expires, and that uses are recorded now and then (SEC2).
func TestTokens(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 22, 1, 2, 3, 4567, time.FixedZone("x", 3600))
	store := &counted{Store: &access.Memory{}}
	tokens := access.NewTokens(access.Config{Store: store, Now: func() time.Time { return now }})
	ctx := t.Context()
	text, made, err := tokens.Create(ctx, access.Grant{Name: "ci", Role: access.RoleEdit, Approve: true,
		Namespace: "team-1", Expires: now.Add(time.Hour)})
	if err != nil || len(text) != 46 || !strings.HasPrefix(text, "hk_") || made.ID == "" ||
		!made.Created.Equal(now.Truncate(time.Microsecond)) {
		t.Fatalf("%d characters, %+v, %v", len(text), made, err)
	}
	want := access.Principal{Token: made.ID, Name: "ci", Namespace: "team-1", Role: access.RoleEdit, Approve: true}
	for range 3 {
		if p, err := tokens.Find(ctx, text); err != nil || p != want {
			t.Errorf("%+v, %v", p, err)
		}
	}
	if n := store.touches.Load(); n != 1 {
		t.Errorf("%d writes for 3 uses", n)
	}
	now = now.Add(access.UsedEvery)
	store.err = errors.New("the disk is full")
	if p, err := tokens.Find(ctx, text); err != nil || p != want || store.touches.Load() != 2 {
		t.Errorf("a use that cannot be noted: %+v, %v, %d writes", p, err, store.touches.Load())
	}
	store.err = nil
	for _, other := range []string{"", "hk_", text[:45], text + "A", "HK_" + text[3:], text[:45] + "!",
		strings.ToLower(text), " " + text, strings.Repeat("x", 46)} {
		if p, err := tokens.Find(ctx, other); !errors.Is(err, access.ErrUnknownToken) || p != (access.Principal{}) {
			t.Errorf("%q: %+v, %v", other, p, err)
		}
	}
	now = now.Add(time.Hour - access.UsedEvery)
	if p, err := tokens.Find(ctx, text); !errors.Is(err, access.ErrUnknownToken) || p != (access.Principal{}) {
		t.Errorf("expired: %+v, %v", p, err)
	}
	text, made, err = tokens.Create(ctx, access.Grant{Name: "for ever", Role: access.RoleRun})
	if err != nil || made.Namespace != access.DefaultNamespace || !made.Expires.IsZero() {
		t.Fatalf("%+v, %v", made, err)
	}
	now = now.AddDate(100, 0, 0)
	if _, err := tokens.Find(ctx, text); err != nil {
		t.Error(err)
	}
	if _, err := store.Revoke(ctx, made.Namespace, made.ID); err != nil {
		t.Error(err)
	}
	if _, err := tokens.Find(ctx, text); !errors.Is(err, access.ErrUnknownToken) {
		t.Errorf("revoked: %v", err)
	}
}

// TestTokens_AnyUsable checks that a publicly reachable server needs a valid token (SEC1), and that
// the first token of a fresh install has every permission.
func TestTokens_AnyUsable(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 22, 1, 2, 3, 0, time.UTC)
	store := &access.Memory{}
	tokens := access.NewTokens(access.Config{Store: store, Now: func() time.Time { return now }})
	check := func(what string, want bool) {
		t.Helper()
		if got, err := tokens.Any(t.Context()); err != nil || got != want {
			t.Errorf("%s: %v, %v", what, got, err)
		}
	}
	check("empty", false)
	if _, _, err := tokens.Create(t.Context(), access.Grant{Name: "x", Namespace: "b", Role: access.RoleRun,
		Expires: now.Add(time.Hour)}); err != nil {
		t.Fatal(err)
	}
	check("one of any namespace", true)
	now = now.Add(time.Hour)
	check("expired", false)
	text, err := tokens.First(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	check("first", true)
	p, err := tokens.Find(t.Context(), text)
	if err != nil || p.Role != access.RoleAdmin || !p.Approve || p.Namespace != access.DefaultNamespace {
		t.Errorf("the first one: %+v, %v", p, err)
	}
}

// TestCreateRefuses checks that errors in a request are reported, and that nothing is created
// (SEC16 for names of namespaces).
func TestCreateRefuses(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 22, 1, 2, 3, 0, time.UTC)
	store := &access.Memory{}
	tokens := access.NewTokens(access.Config{Store: store, Now: func() time.Time { return now }})
	good := access.Grant{Name: "x", Namespace: "n", Role: access.RoleRun}
	for name, change := range map[string]func(*access.Grant){
		"no name":      func(g *access.Grant) { g.Name = "" },
		"long name":    func(g *access.Grant) { g.Name = strings.Repeat("x", access.MaxName+1) },
		"control":      func(g *access.Grant) { g.Name = "a\x1b[31m" },
		"no text":      func(g *access.Grant) { g.Name = "\xff" },
		"bidi":         func(g *access.Grant) { g.Name = "a\u202eb" },
		"no role":      func(g *access.Grant) { g.Role = "" },
		"unknown role": func(g *access.Grant) { g.Role = "root" },
		"expired":      func(g *access.Grant) { g.Expires = now },
		"namespace":    func(g *access.Grant) { g.Namespace = "../x" },
	} {
		g := good
		change(&g)
		var invalid *access.InvalidError
		if text, made, err := tokens.Create(t.Context(), g); !errors.As(err, &invalid) || text != "" ||
			made != (access.Token{}) {
			t.Errorf("%s: %q, %+v, %v", name, text, made, err)
		}
	}
	if names, err := store.Namespaces(t.Context()); err != nil || len(names) != 1 {
		t.Errorf("something was made: %v, %v", names, err)
	}
	if _, _, err := tokens.Create(t.Context(), good); err != nil {
		t.Errorf("the good one: %v", err)
	}
}

// TestCheckNamespace checks that names are not paths (SEC16).
func TestCheckNamespace(t *testing.T) {
	t.Parallel()
	for _, good := range []string{"default", "a", "0", "team-1", "a--b-", strings.Repeat("a", 63)} {
		if err := access.CheckNamespace(good); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
	for _, bad := range []string{
		"", "-a", "A", "a.b", ".", "..", "../a", "a/b", "/a", `a\b`, "a b", "ä", "a\x00", "a\n", "%2e%2e", "a:b", "C:",
		"~", "*", "a'", strings.Repeat("a", 64),
	} {
		var invalid *access.InvalidError
		if err := access.CheckNamespace(bad); !errors.As(err, &invalid) {
			t.Errorf("%q is taken: %v", bad, err)
		}
	}
}

// TestMayGrant checks that no token grants what its principal does not have (SEC2, SEC10, SEC12).
func TestMayGrant(t *testing.T) {
	t.Parallel()
	admin := func(namespace string, approve bool) access.Principal {
		return access.Principal{Namespace: namespace, Role: access.RoleAdmin, Approve: approve}
	}
	for name, c := range map[string]struct {
		p    access.Principal
		g    access.Grant
		want bool
	}{
		"own":                   {admin("a", false), access.Grant{Namespace: "a", Role: access.RoleAdmin}, true},
		"own, not named":        {admin("a", false), access.Grant{Role: access.RoleAdmin}, true},
		"other":                 {admin("a", true), access.Grant{Namespace: "b", Role: access.RoleRun}, false},
		"of default":            {admin("a", true), access.Grant{Namespace: "default", Role: access.RoleRun}, false},
		"other, by default's":   {admin("default", false), access.Grant{Namespace: "b", Role: access.RoleAdmin}, true},
		"approve":               {admin("a", true), access.Grant{Approve: true}, true},
		"approve without it":    {admin("a", false), access.Grant{Approve: true}, false},
		"approve, by default's": {admin("default", false), access.Grant{Namespace: "a", Approve: true}, false},
		"no admin": {access.Principal{Namespace: "a", Role: access.RoleEdit, Approve: true},
			access.Grant{Role: access.RoleRun}, false},
		"missing": {access.Principal{}, access.Grant{}, false},
		"no admin, of default's": {access.Principal{Namespace: "default", Role: access.RoleRun},
			access.Grant{Namespace: "b"}, false},
	} {
		err := c.p.MayGrant(c.g)
		if (err == nil) != c.want || err != nil && !errors.Is(err, access.ErrNotGranted) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
