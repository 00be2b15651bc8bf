package sqlite

import (
	"encoding/json"

	"github.com/hocket-run/hocket/internal/journal"
)

// Counts that one index covers, without reading any run. They are grouped in the order of the
// index, so that nothing is sorted.
//
// Arguments: 1 and 2 are the first and the last creation time, 3 a JSON list of statuses, 4 to 6
// workflow, trigger and format.
const sqlTallyCovered = sqlText(tallied + ` FROM runs r INDEXED BY runs_tally WHERE r.created >= ?1 AND r.created <= ?2
  AND r.status IN (SELECT value FROM json_each(?3)) AND (?4 = '' OR r.workflow = ?4) AND (?5 = '' OR r.cause = ?5) ` +
	`AND (?6 = '' OR r.format = ?6)
GROUP BY r.workflow, r.status, r.cause, r.format`)

// isCovered reports whether q filters only by times, statuses, workflow, trigger and format.
func isCovered(q *journal.Query) bool {
	rest := *q
	rest.Statuses, rest.Workflow, rest.Trigger, rest.Format = nil, "", "", ""
	return !rest.Selects() && rest.Prefix == "" && rest.Parent == "" && rest.Session == "" && rest.Kind == "" &&
		!rest.Interrupted
}

// coveredArgs returns the arguments of sqlTallyCovered.
func coveredArgs(q *journal.Query, in cursor) ([]any, error) {
	statuses, err := json.Marshal(statusesOf(q))
	return []any{in.from, in.upTo.Created, string(statuses), q.Workflow, q.Trigger, q.Format}, err
}
