package postgres

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/hocket-run/hocket/internal/journal"
)

// Lists filtered by indexed properties, and counts. They are driven by the search, else by a label,
// else by all runs in order; every other condition is checked for each run.
const (
	// Parameters: $1 is the search; $2 and $3 are the key and value of the driving label; $4 to $6
	// the earliest creation time, and the exclusive upper bound as time and number; $7 the limit;
	// $8 the statuses; $9 to $17 the bounds of the ID, workflow, parent, session, kind, format,
	// branch, trigger; $18 the code; $19 to $22 bounds of cost and duration; $23 to $25 the
	// selectors; $26 whether only interrupted runs are requested.
	isFound = ` r.created >= $4 AND r.status = ANY ($8::text[]) AND r.run >= $9 AND ($10::bytea IS NULL OR r.run < $10)
  AND ($11 = ''::bytea OR r.workflow = $11) AND ($12 = ''::bytea OR r.parent = $12) AND ($13 = ''::bytea OR ` +
		`r.session = $13) AND ($14 = ''::bytea OR r.kind = $14)
  AND ($15 = ''::bytea OR r.format = $15) AND ($16 = ''::bytea OR r.branch = $16) AND ($17 = ''::bytea OR r.cause = ` +
		`$17) AND ($18 = ''::bytea OR r.code = $18)
  AND r.cost >= $19 AND r.cost <= $20 AND ($21::bigint IS NULL OR r.ended <> 0 AND r.ended - r.created >= $21) AND ` +
		`($22::bigint IS NULL OR r.ended <> 0 AND r.ended - r.created <= $22)
  AND (cardinality($23::int[]) = 0 OR NOT EXISTS (SELECT FROM unnest($23::int[], $24::text[], $25::text[]) s(op, ` +
		`key, value) WHERE CASE s.op
    WHEN 0 THEN NOT EXISTS (SELECT FROM @labels l WHERE l.run = r.id AND l.key = s.key AND l.value = s.value)
    WHEN 1 THEN EXISTS (SELECT FROM @labels l WHERE l.run = r.id AND l.key = s.key AND l.value = s.value)
    WHEN 2 THEN NOT EXISTS (SELECT FROM @labels l WHERE l.run = r.id AND l.key = s.key)
    ELSE EXISTS (SELECT FROM @labels l WHERE l.run = r.id AND l.key = s.key) END))
  AND (NOT $26 OR EXISTS (SELECT FROM @heads h WHERE h.id = r.id AND h.owner NOT IN ` + living + `))`

	// All parameters are typed here, because each statement uses only some of them.
	typed    = ` FROM (SELECT $1::text, $2::text, $3::text, $4::bigint, $5::bigint, $6::bigint, $7::bigint) AS p`
	bySearch = typed + ` JOIN @texts t ON to_tsvector('pg_catalog.simple', t.text) @@ $1::text::tsquery JOIN @runs r ` +
		`ON r.id = t.run WHERE t.run < $6 AND r.created <= $5 AND`
	byLabel = typed + ` JOIN @labels k ON k.key = $2 AND k.value = $3 JOIN @runs r ON r.id = k.run WHERE ` +
		`(k.created, k.run) < ($5, $6) AND`
	byAll   = typed + ` JOIN @runs r ON true WHERE (r.created, r.id) < ($5, $6) AND`
	foundIn = ` f JOIN @runs r ON r.id = f.id` + headJoins

	sqlFindSearch = sqlText(`SELECT ` + headColumns + ` FROM (SELECT r.id` + bySearch + isFound +
		` ORDER BY t.run DESC LIMIT $7)` + foundIn)
	sqlFindLabel = sqlText(`SELECT ` + headColumns + ` FROM (SELECT r.id` + byLabel + isFound +
		` ORDER BY k.created DESC, k.run DESC LIMIT $7)` + foundIn)
	sqlFindAll = sqlText(`SELECT ` + headColumns + ` FROM (SELECT r.id` + byAll + isFound +
		` ORDER BY r.created DESC, r.id DESC LIMIT $7)` + foundIn)

	tallied        = `SELECT r.status, r.workflow, r.cause, r.format, count(*)`
	inTallies      = ` GROUP BY 1, 2, 3, 4`
	sqlTallySearch = sqlText(tallied + bySearch + isFound + inTallies)
	sqlTallyLabel  = sqlText(tallied + byLabel + isFound + inTallies)
	sqlTallyAll    = sqlText(tallied + byAll + isFound + inTallies)
)

