package sqlite_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/journal"
)

// covered are queries whose counts one index alone can answer.
var covered = map[string]journal.Query{
	"all":      {},
	"status":   {Statuses: []journal.Status{journal.StatusFailed}},
	"workflow": {Workflow: "w"},
	"trigger":  {Trigger: "schedule"},
	"format":   {Format: "steps"},
	"times":    {CreatedFrom: time.Unix(1, 0), CreatedBefore: time.Unix(2, 0)},
	"several": {Workflow: "w", Trigger: "schedule", Format: "steps", Statuses: []journal.Status{journal.StatusFailed},
		CreatedFrom: time.Unix(1, 0)},
}

// TestCountsPlan checks that counts by the page's filters read no runs and sort nothing.
func TestCountsPlan(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "hocket.db"))
	const index = "USING COVERING INDEX runs_tally"
	for name, q := range covered {
		_, counts, err := s.Plans(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		if plan := strings.Join(counts, "\n"); !strings.Contains(plan, index) || strings.Contains(plan, "GROUP BY") {
			t.Errorf("counts by %s:\n%s", name, plan)
		}
	}
	for name, q := range map[string]journal.Query{"label": {Labels: []journal.Selector{{Key: "team"}}},
		"code": {Code: "limit"}, "kind": {Kind: journal.KindRun}, "prefix": {Prefix: "01"}} {
		if _, counts, err := s.Plans(t.Context(), q); err != nil ||
			strings.Contains(strings.Join(counts, "\n"), index) {
			t.Errorf("counts by %s: %v\n%s", name, err, strings.Join(counts, "\n"))
		}
	}
}

// TestListPlan checks that a list by trigger or format starts at its position in list order, and
// ends with its page: only the page is sorted, after it was found.
func TestListPlan(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "hocket.db"))
	for name, q := range covered {
		if !q.Selects() {
			continue
		}
		plan, _, err := s.Plans(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		page := slices.Index(plan, "SCAN f")
		if page < 0 || !slices.Contains(plan[:page], "SEARCH r USING INDEX runs_created (created>? AND created<?)") ||
			strings.Contains(strings.Join(plan[:page], "\n"), "TEMP B-TREE") {
			t.Errorf("list by %s:\n%s", name, strings.Join(plan, "\n"))
		}
	}
}

// TestListWorkflow checks that pages of a workflow's runs are in list order, whatever their trigger
// and format, including neither.
func TestListWorkflow(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "hocket.db"))
	var want []string
	for i := range 24 {
		a := benchCreate(i)
		a.Create.Trigger, a.Create.Format = []string{"", "api", "schedule"}[i%3], []string{"", "steps"}[i%2]
		if i%4 == 3 {
			a.Status, a.Release = journal.StatusCompleted, true
		}
		if i%5 == 4 {
			a.Create.Workflow = "other"
		} else {
			want = append(want, a.Run)
		}
		if err := s.Append(t.Context(), a); err != nil {
			t.Fatal(err)
		}
	}
	slices.Reverse(want)
	var got []string
	for q := (journal.Query{Workflow: "reports/weekly.yaml", Limit: 7}); ; {
		page, next, err := s.List(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range page {
			got = append(got, h.Run)
		}
		if q.Cursor = next; next == "" {
			break
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("pages give %s\nwant %s", fmt.Sprint(got), fmt.Sprint(want))
	}
}
