package sqlite

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/journal"
)

// TestLockWait checks that a wait is reported after two seconds and then every five, and ends at
// its limit, and that a caller that arrives soon after that does not wait again, but a later one
// does.
func TestLockWait(t *testing.T) {
	t.Parallel()
	var (
		now  = time.Unix(1000, 0)
		told []string
	)
	p := newPatience(Config{LockTimeout: 12 * time.Second, Locked: func(w journal.LockWait) {
		told = append(told, fmt.Sprint(w.For, w.Over))
	}}, func() string { return "x" })
	p.now = func() time.Time { return now }
	wait := func(d time.Duration) error {
		var err error
		for end := now.Add(d); now.Before(end) && err == nil; now = now.Add(100 * time.Millisecond) {
			err = p.busy()
		}
		return err
	}
	check := func(what, want string) {
		t.Helper()
		if got := strings.Join(told, " "); got != want {
			t.Errorf("%s: told %q, want %q", what, got, want)
		}
		told = nil
	}
	if err := wait(11 * time.Second); err != nil {
		t.Fatal(err)
	}
	check("before the limit", "2s false 7s false")
	locked, ok := errors.AsType[*journal.LockedError](wait(2 * time.Second))
	if !ok || locked.Holder != "x" || locked.For != 12*time.Second {
		t.Fatalf("at the limit: %v", locked)
	}
	check("at the limit", "12s true")
	now = now.Add(sameWait / 2)
	if err := p.busy(); err == nil {
		t.Error("a caller that comes soon after waits again")
	}
	now = now.Add(2 * sameWait)
	told = nil
	if err := wait(time.Second); err != nil {
		t.Errorf("a caller that comes later: %v", err)
	}
	p.free()
	if err := wait(11 * time.Second); err != nil {
		t.Errorf("after the lock was free: %v", err)
	}
	check("after the lock was free", "2s false 7s false")
}
