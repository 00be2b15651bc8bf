package sqlite

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"github.com/hocket-run/hocket/internal/journal"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// migration leads from the previous version to its own. The first one creates all tables of an
// empty file.
type migration struct {
	version int
	name    string
	sql     sqlText
}

// migrations returns this program's migrations, oldest first. The number at the start of a file's
// name is its version.
func migrations() ([]migration, error) {
	names, err := fs.Glob(migrationFiles, "migrations/*.sql")
	if err != nil {
		return nil, err
	}
	steps := make([]migration, len(names))
	for i, name := range names {
		text, err := migrationFiles.ReadFile(name)
		if err != nil {
			return nil, err
		}
		number, _, _ := strings.Cut(path.Base(name), "_")
		v, err := strconv.Atoi(number)
		if err != nil {
			return nil, fmt.Errorf("migration %s: %w", name, err)
		}
		steps[i] = migration{v, path.Base(name), sqlText(text)}
	}
	return steps, nil
}

func newest(steps []migration) int { return steps[len(steps)-1].version }

// schemaVersion returns the version of the file: 0 for an empty one. It rejects a version that
// cannot be migrated.
func schemaVersion(ctx context.Context, c *conn, steps []migration) (int, error) {
	r, err := c.one(ctx, sqlWhose)
	if err != nil {
		return 0, err
	}
	switch app, version, tables := r.int(0), int(r.int(1)), r.int(2); {
	case app != appID && (app != 0 || version != 0 || tables != 0):
		return 0, fmt.Errorf("%w: a database of another program", journal.ErrNotStore)
	case version > newest(steps):
		return 0, &journal.NewerError{What: "store", Have: newest(steps), Found: version}
	case version > 0 && version < steps[0].version:
		return 0, journal.ErrOldStore
	default:
		return version, nil
	}
}

// migrate runs the steps after version have, each in a transaction. If several processes migrate at
// once, the first does it.
func migrate(ctx context.Context, c *conn, steps []migration, have int) error {
	for _, m := range steps {
		if m.version <= have {
			continue
		}
		if _, err := c.exec(sqlImmediate); err != nil {
			return err
		}
		now, err := schemaVersion(ctx, c, steps)
		if err == nil && now < m.version {
			if _, err = c.exec(sqlSetAppID); err == nil {
				err = c.script(m.sql)
			}
		}
		if err == nil {
			_, err = c.exec(sqlCommit)
		}
		if err != nil {
			_, _ = c.exec(sqlRollback)
			return fmt.Errorf("migrate with %s: %w", m.name, err)
		}
	}
	return nil
}
