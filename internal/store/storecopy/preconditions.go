package storecopy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/errcode"
	"github.com/hocket-run/hocket/internal/store"
	"github.com/hocket-run/hocket/internal/store/tables"
)

// refuseLocators rejects stores that cannot be copied, before anything is opened.
func (j *job) refuseLocators(ctx context.Context) error {
	for _, s := range []*side{j.from, j.to} {
		switch name, isNamespace := s.at.OfNamespace(); {
		case s.at.IsMemory():
			return errcode.New(errcode.StoreCopyPlace,
				errcode.Fields{"store": s.String(), "problem": "it is in memory"}, nil)
		case isNamespace:
			return errcode.New(errcode.StoreCopyPlace, errcode.Fields{"store": s.String(),
				"problem": "it is the store of namespace " + name + " alone; name the store that it belongs to"}, nil)
		}
	}
	if j.from.String() == j.to.String() || isSameFile(j.from.at, j.to.at) {
		return errcode.New(errcode.StoreCopySame, errcode.Fields{"store": j.from.String()}, nil)
	}
	view, err := j.from.look(ctx)
	if err == nil && !view.Exists {
		err = errcode.New(errcode.StoreCopyMissing, errcode.Fields{"store": j.from.String()}, nil)
	}
	if err == nil {
		_, err = j.to.look(ctx)
	}
	return err
}

// look returns what is there. It returns an error if no store can be there.
func (s *side) look(ctx context.Context) (store.View, error) {
	view, err := s.at.Look(ctx)
	if code, _ := errcode.Of(err); err != nil && code != "" {
		return view, err
	}
	if err == nil && !view.Exists {
		err = view.CanCreate
	}
	if err != nil {
		return view, errcode.New(errcode.StoreCopyPlace, errcode.Fields{"store": s.String(), "problem": err.Error()},
			err)
	}
	return view, nil
}

func isSameFile(a, b store.Locator) bool {
	if a.URL() != nil || b.URL() != nil {
		return false
	}
	x, xerr := os.Stat(a.String())
	y, yerr := os.Stat(b.String())
	return xerr == nil && yerr == nil && os.SameFile(x, y)
}

// sqlIdentity returns a value that is unique among the schemas of all servers.
const sqlIdentity tables.Text = `SELECT pg_postmaster_start_time()::text || ' ' || (SELECT oid FROM pg_database ` +
	`WHERE datname = current_database())::text || ' ' || current_schema()`

// refuseSame rejects a copy from a schema to itself under another name.
func (j *job) refuseSame(ctx context.Context, homes ...*store.Home) error {
	var identity [2]string
	for i, h := range homes {
		if h.Locator().URL() == nil {
			return nil
		}
		err := h.Tables.View(ctx, func(tx tables.Tx) error {
			return tx.Query(sqlIdentity, func(c []any) error { identity[i] = tables.String(c[0]); return nil })
		})
		if err != nil {
			return err
		}
	}
	if identity[0] == identity[1] {
		return errcode.New(errcode.StoreCopySame, errcode.Fields{"store": j.from.String()}, nil)
	}
	return nil
}

// inUseError returns the error for a store that a living process uses.
func inUseError(name, who string, canLive bool) error {
	hint := "stop all processes that use it first"
	if canLive {
		hint += ", or copy ended and paused runs alone with --live"
	}
	return errcode.New(errcode.StoreCopyInUse, errcode.Fields{"store": name, "who": who, "repair": hint}, nil)
}

// differsError returns the error for contents that are not equal.
func differsError(what, namespace, problem string) error {
	if namespace != access.DefaultNamespace {
		what += " of namespace " + namespace
	}
	return errcode.New(errcode.StoreCopyDiffers, errcode.Fields{"what": what, "problem": problem}, nil)
}

