package sqlite

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/hocket-run/hocket/internal/journal"
)

// Lists filtered by indexed properties, and counts. They are driven by the search, else by a label,
// else by all runs in order, down to the end of the page; every other condition is checked for each
// run.
const (
	// Arguments: 1 is the search; 2 and 3 are the key and value of the driving label; 4 to 6 the
	// earliest creation time, and the exclusive upper bound as time and number; 7 the limit; 8 a
	// JSON list of statuses; 9 to 17 the bounds of the ID, workflow, parent, session, kind, format,
	// branch, trigger; 18 the code; 19 to 22 bounds of cost and duration; 23 a JSON list of
	// selectors; 24 and 25 whether runs with a living owner are excluded, and the numbers of these
	// owners.
	isFound = ` r.created >= ?4 AND r.status IN (SELECT value FROM json_each(?8)) AND (?9 = '' OR r.run >= ?9 AND ` +
		`r.run < ?10)
  AND (?11 = '' OR r.workflow = ?11) AND (?12 = '' OR r.parent = ?12) AND (?13 = '' OR r.session = ?13) AND (?14 = ` +
		`'' OR r.kind = ?14)
  AND (?15 = '' OR r.format = ?15) AND (?16 = '' OR r.branch = ?16) AND (?17 = '' OR r.cause = ?17) AND (?18 = '' OR ` +
		`r.code = ?18)
  AND r.cost >= ?19 AND r.cost <= ?20 AND (?21 IS NULL OR r.ended <> 0 AND r.ended - r.created >= ?21) AND (?22 IS ` +
		`NULL OR r.ended <> 0 AND r.ended - r.created <= ?22)
  AND (?23 = '[]' OR NOT EXISTS (SELECT 1 FROM json_each(?23) s WHERE CASE s.value ->> 0
    WHEN 0 THEN NOT EXISTS (SELECT 1 FROM labels l WHERE l.run = r.id AND l.key = s.value ->> 1 AND l.value = ` +
		`s.value ->> 2)
    WHEN 1 THEN EXISTS (SELECT 1 FROM labels l WHERE l.run = r.id AND l.key = s.value ->> 1 AND l.value = s.value ->> 2)
    WHEN 2 THEN NOT EXISTS (SELECT 1 FROM labels l WHERE l.run = r.id AND l.key = s.value ->> 1)
    ELSE EXISTS (SELECT 1 FROM labels l WHERE l.run = r.id AND l.key = s.value ->> 1) END))
  AND (?24 = 0 OR (SELECT h.owner FROM heads h WHERE h.id = r.id) NOT IN (SELECT value FROM json_each(?25)))`

	bySearch = ` FROM words w CROSS JOIN runs r ON r.id = w.rowid`
	byLabel  = ` FROM labels k CROSS JOIN runs r ON r.id = k.run`
	byAll    = ` FROM runs r INDEXED BY runs_created`
	searched = ` WHERE words MATCH ?1 AND w.rowid < ?6 AND r.created <= ?5 AND`
	labelled = ` WHERE k.key = ?2 AND k.value = ?3 AND k.created <= ?5 AND (k.created, k.run) < (?5, ?6) AND`
	inTime   = ` WHERE r.created <= ?5 AND (r.created, r.id) < (?5, ?6) AND`

	sqlFindSearch = sqlText(`SELECT ` + headColumns + ` FROM (SELECT r.id` + bySearch + searched + isFound +
		` ORDER BY w.rowid DESC LIMIT ?7) f CROSS JOIN runs r ON r.id = f.id` + headJoins + `ORDER BY r.id DESC`)
	sqlFindLabel = sqlText(`SELECT ` + headColumns + ` FROM (SELECT r.id` + byLabel + labelled + isFound +
		` ORDER BY k.created DESC, k.run DESC LIMIT ?7) f CROSS JOIN runs r ON r.id = f.id` + headJoins +
		`ORDER BY r.created DESC, r.id DESC`)
	sqlFindAll = sqlText(`SELECT ` + headColumns + ` FROM (SELECT r.id` + byAll + inTime + isFound +
		` ORDER BY r.created DESC, r.id DESC LIMIT ?7) f CROSS JOIN runs r ON r.id = f.id` + headJoins +
		`ORDER BY r.created DESC, r.id DESC`)

	tallied        = `SELECT r.status, r.workflow, r.cause, r.format, count(*)`
	inTallies      = ` GROUP BY 1, 2, 3, 4`
	sqlTallySearch = sqlText(tallied + bySearch + searched + isFound + inTallies)
	sqlTallyLabel  = sqlText(tallied + byLabel + labelled + isFound + inTallies)
	sqlTallyAll    = sqlText(tallied + byAll + inTime + isFound + inTallies)
)

