package definition_test

import (
	"github.com/hocket-run/hocket/internal/service/definition"

	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// SEC17: a file larger than the limit is not read, and the error names the limit, as it does for
// documents. The error for a missing file suggests the intended one.
func TestReadFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, data := range map[string][]byte{"hello.yaml": []byte("a"),
		"large.yaml": bytes.Repeat([]byte{' '}, definition.MaxDocumentBytes+1)} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "folder"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct{ name, file, want string }{
		{"there", "hello.yaml", ""},
		{"a slip", "helo.yaml", ": no such file; did you mean " + filepath.Join(dir, "hello.yaml") + "?"},
		{"nothing like it", "other.json", ": no such file"},
		{"a folder is no file that is meant", "foldr", ": no such file"},
		{"in a folder that is not there", "deep/hello.yaml", ": no such file"},
		{"a folder", "folder", ": it is a folder, not a document"},
		{"too large", "large.yaml", " is larger than the limit of 8388608 bytes (document-too-large)"},
	} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(dir, x.file)
			_, err := definition.ReadFile(path, nil)
			got := ""
			if err != nil {
				got = strings.TrimPrefix(err.Error(), path)
			}
			if got != x.want {
				t.Errorf("ReadFile(%s): %q, want %q", x.file, got, x.want)
			}
		})
	}
}