// The mark of an unfinished copy is a table of the default namespace. Stores check for it when they
// are opened.
const (
	sqlMark   tables.Text = `CREATE TABLE IF NOT EXISTS unfinished_copy (id INTEGER PRIMARY KEY)`
	sqlUnmark tables.Text = `DROP TABLE IF EXISTS unfinished_copy`

	sqlIsMarkedLite tables.Text = `SELECT count(*) FROM sqlite_schema WHERE name = 'unfinished_copy'`
	sqlIsMarked     tables.Text = `SELECT count(*) FROM pg_class WHERE relnamespace = current_schema()::regnamespace ` +
		`AND relname = 'unfinished_copy'`
)

// execute runs a statement in TO.
func (j *job) execute(ctx context.Context, db tables.DB, q tables.Text) error {
	return j.write(ctx, db, access.DefaultNamespace, 0, func(tx tables.Tx) error {
		_, err := tx.Exec(q)
		return err
	})
}

// write runs do in a transaction of TO.
func (j *job) write(ctx context.Context, db tables.DB, namespace string, size int64,
	do func(tx tables.Tx) error) error {
	err := db.Write(ctx, int(min(size, 1<<30)), func(tx tables.Tx) error {
		if err := do(tx); err != nil {
			return err
		}
		return j.cfg.fault()
	})
	if e, ok := errors.AsType[*sideError](err); ok { // the error of reading FROM meanwhile
		return e
	}
	if err != nil {
		return &sideError{j.to.name(namespace), err}
	}
	return j.cfg.fault()
}

func isMarked(ctx context.Context, db tables.DB) (marked bool, err error) {
	err = db.View(ctx, func(tx tables.Tx) error {
		return tx.Query(tx.Dialect().Pick(sqlIsMarkedLite, sqlIsMarked), func(c []any) error {
			marked = tables.Int(c[0]) > 0
			return nil
		})
	})
	return marked, err
}

// checkKeys checks that TO has the key of FROM, or none yet: secrets are sealed and links are
// signed with it, and it is not in the store.
func (j *job) checkKeys(ctx context.Context, from *store.Home) error {
	file := j.from.at.KeyFile()
	key, err := readKey(file)
	if err == nil && key == nil && j.from.at.URL() != nil {
		// The store knows whether it has a key.
		var known int64
		err = from.Tables.View(ctx, func(tx tables.Tx) error {
			return tx.Query(`SELECT count(*) FROM hocket_key`, func(c []any) error {
				known = tables.Int(c[0])
				return nil
			})
		})
		if err == nil && known > 0 {
			_, err = from.Key() // its error describes what is missing
		}
	} else if err == nil && key != nil && j.from.at.URL() != nil {
		_, err = from.Key()
	}
	if err != nil || key == nil {
		return err
	}
	j.key = key
	there, err := readKey(j.to.at.KeyFile())
	if err != nil || there == nil || bytes.Equal(there, key) {
		return err
	}
	return errcode.New(errcode.StoreCopyKey, errcode.Fields{
		"file": j.to.at.KeyFile(), "to": j.to.String(), "from": j.from.String(), "got": store.Fingerprint(there),
		"want": store.Fingerprint(key), "source": file,
	}, nil)
}

// readKey reads an existing key; it returns nil if there is none.
func readKey(file string) ([]byte, error) {
	if file == "" {
		return nil, nil
	}
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	key, err := store.ReadKey(file)
	if err != nil {
		return nil, errcode.New(errcode.StoreKeyMissing, errcode.Fields{"problem": err.Error()}, err)
	}
	return key, nil
}

// makeKeyFile creates the key file of TO if there is none.
func (j *job) makeKeyFile() error {
	file := j.to.at.KeyFile()
	if j.key == nil || file == "" {
		return nil
	}
	if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	err := os.MkdirAll(filepath.Dir(file), 0o700)
	if err == nil {
		err = store.WriteKey(file, j.key)
	}
	if err != nil {
		return errcode.New(errcode.StoreKeyMissing,
			errcode.Fields{"problem": fmt.Sprintf("%s cannot be written: %v", file, err)}, err)
	}
	j.res.KeyFile = file
	return nil
}
