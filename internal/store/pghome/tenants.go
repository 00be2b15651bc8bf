package pghome

import (
	"context"
	"fmt"
	"strconv"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/store/tables"
)

const sqlTenant tables.Text = `SELECT number FROM namespaces WHERE name = ?`

// schemaOf returns the schema of a namespace by its number, which was assigned with its first
// token.
func schemaOf(base string, number int64) string { return base + "_n" + strconv.FormatInt(number, 10) }

// tenantSchema returns the schema of a namespace. db is the access part of the default one. It
// returns access.ErrNoNamespace if the namespace does not exist.
func tenantSchema(ctx context.Context, db tables.DB, base, name string) (string, error) {
	if err := access.CheckNamespace(name); err != nil || name == access.DefaultNamespace {
		return base, err
	}
	var number int64
	err := db.View(ctx, func(tx tables.Tx) error {
		return tx.Query(sqlTenant, func(c []any) error { number = tables.Int(c[0]); return nil }, name)
	})
	if err == nil && number == 0 {
		err = access.ErrNoNamespace
	}
	if err != nil {
		return "", fmt.Errorf("find the schema of namespace %s: %w", name, err)
	}
	return schemaOf(base, number), nil
}
