package sqlite

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"unicode/utf8"

	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/store/tables"
)

// entry is a head with its place in the list.
type entry struct {
	journal.Head
	journal.Cursor
}

// Head implements journal.Lists.
func (s *Store) Head(ctx context.Context, run string) (journal.Head, error) {
	var h journal.Head
	err := s.readers.read(ctx, func(c *conn) error {
		r, err := c.one(ctx, sqlHead, run)
		if err != nil {
			return err
		}
		if r == nil {
			return journal.ErrNotFound
		}
		e, err := s.entry(r, map[string]bool{})
		h = e.Head
		return err
	})
	if err != nil {
		return journal.Head{}, fault("look up run", run, err)
	}
	return h, nil
}

// List implements journal.Lists.
func (s *Store) List(ctx context.Context, q journal.Query) ([]journal.Head, string, error) {
	if q.Selects() {
		return s.find(ctx, q)
	}
	from := cursor{from: math.MinInt64, upTo: journal.Cursor{Created: math.MaxInt64, Key: math.MaxInt64}}
	if !q.CreatedFrom.IsZero() {
		from.from = ceilMicros(q.CreatedFrom)
	}
	if !q.CreatedBefore.IsZero() {
		from.upTo = journal.Cursor{Created: ceilMicros(q.CreatedBefore), Key: math.MinInt64}
	}
	if q.Cursor != "" {
		last, err := journal.ParseCursor(q.Cursor)
		if err != nil {
			return nil, "", err
		}
		if last.NewestFirst(from.upTo) > 0 {
			from.upTo = last
		}
	}
	var found []entry
	err := s.readers.read(ctx, func(c *conn) (err error) {
		found, err = s.list(ctx, c, q, from)
		return err
	})
	if err != nil {
		return nil, "", fmt.Errorf("list runs: %w", err)
	}
	slices.SortFunc(found, func(a, b entry) int { return a.NewestFirst(b.Cursor) })
	next := ""
	if n := q.PageSize(); len(found) > n {
		found = found[:n]
		next = found[n-1].String()
	}
	page := make([]journal.Head, len(found))
	for i, e := range found {
		page[i] = e.Head
	}
	return page, next, nil
}

// cursor bounds a list: from, included, down from upTo, not included.
type cursor struct {
	from int64
	upTo journal.Cursor
}

// list reads from each of the streams that q needs as much as a page can take, and one more to know whether there is a next page.
func (s *Store) list(ctx context.Context, c *conn, q journal.Query, from cursor) ([]entry, error) {
	alive := map[string]bool{}
	statuses := q.Statuses
	if len(statuses) == 0 {
		statuses = journal.Statuses()
	}
	owned, owners := 0, []byte("[]")
	if q.Interrupted {
		statuses = slices.DeleteFunc(slices.Clone(statuses), func(s journal.Status) bool { return !s.IsActive() })
		var err error
		if owners, err = s.livingOwners(ctx, c, alive); err != nil {
			return nil, err
		}
		owned = 1
	}
	statuses = slices.Compact(slices.Sorted(slices.Values(statuses)))

	var found []entry
	stream := func(text sqlText, by ...any) error {
		args := append(slices.Clip(by), from.from, from.upTo.Created, from.upTo.Created, from.upTo.Key, string(q.Kind), string(q.Kind),
			owned, string(owners), q.PageSize()+1)
		return c.query(ctx, text, func(r row) error {
			e, err := s.entry(r, alive)
			found = append(found, e)
			return err
		}, args...)
	}
	switch {
	case q.Parent != "", q.Session != "", q.Prefix != "":
		list, err := json.Marshal(statuses)
		if err != nil {
			return nil, err
		}
		if q.Prefix != "" {
			return found, stream(sqlListPrefix, q.Prefix, q.Prefix+string(utf8.MaxRune), q.Session, q.Session, q.Parent, q.Parent, q.Workflow, q.Workflow, string(list))
		}
		if q.Session != "" {
			return found, stream(sqlListSession, q.Session, q.Parent, q.Parent, q.Workflow, q.Workflow, string(list))
		}
		return found, stream(sqlListParent, q.Parent, q.Workflow, q.Workflow, string(list))
	case q.Workflow == "" && len(q.Statuses) == 0 && !q.Interrupted:
		err := stream(sqlListAll)
		return found, err
	}
	for _, status := range statuses {
		var err error
		if q.Workflow != "" {
			err = stream(sqlListWorkflow, q.Workflow, string(status))
		} else {
			err = stream(sqlListStatus, string(status))
		}
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}

// livingOwners gives the numbers of the living owners of active runs, as JSON.
func (s *Store) livingOwners(ctx context.Context, c *conn, alive map[string]bool) ([]byte, error) {
	living := []int64{}
	err := c.query(ctx, sqlActiveOwners, func(r row) error {
		ok, err := s.isAlive(r.text(1), alive)
		if ok {
			living = append(living, r.int(0))
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return json.Marshal(living)
}

// isAlive asks for each owner once.
func (s *Store) isAlive(owner string, known map[string]bool) (bool, error) {
	if owner == "" {
		return false, nil
	}
	if ok, isKnown := known[owner]; isKnown {
		return ok, nil
	}
	ok, err := s.owners.isAlive(owner)
	known[owner] = ok
	return ok, err
}

// entry reads a row of headColumns.
func (s *Store) entry(r row, alive map[string]bool) (entry, error) {
	e := entry{Cursor: journal.Cursor{Created: r.int(2), Key: r.int(0)}}
	h := &e.Head
	h.Run = r.text(1)
	h.Created = tables.Time(r[2])
	h.Status, h.Waiting, h.Ended = journal.Status(r.text(3)), int(r.int(4)), tables.Time(r[5])
	h.Workflow, h.WorkflowName, h.Format, h.Parent, h.Kind = r.text(6), r.text(7), r.text(8), r.text(9), journal.Kind(r.text(10))
	h.Place = r.text(23)
	if def := r.bytes(11); def != nil {
		h.Definition = hex.EncodeToString(def)
	}
	if meta := r.text(12); meta != "" {
		if err := json.Unmarshal([]byte(meta), &h.Meta); err != nil {
			return e, &journal.CorruptError{Run: h.Run, Reason: "meta: " + err.Error()}
		}
	}
	h.Branch, h.Trigger, h.Preview = r.text(25), r.text(26), r.text(28)
	if labels := r.text(27); labels != "" {
		if err := json.Unmarshal([]byte(labels), &h.Labels); err != nil {
			return e, &journal.CorruptError{Run: h.Run, Reason: "labels: " + err.Error()}
		}
	}
	h.Outcome = journal.Outcome{Tokens: r.int(29), Calls: r.int(30), Cost: journal.Money(r.int(31)), Code: r.text(32), Message: r.text(33)}
	h.Epoch, h.LastSeq, h.Updated = uint64(r.int(13)), uint64(r.int(14)), tables.Time(r[15])
	h.Owner, h.By, h.Session = r.text(17), headOwner(r), r.text(20)
	if !h.Status.IsActive() {
		return e, nil
	}
	ok, err := s.isAlive(h.Owner, alive)
	h.Interrupted = !ok
	return e, err
}
