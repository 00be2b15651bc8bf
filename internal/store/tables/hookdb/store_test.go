package hookdb_test

import (
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/api/hooks/hookdata"
	"github.com/hocket-run/hocket/internal/api/hooks/hookdata/hookdatatest"
	"github.com/hocket-run/hocket/internal/catalog"
	"github.com/hocket-run/hocket/internal/store/postgres"
	"github.com/hocket-run/hocket/internal/store/tables/catalogdb"
	"github.com/hocket-run/hocket/internal/store/tables/hookdb"
	"github.com/hocket-run/hocket/internal/store/tables/tablestest"
)

func TestStore(t *testing.T) {
	t.Parallel()
	tablestest.Each(t, postgres.Hooks, func(t *testing.T, fresh func(t testing.TB) tablestest.Store) {
		hookdatatest.Run(t, func(t *testing.T) (hookdata.Store, func() hookdata.Store) {
			t.Helper()
			at := fresh(t)
			again := func() hookdata.Store { return hookdb.New(at.Open(t)) }
			return again(), again
		})
	})
}

// TestWorkflowDeleted checks that when a workflow is deleted, by whatever program, its webhooks are
// disabled, and a new workflow with its ID does not get them (SEC18).
func TestWorkflowDeleted(t *testing.T) {
	t.Parallel()
	tablestest.One(t, postgres.Hooks, testWorkflowDeleted)
}

func testWorkflowDeleted(t *testing.T, at tablestest.Store) {
	s, stored := hookdb.New(at.Open(t)), catalogdb.New(at.As(postgres.Catalog).Open(t))
	save := func(id string) {
		t.Helper()
		if _, err := stored.Put(t.Context(), []catalog.Put{{ID: id, Format: "steps", Name: id, Text: []byte("x: y"),
			At: time.Now()}}, nil); err != nil {
			t.Fatal(err)
		}
	}
	save("w")
	save("other")
	for _, w := range []string{"w", "other"} {
		if _, err := s.SetWebhook(t.Context(), "wh_"+w, func(h *hookdata.Webhook) error {
			*h = hookdata.Webhook{Path: w, Workflow: w, Created: time.Now().UTC()}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	disabled := func(id string) bool {
		t.Helper()
		w, err := s.Webhook(t.Context(), hookdata.Webhook{Path: id}.Digest())
		if err != nil {
			t.Fatal(err)
		}
		return !w.Disabled.IsZero() && w.Reason != ""
	}
	if disabled("w") {
		t.Error("disabled before")
	}
	if err := stored.Delete(t.Context(), "w", ""); err != nil {
		t.Fatal(err)
	}
	save("w")
	if !disabled("w") || disabled("other") {
		t.Errorf("w: %v, other: %v", disabled("w"), disabled("other"))
	}
	tablestest.Do(t, at.SQL(t), `DELETE FROM workflow_documents WHERE id = 'other'`)
	if !disabled("other") {
		t.Error("a workflow that another program deleted has its webhook")
	}
}

// TestOtherPath checks that in PostgreSQL the tables of the schema are written, whatever the search
// path of the deleting program.
func TestOtherPath(t *testing.T) {
	t.Parallel()
	at := tablestest.Postgres(t, postgres.Hooks)
	s := hookdb.New(at.Open(t))
	if _, err := s.SetWebhook(t.Context(), "wh", func(h *hookdata.Webhook) error {
		*h = hookdata.Webhook{Path: "p", Workflow: "w", Created: time.Now().UTC()}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	schema := at.Schema(t)
	tablestest.Do(t, at.SQL(t), `SET search_path = public`, `INSERT INTO `+schema+
		`.workflow_documents VALUES ('w', 1, 0, 1, 1)`, `DELETE FROM `+schema+`.workflow_documents`)
	if w, err := s.Webhook(t.Context(), hookdata.Webhook{Path: "p"}.Digest()); err != nil || w.Disabled.IsZero() {
		t.Errorf("%+v, %v", w, err)
	}
}
