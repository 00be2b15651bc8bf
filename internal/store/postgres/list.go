package postgres

import (
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/store/tables"
)

// entry is a row of headColumns: a head with its position in the list.
type entry struct {
	key, created, ended, updated, epoch, last, seen                   int64
	run, workflow, name, format, parent, kind, definition, meta, host []byte
	session, ownerKind, place, ownerPlace                             []byte
	status, owner                                                     string
	waiting                                                           int
	pid                                                               int64
	interrupted                                                       bool
	branch, cause, labels, preview, code, message                     []byte
	tokens, calls, cost                                               int64
}

func (e *entry) columns() []any {
	return []any{
		&e.key, &e.run, &e.created, &e.status, &e.waiting, &e.ended, &e.workflow, &e.name, &e.format, &e.parent,
		&e.kind, &e.definition, &e.meta,
		&e.epoch, &e.last, &e.updated, &e.owner, &e.ownerKind, &e.pid, &e.session, &e.host, &e.seen, &e.place,
		&e.ownerPlace, &e.interrupted,
		&e.branch, &e.cause, &e.labels, &e.preview, &e.tokens, &e.calls, &e.cost, &e.code, &e.message,
	}
}

func (e *entry) cursor() journal.Cursor { return journal.Cursor{Created: e.created, Key: e.key} }

// head returns the entry in the form that callers get. The error is *journal.CorruptError.
func (e *entry) head() (journal.Head, error) {
	h := journal.Head{
		Run: string(e.run), Status: journal.Status(e.status), Waiting: e.waiting, Updated: tables.TimeOf(e.updated),
		Ended:   tables.TimeOf(e.ended),
		LastSeq: uint64(e.last), Epoch: uint64(e.epoch), Owner: e.owner, Interrupted: e.interrupted,
		NewRun: journal.NewRun{
			Workflow: string(e.workflow), WorkflowName: string(e.name), Format: string(e.format),
			Parent: string(e.parent), Session: string(e.session),
			Kind: journal.Kind(e.kind), Created: tables.TimeOf(e.created), Definition: hex.EncodeToString(e.definition),
			Place:  string(e.place),
			Branch: string(e.branch), Trigger: string(e.cause), Preview: string(e.preview),
		},
		Outcome: journal.Outcome{Tokens: e.tokens, Calls: e.calls, Cost: journal.Money(e.cost), Code: string(e.code),
			Message: string(e.message)},
	}
	if e.labels != nil {
		if err := json.Unmarshal(e.labels, &h.Labels); err != nil {
			return h, &journal.CorruptError{Run: h.Run, Reason: "labels: " + err.Error()}
		}
	}
	if e.owner != "" {
		h.By = journal.Owner{ID: e.owner, Kind: journal.Kind(e.ownerKind), PID: int(e.pid), Host: string(e.host),
			Seen: tables.TimeOf(e.seen), Place: string(e.ownerPlace)}
	}
	if e.meta != nil {
		if err := json.Unmarshal(e.meta, &h.Meta); err != nil {
			return h, &journal.CorruptError{Run: h.Run, Reason: "meta: " + err.Error()}
		}
	}
	return h, nil
}

// Head implements journal.Lists.
func (s *Store) Head(ctx context.Context, run string) (journal.Head, error) {
	var e entry
	found, err := s.queryRow(ctx, sqlHead, []any{bytesOf(run)}, e.columns())
	if err == nil && !found {
		err = journal.ErrNotFound
	}
	if err != nil {
		return journal.Head{}, fault("look up run", run, err)
	}
	return e.head()
}

// List implements journal.Lists.
func (s *Store) List(ctx context.Context, q journal.Query) ([]journal.Head, string, error) {
	statement, order := s.listStatement, journal.Cursor.NewestFirst
	if q.Selects() {
		statement = s.findStatement
	}
	if len(q.Search) > 0 {
		order = func(a, b journal.Cursor) int { return cmp.Compare(b.Key, a.Key) }
	}
	text, args, err := statement(q)
	if err != nil {
		return nil, "", err
	}
	var e entry
	var found []entry
	err = s.query(ctx, text, args, e.columns(), func() { found = nil }, func() error {
		found = append(found, e)
		return nil
	})
	if err != nil {
		return nil, "", fmt.Errorf("list runs: %w", err)
	}
	slices.SortFunc(found, func(a, b entry) int { return order(a.cursor(), b.cursor()) })
	next := ""
	if n := q.PageSize(); len(found) > n {
		found = found[:n]
		next = found[n-1].cursor().String()
	}
	page := make([]journal.Head, len(found))
	for i := range found {
		if page[i], err = found[i].head(); err != nil {
			return nil, "", fmt.Errorf("list runs: %w", err)
		}
	}
	return page, next, nil
}

