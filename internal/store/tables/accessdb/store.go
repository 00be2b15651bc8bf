// Package accessdb stores access tokens, namespaces and the audit log in the store, next to the
// runs.
//
// It does not depend on the database driver: it reads and writes in transactions that the journal's
// store provides. The tables are created by that store's migrations.
//
// Invariants: SQL text is constant (SEC7); every statement names the namespace, except the one that
// finds a token by its hash (SEC10); of a token, only the hash is stored (SEC2).
package accessdb

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/store/tables"
)

// All SQL of access.
const (
	sqlCount      = tables.Text(`SELECT count(*) FROM access_tokens WHERE namespace = ?`)
	sqlNames      = tables.Text(`SELECT name FROM namespaces ORDER BY name`)
	sqlCountNames = tables.Text(
		`SELECT count(*), coalesce(sum(CASE WHEN name = ? THEN 1 ELSE 0 END), 0) FROM namespaces`)
	sqlName = tables.Text(`INSERT INTO namespaces (name, created) VALUES (?, ?)`)
	sqlAdd  = tables.Text(`INSERT INTO access_tokens (hash, namespace, id, name, role, approve, created, ` +
		`expires, used) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`)
	sqlFind = tables.Text(
		`SELECT id, name, namespace, role, approve, created, expires, used FROM access_tokens WHERE hash = ?`)
	sqlOne = tables.Text(`SELECT id, name, namespace, role, approve, created, expires, used FROM ` +
		`access_tokens WHERE namespace = ? AND id = ?`)
	sqlBegin = tables.Text(`INSERT INTO access_sessions (hash, namespace, token, code, created, expires) VALUES ` +
		`(?, ?, ?, ?, ?, ?)`)
	sqlLapsed = tables.Text(`DELETE FROM access_sessions WHERE expires <= ?`)
	sqlOldest = tables.Text(`DELETE FROM access_sessions WHERE namespace = ? AND token = ? AND n NOT IN
		(SELECT n FROM access_sessions WHERE namespace = ? AND token = ? ORDER BY n DESC LIMIT ?)`)
	sqlSession = tables.Text(`SELECT namespace, token, code, created, expires FROM access_sessions WHERE hash = ?`)
	sqlEnd     = tables.Text(`DELETE FROM access_sessions WHERE hash = ?`)
	sqlList    = tables.Text(`SELECT id, name, namespace, role, approve, created, expires, used FROM access_tokens ` +
		`WHERE namespace = ? ORDER BY n`)
	sqlRevoke = tables.Text(`DELETE FROM access_tokens WHERE namespace = ? AND id = ?`)
	sqlTouch  = tables.Text(`UPDATE access_tokens SET used = ? WHERE namespace = ? AND id = ? AND used < ?`)
	sqlLast   = tables.Text(`SELECT coalesce(max(n), 0) FROM audit WHERE namespace = ?`)
	sqlRecord = tables.Text(`INSERT INTO audit (namespace, n, at, token, actor, channel, action, target, outcome, ` +
		`request, remote) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`)
	sqlSettle = tables.Text(`UPDATE audit SET at = ?, token = ?, actor = ?, channel = ?, action = ?, target = ?, ` +
		`outcome = ?, request = ?, remote = ? WHERE namespace = ? AND n = ?`)
	sqlForget  = tables.Text(`DELETE FROM audit WHERE namespace = ? AND n <= ?`)
	sqlRecords = tables.Text(
		`SELECT n, at, namespace, token, actor, channel, action, target, outcome, request, remote FROM audit
		WHERE namespace = ? AND n < ? AND at >= ? ORDER BY n DESC LIMIT ?`)
)

// rowBytes is the approximate size of a row.
const rowBytes = 400

// Store stores tokens and records in a store's tables. It is safe for concurrent use, including by
// several processes.
type Store struct {
	// Keep is the maximum number of records of a namespace; 0 means access.MaxRecords. It must not
	// be changed once the store is in use.
	Keep int

	db tables.DB
}

var (
	_ access.Store = (*Store)(nil)
	_ access.Log   = (*Store)(nil)

	_ access.SessionStore = (*Store)(nil)
)

