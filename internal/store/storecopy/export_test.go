package storecopy

import (
	"context"
	"fmt"
	"slices"

	"github.com/hocket-run/hocket/internal/store/tables"
)

// Columns returns the columns of a table that are copied, or the reason why it is not copied.
func Columns(name string) (columns []string, reason string) {
	for _, t := range list {
		if t.name == name {
			columns = t.into().Columns
		}
	}
	switch name {
	case "records":
		columns = intoRecords.Columns
	case "heads":
		columns = intoHeads.Columns
	}
	return columns, notCopied[name]
}

// IsLocal reports whether a column belongs to one store only.
func IsLocal(table, column string) bool { return slices.Contains(notCopiedColumns[table], column) }

// WithFault returns a configuration whose copy writes small pieces, and calls fault before and
// after each commit.
func WithFault(cfg Config, fault func() error) Config {
	cfg.fault, cfg.piece = fault, 2000
	return cfg
}

// DropNothing runs the statements that delete rows, with keys that no row has.
func DropNothing(ctx context.Context, db tables.DB) error {
	for _, t := range list {
		err := db.Write(ctx, 0, func(tx tables.Tx) error {
			key := t.minKey()
			for i := range key {
				if key[i] == any(int64(-1<<63)) {
					key[i] = int64(-1)
				}
			}
			return t.dropRow(tx, key)
		})
		if err != nil {
			return fmt.Errorf("%s: %w", t.name, err)
		}
	}
	return nil
}
