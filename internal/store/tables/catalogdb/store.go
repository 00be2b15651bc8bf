package catalogdb

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/hocket-run/hocket/internal/catalog"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/store/tables"
	"github.com/hocket-run/hocket/workflow"
)

// Store is the catalog in a store. It is safe for concurrent use.
type Store struct{ db tables.DB }

var _ catalog.Store = (*Store)(nil)

// New returns the catalog in an open store, which the caller must close.
func New(db tables.DB) *Store { return &Store{db} }

const rowBytes = 200 // approximate size of a row without its texts

// Put implements catalog.Workflows.
func (s *Store) Put(ctx context.Context, puts []catalog.Put, agents []catalog.Row) ([]catalog.Stored, error) {
	size := len(agents) * rowBytes
	for _, p := range puts {
		size += 2*len(p.Text) + rowBytes
	}
	var out []catalog.Stored
	err := s.db.Write(ctx, size, func(tx tables.Tx) error {
		out = out[:0]
		for _, p := range puts {
			st, err := put(tx, p)
			if err != nil {
				return fmt.Errorf("store workflow %s: %w", p.ID, err)
			}
			out = append(out, st)
		}
		return putAgents(tx, agents, false)
	})
	if err != nil {
		return nil, withColumn(err, "")
	}
	return out, nil
}

// document is a row of workflow_documents.
type document struct{ published, draft, latest, updated int64 }

func readDocument(tx tables.Tx, id string) (d document, err error) {
	err = tx.Query(sqlDocument, func(c []any) error {
		d = document{tables.Int(c[0]), tables.Int(c[1]), tables.Int(c[2]), tables.Int(c[3])}
		return nil
	}, id)
	return d, err
}

func (d document) write(tx tables.Tx, id string) error {
	return tx.Do(sqlSetDocument, id, d.published, d.draft, d.latest, d.updated)
}

// versionColumns are the columns of workflow_versions, in the order of sqlNewVersion.
var versionColumns = []string{"workflow_id", "version", "format", "name", "file", "digest", "hash", "created", "text",
	"labels"}

func put(tx tables.Tx, p catalog.Put) (catalog.Stored, error) {
	var st catalog.Stored
	d, err := readDocument(tx, p.ID)
	if err != nil {
		return st, withColumn(err, "workflow_documents.id")
	}
	if err := expected(tx, p.ID, p.Expect); err != nil {
		return st, err
	}
	hash := sha256.Sum256(p.Text)
	says := func(n int) bool {
		is := false
		if err == nil {
			err = tx.Query(sqlIsText, func([]any) error { is = true; return nil }, p.ID, n, p.Format, hash[:])
		}
		return is
	}
	now := catalog.Plan(p.Draft, int(d.published), int(d.draft), int(d.latest), says)
	if err != nil {
		return st, withColumn(err, "workflow_versions.format")
	}
	same := !now.IsNew && int64(now.Published) == d.published && int64(now.Draft) == d.draft
	if now.IsNew {
		err := write(tx, sqlNewVersion, "workflow_versions", versionColumns, p.ID, now.Version, p.Format, p.Name,
			p.File, p.Digest, hash[:], p.At.UnixMicro(), p.Text, labelsText(p.Labels))
		if err != nil {
			return st, err
		}
		d.latest = int64(now.Version)
	}
	if !p.Draft {
		isSo, err := setRows(tx, p.ID, p.Rows, p.Replace)
		if err != nil {
			return st, err
		}
		same = same && isSo
	}
	if !same {
		d.published, d.draft, d.updated = int64(now.Published), int64(now.Draft), p.At.UnixMicro()
		if err := d.write(tx, p.ID); err != nil {
			return st, err
		}
	}
	st.Version, st.Unchanged = now.Version, same
	st.Entry, st.Tag, err = tagged(tx, p.ID)
	return st, err
}

// Publish implements catalog.Workflows.
func (s *Store) Publish(ctx context.Context, p catalog.Publication) (st catalog.Stored, err error) {
	err = s.db.Write(ctx, rowBytes, func(tx tables.Tx) error {
		d, err := readDocument(tx, p.ID)
		if err != nil {
			return err
		}
		isThere := false
		if err := tx.Query(sqlVersion, func([]any) error { isThere = true; return nil }, p.ID, p.Version); err != nil {
			return err
		}
		if !isThere {
			return catalog.ErrNotFound
		}
		if err := expected(tx, p.ID, p.Expect); err != nil {
			return err
		}
		d.published, d.updated = int64(p.Version), p.At.UnixMicro()
		if d.draft == d.published {
			d.draft = 0
		}
		if err := d.write(tx, p.ID); err != nil {
			return err
		}
		if _, err := setRows(tx, p.ID, p.Rows, false); err != nil {
			return err
		}
		st.Version = p.Version
		st.Entry, st.Tag, err = tagged(tx, p.ID)
		return err
	})
	if err != nil {
		return catalog.Stored{}, fmt.Errorf("publish version %d of workflow %s: %w", p.Version, p.ID,
			notFoundError(err))
	}
	return st, nil
}

func readEntry(c []any) catalog.Entry {
	return catalog.Entry{
		ID: tables.String(c[0]), Name: tables.String(c[1]), Format: tables.String(c[2]),
		Published: int(tables.Int(c[3])), Draft: int(tables.Int(c[4])), HasRows: tables.Int(c[5]) != 0,
		Updated: tables.Time(c[6]), Labels: readLabels(c[7]),
	}
}

