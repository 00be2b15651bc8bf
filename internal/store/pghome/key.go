package pghome

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/hocket-run/hocket/internal/errcode"
	"github.com/hocket-run/hocket/internal/store"
	"github.com/hocket-run/hocket/internal/store/tables"
)

const (
	sqlFingerprint    tables.Text = `SELECT fingerprint FROM hocket_key`
	sqlAddFingerprint tables.Text = `INSERT INTO hocket_key (id, fingerprint) VALUES (1, ?)`
)

// keyTimeout limits the query for the fingerprint when the key is needed.
const keyTimeout = 30 * time.Second

// storedFingerprint returns the fingerprint of the store's key; "" means that none is stored yet.
func storedFingerprint(ctx context.Context, db tables.DB) (text string, err error) {
	err = db.View(ctx, func(tx tables.Tx) error {
		text = ""
		return tx.Query(sqlFingerprint, func(c []any) error { text = tables.String(c[0]); return nil })
	})
	return text, err
}

// checkKey compares an explicitly named key file with the store when the store is opened. Its
// errors have a code.
func checkKey(ctx context.Context, db tables.DB, at store.Locator) error {
	file := at.Servers().KeyFile
	if file == "" {
		return nil // the default file is read when the key is needed
	}
	want, err := storedFingerprint(ctx, db)
	if err != nil {
		return err
	}
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) && want == "" {
		return nil // it is created when it is needed
	}
	_, err = matchingKey(file, want)
	return err
}

// matchingKey reads the key file and checks it against the store's fingerprint; it creates one if
// the store has no fingerprint.
func matchingKey(file, want string) ([]byte, error) {
	if file == "" {
		return nil, errcode.New(errcode.StoreKeyMissing, errcode.Fields{"problem": "none is named"}, nil)
	}
	_, err := os.Stat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist) && want != "":
		return nil,
			errcode.New(errcode.StoreKeyMissing, errcode.Fields{
				"problem": file + " does not exist, and the store has a key with the fingerprint " + want,
			}, nil)
	case errors.Is(err, fs.ErrNotExist):
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			return nil, errcode.New(errcode.StoreKeyMissing, errcode.Fields{"problem": err.Error()}, nil)
		}
	}
	key, err := store.ReadKey(file)
	if err != nil {
		return nil, errcode.New(errcode.StoreKeyMissing, errcode.Fields{"problem": err.Error()}, err)
	}
	if got := store.Fingerprint(key); want != "" && got != want {
		return nil, errcode.New(errcode.StoreKeyDiffers, errcode.Fields{"file": file, "got": got, "want": want}, nil)
	}
	return key, nil
}

// keyOf returns the key of the namespace of a locator. The first use of a key stores its
// fingerprint; if several processes have different keys, one succeeds and the others get an error.
// db is the store of the default namespace.
func keyOf(ctx context.Context, db tables.DB, at store.Locator) ([]byte, error) {
	want, err := storedFingerprint(ctx, db)
	if err != nil {
		return nil, fmt.Errorf("open key: %w", err)
	}
	key, err := matchingKey(at.KeyFile(), want)
	if err != nil {
		return nil, err
	}
	if want == "" {
		err := db.Write(ctx, 32, func(tx tables.Tx) error {
			want = ""
			if err := tx.Query(sqlFingerprint, func(c []any) error {
				want = tables.String(c[0])
				return nil
			}); err != nil || want != "" {
				return err
			}
			_, err := tx.Exec(sqlAddFingerprint, store.Fingerprint(key))
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("open key: %w", err)
		}
		if want != "" { // another process was faster
			if key, err = matchingKey(at.KeyFile(), want); err != nil {
				return nil, err
			}
		}
	}
	return store.DeriveKey(key, at.Tenant()), nil
}
