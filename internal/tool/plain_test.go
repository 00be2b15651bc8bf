package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/tool"
)

// TestPlainPath_Long checks that the work for a path does not grow with the product of its length
// and the number of its elements.
func TestPlainPath_Long(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "a", "b"), 0o755); err != nil {
		t.Fatal(err)
	}
	for link, target := range map[string]string{"l": "a", "dangling": "none"} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Skipf("this system makes no links: %v", err)
		}
	}
	rest := strings.Repeat("/x", 2000)
	for name, want := range map[string]string{
		"": "", "a": "a", "l": "a", "l/b": "a/b", "l/c": "a/c", "l/b" + rest: "a/b" + rest, "a/b" + rest: "a/b" + rest,
		"none" + rest: "none" + rest, "dangling": "dangling", "dangling/x": "dangling/x",
	} {
		abs := filepath.Join(dir, filepath.FromSlash(name))
		if got := tool.Plain(abs); got != filepath.Join(dir, filepath.FromSlash(want)) {
			t.Errorf("%.20q leads to %.200q", name, got)
		}
	}
	for _, relative := range []string{"none", "none/x"} {
		if got := tool.Plain(relative); got != filepath.FromSlash(relative) {
			t.Errorf("%q leads to %q", relative, got)
		}
	}
	if got := tool.Plain(string(filepath.Separator)); got != filepath.VolumeName(got)+string(filepath.Separator) {
		t.Errorf("the root leads to %q", got)
	}
}

// TestPlainPath_Allocations is not parallel, because it counts allocations.
func TestPlainPath_Allocations(t *testing.T) {
	abs := filepath.Join(t.TempDir(), strings.Repeat("/x", 2000))
	if n := testing.AllocsPerRun(2, func() { tool.Plain(abs) }); n > 2000 {
		t.Errorf("a path of 2000 elements takes %.0f allocations", n)
	}
}

// TestGuess_ContextDone checks that long-running work ends with the call.
func TestGuess_ContextDone(t *testing.T) {
	t.Parallel()
	why := errors.New("that is enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	if _, err := tool.Guess(ctx, t.TempDir(), "", json.RawMessage(`{"path": "a"}`)); !errors.Is(err, why) {
		t.Errorf("got %v", err)
	}
}
