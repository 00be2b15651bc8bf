package store

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// KeyBytes is the length of a home's key.
const KeyBytes = 32

// ReadKey reads the key of a home in a file, and makes one, readable by its owner alone, where there is none. Of several processes that make it at once one does.
//
//nolint:gosec,nolintlint // the path is beside the store, which the user names
func ReadKey(path string) ([]byte, error) {
	key, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err = makeKey(path); err == nil {
			key, err = os.ReadFile(path)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("open key: %w", err)
	}
	st, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("open key: %w", err)
	}
	if !IsPrivate(st) {
		return nil, fmt.Errorf("open key: %s has the mode %04o, so other users can read it; run chmod 600 %s", path, st.Mode().Perm(), path)
	}
	if len(key) != KeyBytes {
		return nil, fmt.Errorf("open key: %s has %d bytes, not %d", path, len(key), KeyBytes)
	}
	return key, nil
}

// makeKey makes the file complete or not at all: it is written under another name and linked into place.
//
//nolint:gosec,nolintlint // see ReadKey
func makeKey(path string) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".key-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }()
	_, err = f.Write(newKey())
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Link(f.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// newKey makes a key at random.
func newKey() []byte {
	key := make([]byte, KeyBytes)
	_, _ = rand.Read(key) // it never fails
	return key
}
