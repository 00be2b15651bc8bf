package hooks_test

import (
	"context"
	"testing"

	"github.com/hocket-run/hocket/internal/api/hooks"
	db "github.com/hocket-run/hocket/internal/store/sqlite"
	"github.com/hocket-run/hocket/internal/store/tables"
)

// TestNotifier_DamagedRun checks that a run that can no longer be read is skipped, and that
// notifications of all others are sent (P18).
func TestNotifier_DamagedRun(t *testing.T) {
	t.Parallel()
	r := newReceiver(t)
	w := newWorld(t,
		setup{db: onDisk(t), config: operator(t, r, hooks.Endpoint{On: []hooks.Type{hooks.TypeRunCompleted}})})
	w.env["NOTIFY"] = operatorSecret
	stop := w.serve(t)
	stop()
	broken := w.start(echo, "yaml", "", "hello")
	whole := w.start(echo, "yaml", "", "hello")
	const damage = tables.Text(`UPDATE records SET data = x'00' WHERE run = (SELECT id FROM runs WHERE run = ?)`)
	file, err := db.Open(t.Context(), w.db, db.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	err = file.Write(context.WithoutCancel(t.Context()), 100, func(tx tables.Tx) error {
		_, err := tx.Exec(damage, broken)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	defer w.serve(t)()
	got := r.wait(1)
	if got[0].Data.Run != whole {
		t.Errorf("notified of %s", got[0].Body)
	}
}
