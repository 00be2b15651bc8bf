package view_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/project"
	"github.com/hocket-run/hocket/internal/view"
)

// TestRunLines checks that a line of a list contains everything that the lists of another process
// show, with null for missing values.
func TestRunLines(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	least := journal.Head{Run: "r", Status: journal.StatusRunning, Updated: at,
		NewRun: journal.NewRun{Workflow: "w", Created: at, Meta: map[string]string{}}}
	all := journal.Head{
		Run: "r", Status: journal.StatusFailed, Waiting: 2, Updated: at, Ended: at, Interrupted: true,
		NewRun: journal.NewRun{
			Workflow: "w", WorkflowName: "W", Format: "rounds", Created: at, Parent: "p",
			Meta:   map[string]string{project.MetaVersion: "3", project.MetaTargetBranchID: "b"},
			Branch: "b", Trigger: "api", Labels: journal.Labels{"team": "news"}, Preview: "Write",
		},
		Outcome: journal.Outcome{Tokens: 1, Calls: 2, Cost: 500_000_000_000, Code: "timeout", Message: "too late"},
	}
	for _, h := range []journal.Head{least, all} {
		if d := cmp.Diff(h, view.LineOf(h).Head()); d != "" {
			t.Errorf("-before +after\n%s", d)
		}
	}
	if l := view.LineOf(least); l.Version != nil || l.Branch != nil || l.EndedAt != nil || l.ParentRun != nil ||
		l.Usage != nil || l.Error != nil || l.DurationMS != nil {
		t.Errorf("%+v", l)
	}
	odd := least
	odd.Meta = map[string]string{project.MetaVersion: "x"}
	if l := view.LineOf(odd); l.Version != nil {
		t.Errorf("version %d", *l.Version)
	}
}