// listStatement returns the statement for a page of q. It returns an error for an invalid cursor.
func (s *Store) listStatement(q journal.Query) (sqlText, []any, error) {
	from, upTo := int64(math.MinInt64), journal.Cursor{Created: math.MaxInt64, Key: math.MaxInt64}
	if !q.CreatedFrom.IsZero() {
		from = ceilMicros(q.CreatedFrom)
	}
	if !q.CreatedBefore.IsZero() {
		upTo = journal.Cursor{Created: ceilMicros(q.CreatedBefore), Key: math.MinInt64}
	}
	if q.Cursor != "" {
		last, err := journal.ParseCursor(q.Cursor)
		if err != nil {
			return "", nil, err
		}
		if last.NewestFirst(upTo) > 0 {
			upTo = last
		}
	}
	text, besides := listText(q)
	// The query is planned for these values, because which index reads least depends on how many
	// runs have them.
	return text, append([]any{s.db.planned, from, upTo.Created, upTo.Key, bytesOf(q.Kind), q.Interrupted,
		q.PageSize() + 1}, besides...), nil
}

// listText returns the statement for q that uses the index that reads least, and its arguments from
// $7 on.
func listText(q journal.Query) (sqlText, []any) {
	words := statusWords(&q)
	all := []any{words, bytesOf(q.Workflow), bytesOf(q.Parent), bytesOf(q.Session)}
	switch {
	case q.Prefix != "":
		return sqlListPrefix, append(all, bytesOf(q.Prefix), prefixEnd(q.Prefix))
	case q.Session != "":
		return sqlListSession, all
	case q.Parent != "":
		return sqlListParent, all
	case len(q.Statuses) == 0 && !q.Interrupted && q.Workflow == "" && q.Kind == "":
		return sqlListAll, nil
	}
	return listSome(words), all[:2]
}

// listSome returns the statement that lists runs with some statuses: a stream for each, limited to
// the workflow $8 and to as many rows as a page has. Each stream names its status, so that the
// planner knows how many runs have it. Planning takes longer than the rest, and each stream has its
// part in that.
func listSome(statuses []string) sqlText {
	if len(statuses) == 0 { // no run has one of no statuses, and the statement needs a stream
		statuses = []string{string(journal.StatusPending)}
	}
	streams := make([]string, len(statuses))
	for i, status := range statuses {
		streams[i] = stream + `'` + status + `'` + streamed + `'` + status + `'` + streamEnd
	}
	return sqlText(someStart + strings.Join(streams, " UNION ALL\n") + someEnd)
}

// statusWords returns the statuses that runs matching q may have.
func statusWords(q *journal.Query) []string {
	statuses := q.Statuses
	if len(statuses) == 0 {
		statuses = journal.Statuses()
	}
	if q.Interrupted {
		statuses = slices.DeleteFunc(slices.Clone(statuses), func(s journal.Status) bool { return !s.IsActive() })
	}
	words := []string{}
	for _, s := range slices.Compact(slices.Sorted(slices.Values(statuses))) {
		if s.IsKnown() { // runs have no other status
			words = append(words, string(s))
		}
	}
	return words
}

// prefixEnd returns the smallest bytes greater than everything with the given prefix, or nil if
// there are none.
func prefixEnd(prefix string) []byte {
	b := []byte(prefix)
	for len(b) > 0 && b[len(b)-1] == 0xff {
		b = b[:len(b)-1]
	}
	if len(b) == 0 {
		return nil
	}
	b[len(b)-1]++
	return b
}

// Count implements journal.Lists.
func (s *Store) Count(ctx context.Context, statuses ...journal.Status) (int, error) {
	words := []string{}
	for _, w := range statuses {
		if w.IsKnown() {
			words = append(words, string(w))
		}
	}
	var n int
	if _, err := s.queryRow(ctx, sqlCount, []any{words}, []any{&n}); err != nil {
		return 0, fmt.Errorf("count runs: %w", err)
	}
	return n, nil
}

// Notices implements journal.Notices.
func (s *Store) Notices(ctx context.Context, after uint64, limit int) ([]journal.Notice, error) {
	var id, seq, at int64
	var run, typ []byte
	var found []journal.Notice
	err := s.query(ctx, sqlNotices, []any{int64(min(after, math.MaxInt64)), journal.NoticePage(limit)},
		[]any{&id, &run, &seq, &typ, &at}, func() { found = nil }, func() error {
			found = append(found, journal.Notice{ID: uint64(id), Run: string(run), Seq: uint64(seq), Type: string(typ),
				At: tables.TimeOf(at)})
			return nil
		})
	if err != nil {
		return nil, fmt.Errorf("read notices: %w", err)
	}
	return found, nil
}

// LastNotice implements journal.Notices.
func (s *Store) LastNotice(ctx context.Context) (uint64, error) {
	var n int64
	if _, err := s.queryRow(ctx, sqlLastNotice, nil, []any{&n}); err != nil {
		return 0, fmt.Errorf("read notices: %w", err)
	}
	return uint64(n), nil
}
