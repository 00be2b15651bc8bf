//go:build unix

package secret_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/secret"
)

// TestFileModes (SEC11) checks that a file that others may read is not read, and that the error
// does not show its contents but says how to fix its mode.
func TestFileModes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, tt := range []struct {
		mode os.FileMode
		ok   bool
	}{{0o600, true}, {0o400, true}, {0o640, false}, {0o604, false}, {0o620, false}, {0o644, false}, {0o777, false}} {
		t.Run(fmt.Sprintf("%04o", tt.mode), func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(dir, fmt.Sprintf("%o", tt.mode))
			if err := os.WriteFile(path, []byte("canary-in-file\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(path, tt.mode); err != nil {
				t.Fatal(err)
			}
			got, err := secret.Resolver{}.Value("file:" + path)
			if (err == nil) != tt.ok || tt.ok && got != "canary-in-file" {
				t.Fatalf("got %q, %v", got, err)
			}
			if err != nil && (!strings.Contains(err.Error(), "chmod 600 "+path) ||
				strings.Contains(err.Error(), "canary")) {
				t.Errorf("error %v", err)
			}
		})
	}
}