func entry(tx tables.Tx, id string) (e catalog.Entry, err error) {
	isThere := false
	err = tx.Query(sqlEntry, func(c []any) error {
		e, isThere = readEntry(c), true
		return nil
	}, id)
	if err == nil && !isThere {
		err = catalog.ErrNotFound
	}
	return e, err
}

// expected returns catalog.ErrChanged if the workflow has another tag; "" matches any.
func expected(tx tables.Tx, id, expect string) error {
	if expect == "" {
		return nil
	}
	_, tag, err := tagged(tx, id)
	if errors.Is(err, catalog.ErrNotFound) {
		tag, err = catalog.TagAbsent, nil
	}
	if err != nil {
		return err
	}
	return catalog.Expected(expect, tag)
}

// tagged returns a workflow with its tag. It returns catalog.ErrNotFound if there is none.
func tagged(tx tables.Tx, id string) (e catalog.Entry, tag string, err error) {
	if e, err = entry(tx, id); err != nil {
		return e, "", err
	}
	rows, isThere, err := readRows(tx, id)
	if !isThere {
		return e, catalog.Tag(e, nil), err
	}
	return e, catalog.Tag(e, &rows), err
}

// Entry implements catalog.Workflows.
func (s *Store) Entry(ctx context.Context, id string) (e catalog.Entry, err error) {
	err = s.db.View(ctx, func(tx tables.Tx) (err error) {
		e, err = entry(tx, id)
		return err
	})
	if err != nil {
		return catalog.Entry{}, fmt.Errorf("read workflow %s: %w", id, notFoundError(err))
	}
	return e, nil
}

// Entries implements catalog.Workflows.
func (s *Store) Entries(ctx context.Context) (out []catalog.Entry, err error) {
	err = s.db.Select(ctx, sqlEntries, func() { out = nil }, func(c []any) error {
		out = append(out, readEntry(c))
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list workflows: %w", err)
	}
	return out, nil
}

func readEntries(tx tables.Tx) (out []catalog.Entry, err error) {
	err = tx.Query(sqlEntries, func(c []any) error {
		out = append(out, readEntry(c))
		return nil
	})
	return out, err
}

func readVersion(id string, c []any) catalog.Version {
	return catalog.Version{
		Workflow: id, Number: int(tables.Int(c[0])), Format: tables.String(c[1]), Name: tables.String(c[2]),
		File: tables.String(c[3]), Digest: tables.String(c[4]),
		Created: time.UnixMicro(tables.Int(c[5])).UTC(), Labels: readLabels(c[6]),
	}
}

// labelsText encodes labels for their column: a JSON object, empty for none.
func labelsText(l workflow.Labels) string {
	if len(l) == 0 {
		return ""
	}
	text, _ := json.Marshal(l) // strings always encode
	return string(text)
}

// readLabels is the inverse of labelsText. An invalid value written by another program reads as no
// labels: runs have the labels of the document.
func readLabels(column any) workflow.Labels {
	var l workflow.Labels
	if text := tables.Bytes(column); len(text) == 0 || json.Unmarshal(text, &l) != nil || len(l) == 0 ||
		l.Check() != nil {
		return nil
	}
	return l
}

// Versions implements catalog.Versions.
func (s *Store) Versions(ctx context.Context, id string) (out []catalog.Version, err error) {
	err = s.db.View(ctx, func(tx tables.Tx) error {
		out = nil
		if _, err := entry(tx, id); err != nil {
			return err
		}
		return tx.Query(sqlVersions, func(c []any) error {
			out = append(out, readVersion(id, c))
			return nil
		}, id)
	})
	if err != nil {
		return nil, fmt.Errorf("read workflow %s: %w", id, notFoundError(err))
	}
	return out, nil
}

// Version implements catalog.Versions.
func (s *Store) Version(ctx context.Context, id string, number int) (v catalog.Version, err error) {
	var hash []byte
	isThere := false
	err = s.db.View(ctx, func(tx tables.Tx) error {
		isThere = false
		return tx.Query(sqlVersion, func(c []any) error {
			v, isThere = readVersion(id, c), true
			hash, v.Text = tables.Bytes(c[7]), tables.Bytes(c[8])
			return nil
		}, id, number)
	})
	if err == nil && !isThere {
		err = catalog.ErrNotFound
	}
	if sum := sha256.Sum256(v.Text); err == nil && !bytes.Equal(hash, sum[:]) {
		err = &journal.CorruptError{Reason: "the text differs from the stored digest"}
	}
	if err != nil {
		return catalog.Version{}, fmt.Errorf("read version %d of workflow %s: %w", number, id, notFoundError(err))
	}
	return v, nil
}

// Delete implements catalog.Workflows.
func (s *Store) Delete(ctx context.Context, id, expect string) error {
	err := s.db.Write(ctx, rowBytes, func(tx tables.Tx) error {
		if _, err := entry(tx, id); err != nil {
			return err
		}
		if err := expected(tx, id, expect); err != nil {
			return err
		}
		for _, q := range []tables.Text{sqlForgetDocument, sqlDropLayout, sqlDropVersions, sqlDropEdges, sqlDropNodes,
			sqlDropWorkflow} {
			if err := tx.Do(q, id); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("delete workflow %s: %w", id, notFoundError(err))
	}
	return nil
}
