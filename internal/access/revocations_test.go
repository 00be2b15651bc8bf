package access_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/access"
)

// TestRevocations checks that what a token holds open is cancelled when the token is revoked here,
// when another process revoked it, and when it has expired, and that what other tokens hold is not
// (SEC1).
func TestRevocations(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	store := &access.Memory{}
	tokens := access.NewTokens(access.Config{Store: store, Now: func() time.Time { return now }})
	grants := map[string]access.Grant{
		"here":      {Namespace: "a", Role: access.RoleRun},
		"elsewhere": {Namespace: "a", Role: access.RoleRun},
		"expired":   {Namespace: "b", Role: access.RoleRun, Expires: now.Add(time.Hour)},
		"other":     {Namespace: "b", Role: access.RoleRun, Expires: now.Add(2 * time.Hour)},
	}
	var r access.Revocations
	var told []string
	names := map[[2]string]string{}
	r.On(func(namespace, token string) { told = append(told, names[[2]string{namespace, token}]) })
	open := map[string][]context.Context{}
	made := map[string]access.Token{}
	for name, g := range grants {
		g.Name = name
		text, one, err := tokens.Create(t.Context(), g)
		if err != nil {
			t.Fatal(err)
		}
		p, err := tokens.Find(t.Context(), text)
		if err != nil {
			t.Fatal(err)
		}
		made[name], names[[2]string{one.Namespace, one.ID}] = one, name
		for range 2 {
			ctx, leave := r.Join(t.Context(), p)
			defer leave()
			open[name] = append(open[name], ctx)
		}
		over, leave := r.Join(t.Context(), p)
		leave()
		if !errors.Is(context.Cause(over), context.Canceled) {
			t.Errorf("%s left: %v", name, context.Cause(over))
		}
	}
	check := func(cut ...string) {
		t.Helper()
		for name, all := range open {
			for _, ctx := range all {
				if isCut := errors.Is(context.Cause(ctx), access.ErrRevoked); isCut != slices.Contains(cut, name) {
					t.Errorf("%s is cut: %t", name, isCut)
				}
			}
		}
		if slices.Sort(told); !slices.Equal(told, cut) {
			t.Errorf("notified of %v, want %v", told, cut)
		}
	}
	sweep := func(at time.Time) {
		t.Helper()
		if err := r.Sweep(t.Context(), store, at); err != nil {
			t.Fatal(err)
		}
	}
	sweep(now)
	check()
	r.Revoke("b", made["here"].ID) // no such token in b
	told = nil
	check()
	r.Revoke("a", made["here"].ID)
	check("here")
	if _, err := store.Revoke(t.Context(), "a", made["elsewhere"].ID); err != nil {
		t.Fatal(err)
	}
	check("here")
	sweep(now)
	sweep(now)
	check("elsewhere", "here")
	sweep(now.Add(time.Hour))
	check("elsewhere", "expired", "here")
}

// TestRevocations_CallbackOrder checks that what is dropped before the contexts end is gone when
// they are done.
func TestRevocations_CallbackOrder(t *testing.T) {
	t.Parallel()
	var r access.Revocations
	ctx, leave := r.Join(t.Context(), access.Principal{Namespace: "a", Token: "1"})
	defer leave()
	var done, after bool
	r.Before(func(string, string) { done = ctx.Err() != nil })
	r.On(func(string, string) { after = ctx.Err() != nil })
	r.Revoke("a", "1")
	if done || !after {
		t.Errorf("the context was done before: %v, after: %v", done, after)
	}
}
