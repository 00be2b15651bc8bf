package catalogdb

import (
	"context"
	"fmt"

	"github.com/hocket-run/hocket/internal/catalog"
	"github.com/hocket-run/hocket/internal/store/tables"
)

// layout returns the layout of an existing workflow; nil means that none is stored.
func layout(tx tables.Tx, id string) (text []byte, err error) {
	if _, err := entry(tx, id); err != nil {
		return nil, err
	}
	err = tx.Query(sqlLayout, func(c []any) error {
		text = tables.Bytes(c[0])
		return nil
	}, id)
	return text, err
}

// Layout implements catalog.Layouts.
func (s *Store) Layout(ctx context.Context, id string) (text []byte, err error) {
	err = s.db.View(ctx, func(tx tables.Tx) (err error) {
		text, err = layout(tx, id)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the layout of workflow %s: %w", id, notFoundError(err))
	}
	return text, nil
}

// PutLayout implements catalog.Layouts.
func (s *Store) PutLayout(ctx context.Context, id string, text []byte, expect string) error {
	err := s.db.Write(ctx, len(text)+rowBytes, func(tx tables.Tx) error {
		now, err := layout(tx, id)
		if err != nil {
			return err
		}
		if err := catalog.Expected(expect, catalog.LayoutTag(now)); err != nil {
			return err
		}
		return tx.Do(sqlSetLayout, id, text)
	})
	if err != nil {
		return fmt.Errorf("store the layout of workflow %s: %w", id, notFoundError(err))
	}
	return nil
}