// New returns a Store in an open store, which it does not close.
func New(db tables.DB) *Store { return &Store{db: db} }

// Add implements access.Store.
func (s *Store) Add(ctx context.Context, t access.Token, h access.Hash) error {
	err := s.db.Write(ctx, rowBytes, func(tx tables.Tx) error {
		tokens, err := number(tx, sqlCount, t.Namespace)
		switch {
		case err != nil:
			return err
		case tokens >= access.MaxTokens:
			return access.ErrFullTokens
		}
		if t.Namespace != access.DefaultNamespace {
			if err := makeNamespace(tx, t.Namespace, t.Created); err != nil {
				return err
			}
		}
		err = tx.Do(sqlAdd, h[:], t.Namespace, t.ID, t.Name, string(t.Role), flag(t.Approve), tables.Micros(t.Created),
			tables.Micros(t.Expires), tables.Micros(t.Used))
		return err
	})
	if err != nil {
		return fmt.Errorf("store token: %w", err)
	}
	return nil
}

// makeNamespace creates a namespace if it does not exist.
func makeNamespace(tx tables.Tx, name string, at time.Time) error {
	var all, same int64
	if err := tx.Query(sqlCountNames, func(c []any) error {
		all, same = tables.Int(c[0]), tables.Int(c[1])
		return nil
	}, name); err != nil || same > 0 {
		return err
	}
	if all+1 >= access.MaxNamespaces {
		return access.ErrFullNamespaces
	}
	err := tx.Do(sqlName, name, tables.Micros(at))
	return err
}

// Find implements access.Store.
func (s *Store) Find(ctx context.Context, h access.Hash) (access.Token, error) {
	found, err := s.tokens(ctx, sqlFind, h[:])
	switch {
	case err != nil:
		return access.Token{}, err
	case len(found) == 0:
		return access.Token{}, access.ErrUnknownToken
	}
	return found[0], nil
}

// Get implements access.Store.
func (s *Store) Get(ctx context.Context, namespace, id string) (access.Token, error) {
	found, err := s.tokens(ctx, sqlOne, namespace, id)
	switch {
	case err != nil:
		return access.Token{}, err
	case len(found) == 0:
		return access.Token{}, access.ErrUnknownToken
	}
	return found[0], nil
}

// List implements access.Store.
func (s *Store) List(ctx context.Context, namespace string) ([]access.Token, error) {
	return s.tokens(ctx, sqlList, namespace)
}

func (s *Store) tokens(ctx context.Context, q tables.Text, args ...any) (out []access.Token, err error) {
	err = s.db.View(ctx, func(tx tables.Tx) error {
		out = nil
		return tx.Query(q, func(c []any) error {
			out = append(out, token(c))
			return nil
		}, args...)
	})
	if err != nil && !tables.IsAbsent(err) {
		return nil, fmt.Errorf("read tokens: %w", err)
	}
	return out, nil
}

// Revoke implements access.Store.
func (s *Store) Revoke(ctx context.Context, namespace, id string) (t access.Token, err error) {
	err = s.db.Write(ctx, rowBytes, func(tx tables.Tx) error {
		found := false
		if err := tx.Query(sqlOne, func(c []any) error {
			t, found = token(c), true
			return nil
		}, namespace, id); err != nil {
			return err
		}
		if !found {
			return access.ErrNone
		}
		err := tx.Do(sqlRevoke, namespace, id)
		return err
	})
	if tables.IsAbsent(err) {
		err = access.ErrNone
	}
	if err != nil {
		return access.Token{}, fmt.Errorf("revoke token: %w", err)
	}
	return t, nil
}

// Touch implements access.Store.
func (s *Store) Touch(ctx context.Context, namespace, id string, at time.Time) error {
	err := s.db.Write(ctx, rowBytes, func(tx tables.Tx) error {
		return tx.Do(sqlTouch, tables.Micros(at), namespace, id, tables.Micros(at))
	})
	if err != nil && !tables.IsAbsent(err) {
		return fmt.Errorf("note use of token: %w", err)
	}
	return nil
}

