package storecopy_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/store"
	"github.com/hocket-run/hocket/internal/store/storecopy"
)

// TestCopy_ResumeFromLiveStore checks that an interrupted copy from a store in use is completed
// after that store has changed: with changed rows, runs that were resumed or deleted, and values
// that nothing refers to any more.
func TestCopy_ResumeFromLiveStore(t *testing.T) {
	t.Parallel()
	for name, kind := range map[string]func(t testing.TB, keyOf store.Locator) store.Locator{
		"sqlite": func(t testing.TB, _ store.Locator) store.Locator { return file(t) }, "postgres": server,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			from := file(t)
			fill(t, from)
			change(t, from, `INSERT INTO workflow_documents VALUES ('w', 1, 1, 1, 1);
				INSERT INTO agent_workflows (id, name) VALUES ('w', 'before'); INSERT INTO agent_workflow_nodes (id, `+
				`"workflowId", "nodeType") VALUES ('n', 'w', 'AGENT')`)
			to := kind(t, from)
			steps := 0
			count := func() error { steps++; return nil }
			_, err := storecopy.Copy(t.Context(), from, kind(t, from), storecopy.WithFault(storecopy.Config{Live: true},
				count))
			do(t, err)
			left := steps - 3 // everything is written, and the mark exists
			_, err = storecopy.Copy(t.Context(), from, to, storecopy.WithFault(storecopy.Config{Live: true},
				func() error {
					if left--; left == 0 {
						return errKilled
					}
					return nil
				}))
			if !errors.Is(err, errKilled) {
				t.Fatal(err)
			}

			h := open(t, from, access.DefaultNamespace)
			do(t, h.Access.Touch(t.Context(), access.DefaultNamespace, "t0", day.AddDate(0, 0, 1)))
			addRun(t, h.Journal, "new", 3, journal.StatusCompleted)
			run := "default-05" + odd // paused
			head, err := h.Journal.Claim(t.Context(), run)
			do(t, err, h.Journal.Append(t.Context(), journal.Append{
				Run: run, Epoch: head.Epoch, Record: journal.Record{Version: journal.RecordVersion,
					First: head.LastSeq + 1, Last: head.LastSeq + 1, Data: []byte("answered")}, At: day,
				Status: journal.StatusRunning,
			}))
			_, err = h.Journal.Prune(t.Context(), journal.PruneQuery{Runs: []string{"default-04" + odd}})
			do(t, err)
			change(t, from, `DELETE FROM workflow_documents; UPDATE agent_workflows SET name = 'after'; UPDATE `+
				`notification_cursor SET at = 9; DELETE FROM memories`)

			dry := copied(t, from, to, storecopy.Config{Live: true, DryRun: true})
			if dry.Left != 1 || dry.Runs != (storecopy.Amount{Copied: 1, Present: 16}) {
				t.Errorf("dry run: %+v", dry)
			}
			res := copied(t, from, to, storecopy.Config{Live: true})
			if res.Left != 1 || res.Runs.Copied != 1 || res.Runs.Present != 16 || res.Verified.Runs != 17 {
				t.Errorf("%+v", res)
			}
			want, got := file(t), to
			copied(t, from, want, storecopy.Config{Live: true})
			if name == "postgres" {
				got = file(t)
				copied(t, to, got, storecopy.Config{})
			}
			if diff := cmp.Diff(exports(t, want), exports(t, got)); diff != "" {
				t.Error("not the same as a new copy (-new +completed):\n", diff)
			}
		})
	}
}
