package cli

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/errcode"
	"github.com/hocket-run/hocket/internal/service"
)

// checkServerFlags rejects flags for stores on database servers if the store is not on one.
func (a *app) checkServerFlags(c *cobra.Command) error {
	if isStoreCopy(c) { // it names its stores itself
		return nil
	}
	for _, name := range []string{"key-file", "allow-unsafe-store"} {
		if f := c.Flags().Lookup(name); f == nil || !f.Changed {
			continue
		}
		at, err := a.config().Locator()
		if err != nil {
			return err
		}
		if at.URL() == nil {
			return usageErrorf("--%s is for stores on PostgreSQL; the store is %s", name, quote(at.String()))
		}
	}
	return nil
}

// isServerState reports whether the database server of the store was not usable when the verb
// started: nothing ran.
func isServerState(err error) bool {
	opening, ok := errors.AsType[*service.StoreError](err)
	if !ok {
		return false
	}
	code, _ := errcode.Of(opening.Err)
	return code != ""
}

// openReader opens the service for verbs that only read, without checking that the store exists.
func (a *app) openReader(ctx context.Context) (*service.Service, error) {
	if err := a.selectNamespace(ctx); err != nil { // shell completion has not done this yet
		return nil, err
	}
	return a.openLocal(ctx)
}

// openExisting opens the service for verbs that only read: it is an error if a named store does not
// exist.
func (a *app) openExisting(ctx context.Context) (*service.Service, error) {
	if err := a.requireStore(ctx); err != nil {
		return nil, err
	}
	return a.openReader(ctx)
}

// requireStore returns an error if the store named by --db does not exist. A store named by
// HOCKET_DB or the configuration may be missing: it is empty until something is stored.
func (a *app) requireStore(ctx context.Context) error {
	path := a.db
	if path == "" || a.entered {
		return nil
	}
	at, err := a.config().Locator()
	if err != nil {
		return err
	}
	if view, err := at.Look(ctx); view.Exists || err != nil {
		return nil //nolint:nilerr // opening the store reports it
	}
	hint := "hocket run, workflows apply and serve create a store; hocket doctor shows which one is used"
	if near, err := filepath.Glob(filepath.Join(filepath.Dir(path), "*.db")); err == nil && at.URL() == nil {
		if name := diag.Suggest(path, near); name != "" {
			hint = "did you mean " + quote(name) + "?"
		}
	}
	return usageErrorf("store %s not found; nothing was created\nhint: %s", quote(at.String()), hint)
}