// Namespaces implements access.Store.
func (s *Store) Namespaces(ctx context.Context) (out []string, err error) {
	err = s.db.View(ctx, func(tx tables.Tx) error {
		out = []string{access.DefaultNamespace}
		return tx.Query(sqlNames, func(c []any) error {
			out = append(out, tables.String(c[0]))
			return nil
		})
	})
	if err != nil {
		return nil, fmt.Errorf("read namespaces: %w", err)
	}
	slices.Sort(out)
	return out, nil
}

// Record implements access.Log.
func (s *Store) Record(ctx context.Context, r access.Record) error {
	_, err := s.record(ctx, r)
	return err
}

// Intend implements access.Log.
func (s *Store) Intend(ctx context.Context, r access.Record) (int64, error) {
	r.ID, r.Outcome = 0, access.OutcomeUnknown
	return s.record(ctx, r)
}

// record appends a record, or replaces the one with r.ID, and returns its ID.
func (s *Store) record(ctx context.Context, r access.Record) (id int64, err error) {
	r = r.Clean()
	size := rowBytes + len(r.Actor) + len(r.Action) + len(r.Target) + len(r.Request) + len(r.Remote)
	err = s.db.Write(ctx, size, func(tx tables.Tx) error {
		if id = r.ID; id != 0 {
			return tx.Do(sqlSettle, tables.Micros(r.At), r.Token, tables.Raw(r.Actor), r.Channel, tables.Raw(r.Action),
				tables.Raw(r.Target), r.Outcome, tables.Raw(r.Request), tables.Raw(r.Remote), r.Namespace, r.ID)
		}
		last, err := number(tx, sqlLast, r.Namespace)
		if err != nil {
			return err
		}
		id = last + 1
		if err := tx.Do(sqlRecord, r.Namespace, id, tables.Micros(r.At), r.Token, tables.Raw(r.Actor), r.Channel,
			tables.Raw(r.Action), tables.Raw(r.Target), r.Outcome, tables.Raw(r.Request),
			tables.Raw(r.Remote)); err != nil {
			return err
		}
		return tx.Do(sqlForget, r.Namespace, id-int64(cmp.Or(s.Keep, access.MaxRecords)))
	})
	if err != nil {
		return 0, fmt.Errorf("write audit log: %w", err)
	}
	return id, nil
}

// Records implements access.Log.
func (s *Store) Records(ctx context.Context, q access.Query) (access.Page, error) {
	before, limit, err := q.Bounds()
	if err != nil {
		return access.Page{}, err
	}
	var found []access.Record
	err = s.db.View(ctx, func(tx tables.Tx) error {
		found = nil
		return tx.Query(sqlRecords, func(c []any) error {
			found = append(found, access.Record{
				ID: tables.Int(c[0]), At: tables.Time(c[1]), Namespace: tables.String(c[2]), Token: tables.String(c[3]),
				Actor: tables.String(c[4]), Channel: tables.String(c[5]), Action: tables.String(c[6]),
				Target: tables.String(c[7]), Outcome: tables.String(c[8]), Request: tables.String(c[9]),
				Remote: tables.String(c[10]),
			})
			return nil
		}, q.Namespace, before, tables.Micros(q.Since), limit+1)
	})
	if err != nil && !tables.IsAbsent(err) {
		return access.Page{}, fmt.Errorf("read audit log: %w", err)
	}
	return access.PageOf(found, limit), nil
}

// token reads a row of access_tokens. An invalid role has no permissions, so a corrupted row grants
// no access.
func token(c []any) access.Token {
	return access.Token{
		ID: tables.String(c[0]), Name: tables.String(c[1]), Namespace: tables.String(c[2]),
		Role: access.Role(tables.String(c[3])), Approve: tables.Int(c[4]) == 1,
		Created: tables.Time(c[5]), Expires: tables.Time(c[6]), Used: tables.Time(c[7]),
	}
}

// number returns the only column of the only row of q.
func number(tx tables.Tx, q tables.Text, args ...any) (n int64, err error) {
	err = tx.Query(q, func(c []any) error {
		n = tables.Int(c[0])
		return nil
	}, args...)
	return n, err
}

func flag(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
