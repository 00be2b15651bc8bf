package accesstest

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/access"
)

func sessions(t *testing.T, s Both, again func() Both) {
	ctx := t.Context()
	begin := func(k access.Session, n int) {
		t.Helper()
		if err := s.Begin(ctx, k, hash(n)); err != nil {
			t.Fatal(err)
		}
	}
	is := func(n int, want access.Session) {
		t.Helper()
		if got, err := s.Session(ctx, hash(n)); err != nil || got != want {
			t.Errorf("session %d: %+v, %v, want %+v", n, got, err, want)
		}
	}
	gone := func(n int) {
		t.Helper()
		if got, err := s.Session(ctx, hash(n)); !errors.Is(err, access.ErrNoSession) {
			t.Errorf("session %d: %+v, %v, want none", n, got, err)
		}
	}
	gone(1)
	if _, err := s.End(ctx, hash(1)); !errors.Is(err, access.ErrNoSession) {
		t.Errorf("the end of none: %v", err)
	}
	one := access.Session{Namespace: "default", Token: "t1", Created: at, Expires: at.Add(time.Hour)}
	code := access.Session{Namespace: "b", Token: "t1", Code: true, Created: at, Expires: at.Add(time.Minute)}
	begin(one, 1)
	begin(code, 2)
	s = again()
	is(1, one)
	is(2, code)
	if got, err := s.End(ctx, hash(2)); err != nil || got != code {
		t.Errorf("ended %+v, %v", got, err)
	}
	gone(2)
	if _, err := s.End(ctx, hash(2)); !errors.Is(err, access.ErrNoSession) {
		t.Errorf("the end again: %v", err)
	}
	// Starting a session deletes expired codes, to the microsecond.
	begin(code, 3)
	begin(access.Session{Namespace: "c", Token: "t9", Created: code.Expires.Add(-time.Microsecond),
		Expires: at.Add(time.Hour)}, 4)
	is(3, code)
	begin(access.Session{Namespace: "c", Token: "t9", Created: code.Expires, Expires: at.Add(time.Hour)}, 5)
	gone(3)
	is(1, one)
	// A token has at most MaxSessions sessions; the oldest ends. Those of other tokens and
	// namespaces are kept.
	begin(access.Session{Namespace: "b", Token: "t1", Created: at, Expires: at.Add(time.Hour)}, 6)
	for i := range access.MaxSessions {
		begin(access.Session{Namespace: "default", Token: "t1", Created: at, Expires: at.Add(time.Hour)}, 1000+i)
	}
	gone(1)
	is(1000, one)
	is(6, access.Session{Namespace: "b", Token: "t1", Created: at, Expires: at.Add(time.Hour)})
	begin(one, 7)
	gone(1000)
}

// codesAtOnce checks that a code is handed to only one of several concurrent callers.
func codesAtOnce(t *testing.T, s Both, again func() Both) {
	ctx := t.Context()
	if err := s.Begin(ctx, access.Session{Namespace: "default", Token: "t1", Code: true, Created: at,
		Expires: at.Add(time.Hour)}, hash(1)); err != nil {
		t.Fatal(err)
	}
	var took atomic.Int32
	var all sync.WaitGroup
	for _, store := range []Both{s, again(), s, again()} {
		all.Go(func() {
			switch _, err := store.End(ctx, hash(1)); {
			case err == nil:
				took.Add(1)
			case !errors.Is(err, access.ErrNoSession):
				t.Error(err)
			}
		})
	}
	all.Wait()
	if n := took.Load(); n != 1 {
		t.Errorf("%d callers got the code, want 1", n)
	}
}
