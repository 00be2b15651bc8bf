package hooks_test

import (
	"os"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/api/hooks"
)

// TestList_WithoutKey checks that listing webhooks and notifications needs no key, so that it works
// where none can be created, such as on a full disk, and that operations that need a key say so,
// and work once it can be created.
func TestList_WithoutKey(t *testing.T) {
	t.Parallel()
	db := onDisk(t)
	key := strings.TrimSuffix(db, ".db") + ".key"
	if err := os.Mkdir(key, 0o700); err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, setup{db: db})
	look := func() {
		t.Helper()
		if list, err := w.hooks.Webhooks(t.Context(), "default", w.service); err != nil || len(list) != 0 {
			t.Errorf("webhooks: %v, %v", list, err)
		}
		if list, _, err := w.hooks.Notifications(t.Context(), "default", w.service,
			hooks.NotificationQuery{}); err != nil || len(list) != 0 {
			t.Errorf("notifications: %v, %v", list, err)
		}
	}
	look()
	if _, err := w.hooks.Create(t.Context(), "default", w.service, hooks.CreateRequest{Workflow: "gate"}); err == nil ||
		!strings.Contains(err.Error(), "open key") {
		t.Errorf("create: %v, want that the key cannot be used", err)
	}
	look()
	if err := os.Remove(key); err != nil {
		t.Fatal(err)
	}
	if c := w.create(hooks.CreateRequest{}); c.Secret == "" {
		t.Errorf("%+v", c)
	}
}
