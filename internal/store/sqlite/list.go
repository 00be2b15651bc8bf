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

// entry is a head with its position in the list.
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
	in, err := pageOf(&q)
	if err != nil {
		return nil, "", err
	}
	var found []entry
	err = s.readers.read(ctx, func(c *conn) (err error) {
		found, err = s.list(ctx, c, q, in)
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

// cursor is the range of a list: from (inclusive), down from upTo (exclusive).
type cursor struct {
	from int64
	upTo journal.Cursor
}

// bounds returns the range of the runs that were created in the time range of q.
func bounds(q *journal.Query) cursor {
	in := cursor{math.MinInt64, journal.Cursor{Created: math.MaxInt64, Key: math.MaxInt64}}
	if !q.CreatedFrom.IsZero() {
		in.from = ceilMicros(q.CreatedFrom)
	}
	if !q.CreatedBefore.IsZero() {
		in.upTo.Created = ceilMicros(q.CreatedBefore) - 1
	}
	return in
}

// pageOf returns the range of the page after the cursor of q. Search results are in the order of
// runs' numbers.
func pageOf(q *journal.Query) (cursor, error) {
	in := bounds(q)
	if q.Cursor == "" {
		return in, nil
	}
	last, err := journal.ParseCursor(q.Cursor)
	switch {
	case err != nil:
	case len(q.Search) > 0:
		in.upTo.Key = last.Key
	case last.NewestFirst(in.upTo) > 0:
		in.upTo = last
	}
	return in, err
}

// statusesOf returns the statuses that runs matching q may have, sorted and without duplicates;
// never nil.
func statusesOf(q *journal.Query) []journal.Status {
	statuses := q.Statuses
	if len(statuses) == 0 {
		statuses = journal.Statuses()
	}
	sorted := slices.Sorted(slices.Values(statuses))
	if q.Interrupted {
		sorted = slices.DeleteFunc(sorted, func(s journal.Status) bool { return !s.IsActive() })
	}
	return slices.Compact(sorted)
}

// list reads one row more than a page from each of the streams that q needs, to know whether there
// is a next page.
func (s *Store) list(ctx context.Context, c *conn, q journal.Query, in cursor) ([]entry, error) {
	alive := map[string]bool{}
	statuses := statusesOf(&q)
	owned, owners := 0, []byte("[]")
	if q.Interrupted {
		var err error
		if owners, err = s.livingOwners(ctx, c, alive); err != nil {
			return nil, err
		}
		owned = 1
	}

	var found []entry
	stream := func(text sqlText, by ...any) error {
		args := append(slices.Clip(by), in.from, in.upTo.Created, in.upTo.Created, in.upTo.Key, string(q.Kind),
			string(q.Kind),
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
		switch {
		case q.Prefix != "":
			err = stream(sqlListPrefix, q.Prefix, q.Prefix+string(utf8.MaxRune), q.Session, q.Session, q.Parent,
				q.Parent, q.Workflow, q.Workflow, string(list))
		case q.Session != "":
			err = stream(sqlListSession, q.Session, q.Parent, q.Parent, q.Workflow, q.Workflow, string(list))
		default:
			err = stream(sqlListParent, q.Parent, q.Workflow, q.Workflow, string(list))
		}
		return found, err
	case q.Workflow == "" && len(q.Statuses) == 0 && !q.Interrupted:
		err := stream(sqlListAll)
		return found, err
	}
	for _, status := range statuses {
		by := [][]any{{string(status)}}
		text := sqlListStatus
		if q.Workflow != "" {
			var err error
			if by, err = triggerPrefixes(ctx, c, q.Workflow, string(status)); err != nil {
				return nil, err
			}
			text = sqlListWorkflow
		}
		for _, key := range by {
			if err := stream(text, key...); err != nil {
				return nil, err
			}
		}
	}
	return found, nil
}

// triggerPrefixes returns the prefixes of runs_tally for a workflow and a status: each with a
// trigger and a format that its runs have. It reads one run for each.
func triggerPrefixes(ctx context.Context, c *conn, workflow, status string) ([][]any, error) {
	all := [][]any{{workflow, status, "", ""}}
	for {
		r, err := c.one(ctx, sqlNextCause, all[len(all)-1]...)
		if err != nil || r == nil {
			return all, err
		}
		all = append(all, []any{workflow, status, r.text(0), r.text(1)})
	}
}

// livingOwners returns the numbers of the living owners of active runs, as JSON.
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

// isAlive reports whether an owner is alive. It checks each owner only once, and keeps the result
// in known.
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
	h.Workflow, h.WorkflowName, h.Format, h.Parent, h.Kind = r.text(6), r.text(7), r.text(8), r.text(9),
		journal.Kind(r.text(10))
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
	h.Outcome = journal.Outcome{Tokens: r.int(29), Calls: r.int(30), Cost: journal.Money(r.int(31)), Code: r.text(32),
		Message: r.text(33)}
	h.Epoch, h.LastSeq, h.Updated = uint64(r.int(13)), uint64(r.int(14)), tables.Time(r[15])
	h.Owner, h.By, h.Session = r.text(17), headOwner(r), r.text(20)
	if !h.Status.IsActive() {
		return e, nil
	}
	ok, err := s.isAlive(h.Owner, alive)
	h.Interrupted = !ok
	return e, err
}
