package store

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/hocket-run/hocket/internal/access"
)

// KeyBytes is the length of a home's key.
const KeyBytes = 32

// ReadKey reads the key of a home from a file, and creates one, readable by its owner only, if
// there is none. If several processes do so at once, only one of them creates it.
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
		return nil, fmt.Errorf("open key: %s has the mode %04o, so other users can read it; run chmod 600 %s", path,
			st.Mode().Perm(), path)
	}
	if len(key) != KeyBytes {
		return nil, fmt.Errorf("open key: %s has %d bytes, not %d", path, len(key), KeyBytes)
	}
	return key, nil
}

// readKey returns the key of the home in a file.
func (l Locator) readKey() ([]byte, error) {
	key, err := ReadKey(l.KeyFile())
	if err != nil {
		return nil, err
	}
	if _, name, ok := parseNamespacePath(l.text); ok {
		key = DeriveKey(key, name)
	}
	return key, nil
}

// DeriveKey returns the key of a namespace, so that signatures of one namespace are invalid in
// another. The key of the default namespace is key itself.
func DeriveKey(key []byte, namespace string) []byte {
	if namespace == access.DefaultNamespace {
		return key
	}
	h := hmac.New(sha256.New, key)
	h.Write([]byte("hocket key of namespace\x00" + namespace))
	return h.Sum(nil)
}

// Fingerprint returns 16 hexadecimal digits that distinguish keys and reveal nothing about them.
func Fingerprint(key []byte) string {
	sum := sha256.Sum256(append([]byte("hocket key fingerprint\x00"), key...))
	return hex.EncodeToString(sum[:8])
}

// makeKey creates the file with a random key.
func makeKey(path string) error { return WriteKey(path, newKey()) }

// WriteKey creates the file of a key atomically: it is written under another name and linked into
// place. An existing file is left unchanged.
//
//nolint:gosec,nolintlint // see ReadKey
func WriteKey(path string, key []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".key-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }()
	_, err = f.Write(key)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Link(f.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// newKey returns a random key.
func newKey() []byte {
	key := make([]byte, KeyBytes)
	_, _ = rand.Read(key) // it never fails
	return key
}
