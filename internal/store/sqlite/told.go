package sqlite

import (
	"encoding/json"
	"math"

	"github.com/hocket-run/hocket/internal/journal"
)

// Lists and counts that one index tells alone: no run has to be looked at.
const (
	// Arguments: 1 and 2 are the first and the last time of creation, 3 a JSON list of statuses, 4 to 6 workflow, trigger and format, 7 the number that runs of the last time are below, 8 the limit.
	byTally = ` FROM runs r INDEXED BY runs_tally WHERE r.created >= ?1 AND r.created <= ?2 AND (r.created, r.id) < (?2, ?7)
  AND r.status IN (SELECT value FROM json_each(?3)) AND (?4 = '' OR r.workflow = ?4) AND (?5 = '' OR r.cause = ?5) AND (?6 = '' OR r.format = ?6)`

	sqlFindTold = sqlText(`SELECT ` + headColumns + ` FROM (SELECT r.id` + byTally + ` ORDER BY r.created DESC, r.id DESC LIMIT ?8) f CROSS JOIN runs r ON r.id = f.id` + headJoins + `ORDER BY r.created DESC, r.id DESC`)
	// The order of the index, so that nothing is sorted.
	sqlTallyTold = sqlText(tallied + byTally + ` GROUP BY r.workflow, r.status, r.cause, r.format`)
)

// isTold tells whether q asks for nothing but times, statuses, workflow, trigger and format.
func isTold(q *journal.Query) bool {
	rest := *q
	rest.Statuses, rest.Workflow, rest.Trigger, rest.Format = nil, "", "", ""
	return !rest.Selects() && rest.Prefix == "" && rest.Parent == "" && rest.Session == "" && rest.Kind == "" && !rest.Interrupted
}

// toldArgs gives the arguments of byTally.
func toldArgs(q *journal.Query, upTo journal.Cursor) ([]any, error) {
	from := int64(math.MinInt64)
	if !q.CreatedFrom.IsZero() {
		from = ceilMicros(q.CreatedFrom)
	}
	statuses := q.Statuses
	if len(statuses) == 0 {
		statuses = journal.Statuses()
	}
	words, err := json.Marshal(statuses)
	return []any{from, upTo.Created, string(words), q.Workflow, q.Trigger, q.Format, upTo.Key, q.PageSize() + 1}, err
}
