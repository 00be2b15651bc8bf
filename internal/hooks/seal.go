package hooks

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// keyBytes is the length of a namespace's key.
const keyBytes = 32

// KeyPath is the file of the key of a store: beside it, so that a copy of the store alone opens no secret and signs no link (SEC11).
func KeyPath(store string) string { return strings.TrimSuffix(store, ".db") + ".key" }

// Vault seals secrets and signs links with the key of one store. Safe for concurrent use.
type Vault struct {
	seal cipher.AEAD
	link []byte
}

// NewVault makes a Vault of a key of its own, for a store that keeps nothing.
func NewVault() *Vault {
	key := make([]byte, keyBytes)
	_, _ = rand.Read(key) // it never fails
	v, err := vaultOf(key)
	if err != nil {
		panic(err) // the length is right
	}
	return v
}

// OpenVault reads the key in a file, and makes one, readable by its owner alone, where there is none. Of several processes that make it at once one does.
//
// Errors: a key that others can read; one of another length.
//
//nolint:gosec,nolintlint // the path is beside the store, which the user names
func OpenVault(path string) (*Vault, error) {
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
	if mode := st.Mode().Perm(); runtime.GOOS != "windows" && mode&0o077 != 0 {
		return nil, fmt.Errorf("open key: %s has the mode %04o, so other users can read it; run chmod 600 %s", path, mode, path)
	}
	if len(key) != keyBytes {
		return nil, fmt.Errorf("open key: %s has %d bytes, not %d", path, len(key), keyBytes)
	}
	return vaultOf(key)
}

// makeKey makes the file complete or not at all: it is written under another name and linked into place.
//
//nolint:gosec,nolintlint // see OpenVault
func makeKey(path string) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".key-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }()
	key := make([]byte, keyBytes)
	_, _ = rand.Read(key) // it never fails
	_, err = f.Write(key)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Link(f.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

func vaultOf(key []byte) (*Vault, error) {
	sealing, err := hkdf.Key(sha256.New, key, nil, "hocket hooks seal", keyBytes)
	if err != nil {
		return nil, err
	}
	link, err := hkdf.Key(sha256.New, key, nil, "hocket hooks approve links", keyBytes)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(sealing)
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, err
	}
	return &Vault{aead, link}, nil
}

// Seal encrypts a secret of whatever has this id.
func (v *Vault) Seal(id, text string) []byte {
	return v.seal.Seal(nil, nil, []byte(text), []byte(id)) //nolint:gosec // the cipher makes the nonce itself, at random
}

// Open is the inverse of Seal. The error tells nothing of the secret.
func (v *Vault) Open(id string, sealed []byte) (string, error) {
	text, err := v.seal.Open(nil, nil, sealed, []byte(id))
	if err != nil {
		return "", fmt.Errorf("the secret of %s was sealed with another key; rotate it", id)
	}
	return string(text), nil
}
