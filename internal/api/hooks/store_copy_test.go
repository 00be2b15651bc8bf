package hooks_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/api/hooks"
	"github.com/hocket-run/hocket/internal/documents/linked"
	"github.com/hocket-run/hocket/internal/pgtest"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/internal/store"
	"github.com/hocket-run/hocket/internal/store/pghome"
	"github.com/hocket-run/hocket/internal/store/storecopy"
)

// TestReplayAfterCopy checks that a delivery that a store has answered starts nothing in a copy of
// the store, whose webhooks keep their secrets: a sender that retries while a store is moved, and
// an attacker who captured a delivery, get the first response (SEC18).
func TestReplayAfterCopy(t *testing.T) {
	t.Parallel()
	file, back, url := onDisk(t), onDisk(t), pgtest.URL(t)
	locate := func(text, keyFile string) store.Locator {
		at, err := store.Parse(text, store.Servers{Postgres: pghome.New(nil), KeyFile: keyFile})
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	keyFile := locate(file, "").KeyFile()
	now := time.Now()
	var (
		std, gh     hooks.Created[hooks.Webhook]
		first, same string
	)
	deliver := func(w *world, id string) string {
		rec := send(w.hooks.Receive(), "POST", hooks.Path("default", std.Of), "hello",
			signed(w.t, std.Secret, id, now, "hello")...)
		return runOf(w.t, rec)
	}
	pushed := func(w *world) string {
		return runOf(w.t, send(w.hooks.Receive(), "POST", hooks.Path("default", gh.Of), "{}",
			github(gh.Secret, "d1", "{}")...))
	}
	t.Run("first", func(t *testing.T) {
		w := newWorld(t, setup{db: file})
		std, gh = w.create(hooks.CreateRequest{}), w.create(hooks.CreateRequest{Mode: hooks.ModeGitHub})
		first, same = deliver(w, "m1"), pushed(w)
	})
	for i, step := range [][2]string{{file, url}, {url, back}} {
		if _, err := storecopy.Copy(t.Context(), locate(step[0], keyFile), locate(step[1], keyFile),
			storecopy.Config{}); err != nil {
			t.Fatal(err)
		}
		t.Run("copy", func(t *testing.T) {
			w := newWorld(t, setup{db: step[1], cfg: service.Config{Documents: linked.Kit(),
				Stores: store.Servers{Postgres: pghome.New(nil), KeyFile: keyFile}}})
			if got := deliver(w, "m1"); got != first {
				t.Errorf("run %s, want that of the first delivery, %s", got, first)
			}
			if got := pushed(w); got != same {
				t.Errorf("run %s, want that of the first push, %s", got, same)
			}
			if n := len(w.runs()); n != 2+i {
				t.Errorf("%d runs", n)
			}
			deliver(w, fmt.Sprint("another", i))
			if n := len(w.runs()); n != 3+i {
				t.Errorf("another delivery: %d runs", n)
			}
		})
	}
}