// findStatement returns the statement for a page of q, if q filters by indexed properties. It
// returns an error for an invalid cursor.
func (s *Store) findStatement(q journal.Query) (sqlText, []any, error) {
	upTo := findFrom(&q)
	if q.Cursor != "" {
		last, err := journal.ParseCursor(q.Cursor)
		if err != nil {
			return "", nil, err
		}
		switch {
		case len(q.Search) > 0:
			upTo.Key = last.Key
		case last.NewestFirst(upTo) > 0:
			upTo = last
		}
	}
	text := statementFor(&q, sqlFindSearch, sqlFindLabel, sqlFindAll)
	return text, append([]any{s.db.planned}, findArgs(&q, upTo)...), nil
}

// Counts implements journal.Lists.
func (s *Store) Counts(ctx context.Context, q journal.Query) ([]journal.Tally, error) {
	var all []journal.Tally
	var status string
	var workflow, cause, format []byte
	var n int
	args := append([]any{s.db.planned}, findArgs(&q, findFrom(&q))...)
	err := s.query(ctx, statementFor(&q, sqlTallySearch, sqlTallyLabel, sqlTallyAll), args,
		[]any{&status, &workflow, &cause, &format, &n}, func() { all = nil }, func() error {
			all = append(all, journal.Tally{Status: journal.Status(status), Workflow: string(workflow),
				Trigger: string(cause), Format: string(format), Runs: n})
			return nil
		})
	if err != nil {
		return nil, fmt.Errorf("count runs: %w", err)
	}
	journal.SortTallies(all)
	return all, nil
}

// findFrom returns the exclusive upper bound of the runs of q.
func findFrom(q *journal.Query) journal.Cursor {
	upTo := journal.Cursor{Created: math.MaxInt64, Key: math.MaxInt64}
	if !q.CreatedBefore.IsZero() {
		upTo.Created = ceilMicros(q.CreatedBefore) - 1
	}
	return upTo
}

// statementFor returns the statement for the condition that drives q.
func statementFor(q *journal.Query, search, label, all sqlText) sqlText {
	switch key, _ := drivingLabel(q); {
	case len(q.Search) > 0:
		return search
	case key != "":
		return label
	}
	return all
}

// drivingLabel returns the first label that runs must have with a specific value; "" means none.
func drivingLabel(q *journal.Query) (key, value string) {
	i := slices.IndexFunc(q.Labels, func(s journal.Selector) bool { return s.Op == journal.LabelIs })
	if i < 0 {
		return "", ""
	}
	return q.Labels[i].Key, q.Labels[i].Value
}

// findArgs returns the parameters of isFound and of the driving condition.
func findArgs(q *journal.Query, upTo journal.Cursor) []any {
	from := int64(math.MinInt64)
	if !q.CreatedFrom.IsZero() {
		from = ceilMicros(q.CreatedFrom)
	}
	key, value := drivingLabel(q)
	ops, keys, values := []int32{}, []string{}, []string{}
	for _, l := range q.Labels {
		ops, keys, values = append(ops, int32(l.Op)), append(keys, l.Key),
			append(values, l.Value) //nolint:gosec,nolintlint // four of them
	}
	minCost, maxCost := int64(math.MinInt64), int64(math.MaxInt64)
	for bound, is := range map[*int64]*journal.Money{&minCost: q.MinCost, &maxCost: q.MaxCost} {
		if is != nil {
			*bound = int64(*is)
		}
	}
	var minTook, maxTook *int64
	if q.MinDuration != nil {
		minTook = new((*q.MinDuration + time.Microsecond - 1).Microseconds())
	}
	if q.MaxDuration != nil {
		maxTook = new(q.MaxDuration.Microseconds())
	}
	return []any{
		journal.TSQuery(q.Search), key, value, from, upTo.Created, upTo.Key, q.PageSize() + 1, statusWords(q),
		bytesOf(q.Prefix), prefixEnd(q.Prefix),
		bytesOf(q.Workflow), bytesOf(q.Parent), bytesOf(q.Session), bytesOf(q.Kind), bytesOf(q.Format),
		bytesOf(q.Branch), bytesOf(q.Trigger), bytesOf(q.Code),
		minCost, maxCost, minTook, maxTook, ops, keys, values, q.Interrupted,
	}
}
