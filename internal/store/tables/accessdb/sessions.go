package accessdb

import (
	"context"
	"errors"
	"fmt"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/store/tables"
)

// Begin implements access.SessionStore.
func (s *Store) Begin(ctx context.Context, k access.Session, h access.Hash) error {
	err := s.db.Write(ctx, rowBytes, func(tx tables.Tx) error {
		if err := tx.Do(sqlLapsed, tables.Micros(k.Created)); err != nil {
			return err
		}
		if err := tx.Do(sqlBegin, h[:], k.Namespace, k.Token, flag(k.Code), tables.Micros(k.Created),
			tables.Micros(k.Expires)); err != nil {
			return err
		}
		return tx.Do(sqlOldest, k.Namespace, k.Token, k.Namespace, k.Token, int64(access.MaxSessions))
	})
	if err != nil {
		return fmt.Errorf("store session: %w", err)
	}
	return nil
}

// Session implements access.SessionStore.
func (s *Store) Session(ctx context.Context, h access.Hash) (k access.Session, err error) {
	err = s.db.View(ctx, func(tx tables.Tx) error {
		k, err = session(tx, h)
		return err
	})
	return k, ofSession("read session", err)
}

// End implements access.SessionStore.
func (s *Store) End(ctx context.Context, h access.Hash) (k access.Session, err error) {
	err = s.db.Write(ctx, rowBytes, func(tx tables.Tx) error {
		if k, err = session(tx, h); err != nil {
			return err
		}
		return tx.Do(sqlEnd, h[:])
	})
	return k, ofSession("end session", err)
}

func session(tx tables.Tx, h access.Hash) (k access.Session, err error) {
	found := false
	err = tx.Query(sqlSession, func(c []any) error {
		k, found = access.Session{
			Namespace: tables.String(c[0]), Token: tables.String(c[1]), Code: tables.Int(c[2]) == 1,
			Created: tables.Time(c[3]), Expires: tables.Time(c[4]),
		}, true
		return nil
	}, h[:])
	if err == nil && !found {
		err = access.ErrNoSession
	}
	return k, err
}

func ofSession(doing string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, access.ErrNoSession), tables.IsAbsent(err):
		return access.ErrNoSession
	}
	return fmt.Errorf("%s: %w", doing, err)
}
