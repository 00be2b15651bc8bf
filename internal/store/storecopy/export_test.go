package storecopy

import "slices"

// Columns gives the columns of a table that are copied, or why it is not copied.
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

// IsLocal tells whether a column belongs to one store alone.
func IsLocal(table, column string) bool { return slices.Contains(notCopiedColumns[table], column) }

// WithFault gives a configuration whose copy writes small pieces, and asks fault before and after each commit.
func WithFault(cfg Config, fault func() error) Config {
	cfg.fault, cfg.piece = fault, 2000
	return cfg
}