// find is List for queries that filter by indexed properties.
func (s *Store) find(ctx context.Context, q journal.Query) ([]journal.Head, string, error) {
	in, err := pageOf(&q)
	if err != nil {
		return nil, "", err
	}
	var found []entry
	err = s.readers.read(ctx, func(c *conn) error {
		found = nil
		alive := map[string]bool{}
		text, args, err := s.statement(ctx, c, &q, in, alive, finds)
		if err != nil {
			return err
		}
		return c.query(ctx, text, func(r row) error {
			e, err := s.entry(r, alive)
			found = append(found, e)
			return err
		}, args...)
	})
	if err != nil {
		return nil, "", fmt.Errorf("list runs: %w", err)
	}
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

// Counts implements journal.Lists.
func (s *Store) Counts(ctx context.Context, q journal.Query) ([]journal.Tally, error) {
	var all []journal.Tally
	err := s.readers.read(ctx, func(c *conn) error {
		all = nil
		text, args, err := s.statement(ctx, c, &q, bounds(&q), map[string]bool{}, tallies)
		if err != nil {
			return err
		}
		return c.query(ctx, text, func(r row) error {
			all = append(all, journal.Tally{Status: journal.Status(r.text(0)), Workflow: r.text(1), Trigger: r.text(2),
				Format: r.text(3), Runs: int(r.int(4))})
			return nil
		}, args...)
	})
	if err != nil {
		return nil, fmt.Errorf("count runs: %w", err)
	}
	journal.SortTallies(all)
	return all, nil
}

// statements holds the statement for each condition that can drive a query.
type statements struct {
	search, label, all sqlText
	covered            sqlText // replaces all if an index covers the query; "" means none
}

var (
	finds   = statements{search: sqlFindSearch, label: sqlFindLabel, all: sqlFindAll}
	tallies = statements{search: sqlTallySearch, label: sqlTallyLabel, all: sqlTallyAll, covered: sqlTallyCovered}
)

// statement returns the statement for q with its arguments.
func (s *Store) statement(ctx context.Context, c *conn, q *journal.Query, in cursor, alive map[string]bool,
	by statements) (text sqlText, args []any, err error) {
	key, _ := driving(q)
	if by.covered != "" && isCovered(q) {
		args, err = coveredArgs(q, in)
		return by.covered, args, err
	}
	args, err = s.findArgs(ctx, c, q, in, alive)
	switch {
	case len(q.Search) > 0:
		return by.search, args, err
	case key != "":
		return by.label, args, err
	}
	return by.all, args, err
}

// driving returns the first label that runs must have with a specific value; "" means none.
func driving(q *journal.Query) (key, value string) {
	i := slices.IndexFunc(q.Labels, func(s journal.Selector) bool { return s.Op == journal.LabelIs })
	if i < 0 {
		return "", ""
	}
	return q.Labels[i].Key, q.Labels[i].Value
}

// findArgs returns the arguments of isFound and of the driving condition.
func (s *Store) findArgs(ctx context.Context, c *conn, q *journal.Query, in cursor, alive map[string]bool) (
	[]any, error) {
	owned, owners := 0, []byte("[]")
	var err error
	if q.Interrupted {
		if owners, err = s.livingOwners(ctx, c, alive); err != nil {
			return nil, err
		}
		owned = 1
	}
	statuses, err := json.Marshal(statusesOf(q))
	if err != nil {
		return nil, err
	}
	selectors := [][3]any{}
	for _, l := range q.Labels {
		selectors = append(selectors, [3]any{int(l.Op), l.Key, l.Value})
	}
	labels, err := json.Marshal(selectors)
	if err != nil {
		return nil, err
	}
	key, value := driving(q)
	minCost, maxCost := int64(math.MinInt64), int64(math.MaxInt64)
	for bound, is := range map[*int64]*journal.Money{&minCost: q.MinCost, &maxCost: q.MaxCost} {
		if is != nil {
			*bound = int64(*is)
		}
	}
	var minTook, maxTook any
	if q.MinDuration != nil {
		minTook = (*q.MinDuration + time.Microsecond - 1).Microseconds()
	}
	if q.MaxDuration != nil {
		maxTook = q.MaxDuration.Microseconds()
	}
	return []any{
		journal.FTS(q.Search), key, value, in.from, in.upTo.Created, in.upTo.Key, q.PageSize() + 1, string(statuses),
		q.Prefix, q.Prefix + string(utf8.MaxRune),
		q.Workflow, q.Parent, q.Session, string(q.Kind), q.Format, q.Branch, q.Trigger, q.Code, minCost, maxCost,
		minTook, maxTook, string(labels), owned, string(owners),
	}, nil
}
