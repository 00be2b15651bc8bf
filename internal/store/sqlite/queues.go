package sqlite

import (
	"context"
	"errors"
	"fmt"

	"github.com/hocket-run/hocket/internal/journal"
)

// Enter implements journal.Lines. It deletes the positions of owners that died, and this owner's
// position in the queue of a key.
func (s *Store) Enter(ctx context.Context, line journal.Line) (uint64, error) {
	if err := line.Validate(); err != nil {
		return 0, err
	}
	_, dead, err := s.places(ctx, line)
	if err != nil {
		return 0, fmt.Errorf("enter a line: %w", err)
	}
	self, err := s.owners.register(ctx, s.writer)
	if err != nil {
		return 0, fmt.Errorf("enter a line: %w", err)
	}
	var place int64
	err = s.writer.write(ctx, 0, func(c *conn) error {
		for _, id := range dead {
			if _, err := c.exec(sqlLeave, id, int64(line.Kind), line.Name); err != nil {
				return err
			}
		}
		if line.Kind == journal.LineKey {
			if _, err := c.exec(sqlLeaveKey, self, int64(line.Kind), line.Name); err != nil {
				return err
			}
		}
		res, err := c.exec(sqlEnter, int64(line.Kind), line.Name, self)
		if err == nil {
			place, err = res.LastInsertId()
		}
		if err == nil {
			_, err = c.exec(sqlLinesChanged)
		}
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("enter a line: %w", err)
	}
	s.changes.hub.Signal(journal.OfLines())
	return uint64(place), nil
}

// places returns the positions of a queue in order, and separately those of dead owners.
func (s *Store) places(ctx context.Context, line journal.Line) (living, dead []int64, err error) {
	type place struct {
		id    int64
		owner string
	}
	var found []place
	err = s.readers.read(ctx, func(c *conn) error {
		found = nil
		return c.query(ctx, sqlPlaces, func(r row) error {
			found = append(found, place{r.int(0), r.text(1)})
			return nil
		}, int64(line.Kind), line.Name)
	})
	lives := map[string]bool{}
	for _, p := range found {
		alive, known := lives[p.owner]
		if !known {
			var aerr error
			alive, aerr = s.owners.isAlive(p.owner)
			err = errors.Join(err, aerr)
			lives[p.owner] = alive
		}
		if alive {
			living = append(living, p.id)
		} else {
			dead = append(dead, p.id)
		}
	}
	return living, dead, err
}

// Position implements journal.Lines.
func (s *Store) Position(ctx context.Context, line journal.Line, place uint64) (journal.Position, error) {
	living, _, err := s.places(ctx, line)
	if err != nil {
		return journal.Position{}, fmt.Errorf("look at a line: %w", err)
	}
	st := journal.Position{All: len(living)}
	found := place == 0
	for _, id := range living {
		switch {
		case place == 0 || uint64(id) < place: //nolint:gosec,nolintlint // ids of rows are positive
			st.Before++
		case uint64(id) == place: //nolint:gosec,nolintlint // likewise
			found = true
		}
	}
	if !found {
		return journal.Position{}, fmt.Errorf("look at a line: place %d: %w", place, journal.ErrNotFound)
	}
	return st, nil
}

// Leave implements journal.Lines.
func (s *Store) Leave(ctx context.Context, line journal.Line, place uint64) error {
	err := s.writer.write(ctx, 0, func(c *conn) error {
		n, err := c.change(sqlLeave, int64(place), int64(line.Kind),
			line.Name) //nolint:gosec,nolintlint // a number that is none of a place deletes nothing
		if err == nil && n > 0 {
			_, err = c.exec(sqlLinesChanged)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("leave a line: %w", err)
	}
	s.changes.hub.Signal(journal.OfLines())
	return nil
}
