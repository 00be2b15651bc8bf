package store_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/api/hooks/hookdata"
	"github.com/hocket-run/hocket/internal/catalog"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/store"
	"github.com/hocket-run/hocket/internal/tool/memory"
)

func open(t *testing.T, locator string) *store.Home {
	t.Helper()
	h, err := store.Open(t.Context(), locator, store.Config{Kind: journal.KindServe})
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

// TestHome checks that one locator opens every part, and that all parts of a file are still there
// when it is reopened.
func TestHome(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "hocket.db")
	at := time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)
	for _, locator := range []string{store.Memory, path} {
		h := open(t, locator)
		ctx := t.Context()
		if h.Journal.Owner().Kind != journal.KindServe || h.IsDurable() != (locator == path) ||
			(h.Sizes() == nil) != (locator != path) || h.Locator().String() != locator {
			t.Errorf("%s: %+v, sizes %v", locator, h.Journal.Owner(), h.Sizes())
		}
		record := journal.Record{First: 1, Last: 1, Data: []byte("x")}
		if err := h.Journal.Append(ctx, journal.Append{Run: "r", Create: &journal.NewRun{Kind: journal.KindServe,
			Created: at}, Record: record, At: at, Status: journal.StatusRunning}); err != nil {
			t.Error(err)
		}
		if _, err := h.Catalog.Put(ctx, []catalog.Put{{ID: "w", Format: "steps", Text: []byte("x"), At: at}},
			nil); err != nil {
			t.Error(err)
		}
		if err := h.Access.Record(ctx, access.Record{Namespace: access.DefaultNamespace, At: at,
			Action: "x"}); err != nil {
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
		if locator == path {
			h = open(t, path)
		}
		_, head := h.Journal.Head(ctx, "r")
		_, entry := h.Catalog.Entry(ctx, "w")
		page, audit := h.Access.Records(ctx, access.Query{Namespace: access.DefaultNamespace})
		hooks, hook := h.Hooks.Webhooks(ctx)
		labels, saved := h.Checkpoints.List(ctx, "r")
		kept, added := h.Memories.All(ctx, "s")
		for _, err := range []error{head, entry, audit, hook, saved, added} {
			if err != nil {
				t.Error(err)
			}
		}
		if len(page.Items) != 1 || len(hooks) != 1 || len(labels) != 1 || len(kept) != 1 {
			t.Errorf("%s: %d records, %d webhooks, %d checkpoints, %d memories", locator, len(page.Items), len(hooks),
				len(labels), len(kept))
		}
	}
}

// TestKey checks that the key is created when it is first requested, for its owner only, and is the
// same from then on; a key that others can read, or of another length, is rejected.
func TestKey(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "hocket.db")
	h, m, other := open(t, path), open(t, store.Memory), open(t, store.Memory)
	file := h.Locator().KeyFile()
	if _, err := os.Stat(file); !os.IsNotExist(err) {
		t.Errorf("a key before it is needed: %v", err)
	}
	same := func(a, b *store.Home) bool {
		t.Helper()
		x, err := a.Key()
		y, err2 := b.Key()
		if err != nil || err2 != nil || len(x) != store.KeyBytes {
			t.Fatal(err, err2, len(x))
		}
		return bytes.Equal(x, y)
	}
	if !same(h, open(t, path)) || !same(m, m) || same(h, m) || same(m, other) {
		t.Error("the keys are not one for each home")
	}
	if st, err := os.Stat(file); err != nil || st.Mode().Perm() != 0o600 && runtime.GOOS != "windows" {
		t.Errorf("%v, %v", st, err)
	}
	if runtime.GOOS != "windows" {
		if err := os.Chmod(file, 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := h.Key(); err == nil || !strings.Contains(err.Error(), "chmod 600") {
			t.Errorf("a key that others can read: %v", err)
		}
	}
	if err := os.Chmod(file, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("short"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Key(); err == nil || !strings.Contains(err.Error(), "5 bytes") {
		t.Errorf("a short key: %v", err)
	}
}
