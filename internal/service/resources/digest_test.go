package resources

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// The fingerprint of a file of any size that an argument names is computed immediately, and
// distinguishes another file of the same size.
func TestFingerprint_LargeFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "long")
	if err := errors.Join(os.WriteFile(path, []byte("x"), 0o600), os.Truncate(path, 1<<40)); err != nil {
		t.Skipf("the file system has no sparse files: %v", err)
	}
	p := findProgram(filepath.Dir(path), programFile{As: "long", In: filepath.Dir(path), Argument: true})
	if len(p.Digest) != 64 {
		t.Fatalf("%+v, want a fingerprint", p)
	}
	for name, change := range map[string]func() error{
		"content": func() error { return writeAt(path, "y", 0) },
		"time":    func() error { return os.Chtimes(path, time.Time{}, time.Unix(1, 0)) },
		"size":    func() error { return os.Truncate(path, 1<<39) },
	} {
		if err := change(); err != nil {
			t.Fatal(err)
		}
		now := findProgram(filepath.Dir(path), p)
		if now.Digest == p.Digest {
			t.Errorf("%s: the fingerprint is the same", name)
		}
		p = now
	}
}

func writeAt(path, text string, at int64) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteAt([]byte(text), at)
	return errors.Join(err, f.Close())
}
