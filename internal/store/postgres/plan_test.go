package postgres_test

import (
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/pgtest"
)

// fillRuns stores runs as rows only: one in a hundred is paused, all others have ended, and all
// have the same kind and workflow.
const fillRuns = `WITH r AS (
  INSERT INTO runs (run, created, status, waiting, ended, workflow, name, format, parent, kind, session, place)
  SELECT convert_to('r' || n, 'UTF8'), n, CASE WHEN n % 100 = 0 THEN 'paused' WHEN n % 10 = 1 THEN 'failed' ELSE ` +
	`'completed' END, 0, n, 'w', '', '', '', 'run', '', ''
  FROM generate_series(1, 20000) n RETURNING id)
INSERT INTO heads (id, epoch, owner, last, seal, updated) SELECT id, 1, 0, 1, '\x00', 1 FROM r`

var removedRows = regexp.MustCompile(`Rows Removed by (?:Join )?Filter: (\d+)|\(actual rows=(\d+) loops=(\d+)\)`)

// TestListPlans checks that a page of a list reads few runs in addition to those that it returns,
// whatever the filter.
func TestListPlans(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	s := open(t, url)
	c := pgtest.Connect(t, url)
	for _, q := range []string{fillRuns, "VACUUM ANALYZE"} {
		if _, err := c.Exec(t.Context(), q); err != nil {
			t.Fatal(err)
		}
	}
	failed, cancelled := []journal.Status{journal.StatusFailed}, []journal.Status{journal.StatusCancelled}
	for name, q := range map[string]journal.Query{
		"all":                      {},
		"status":                   {Statuses: failed},
		"rare status":              {Statuses: []journal.Status{journal.StatusPaused}},
		"status that no run has":   {Statuses: cancelled},
		"statuses":                 {Statuses: append(cancelled, journal.StatusPaused)},
		"workflow":                 {Workflow: "w"},
		"workflow that no run has": {Workflow: "none"},
		"kind":                     {Kind: journal.KindRun},
		"kind and status":          {Kind: journal.KindRun, Statuses: failed},
		"kind that no run has":     {Kind: journal.KindScheduler},
		"that kind and a status":   {Kind: journal.KindScheduler, Statuses: failed},
		"interrupted":              {Interrupted: true},
		"interrupted of a kind":    {Interrupted: true, Kind: journal.KindRun},
		"session that no run has":  {Session: "s"},
		"parent that no run has":   {Parent: "p"},
		"prefix that no run has":   {Prefix: "x"},
	} {
		plan, err := s.ExplainList(t.Context(), q)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		most := 0
		for _, m := range removedRows.FindAllStringSubmatch(strings.Join(plan, "\n"), -1) {
			n := 1
			for _, text := range m[1:] {
				if text != "" {
					k, err := strconv.Atoi(text)
					if err != nil {
						t.Fatal(err)
					}
					n *= k
				}
			}
			most = max(most, n)
		}
		if len(plan) == 0 || most > 2000 { // a page has 51 heads, each from one of 6 streams
			t.Errorf("%s: %d rows are looked at\n%s", name, most, strings.Join(plan, "\n"))
		}
	}
}
