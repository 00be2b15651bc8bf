package storecopy_test

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/api/hooks/hookdata"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/pgtest"
	"github.com/hocket-run/hocket/internal/store"
	"github.com/hocket-run/hocket/internal/store/pghome"
	"github.com/hocket-run/hocket/internal/store/storecopy"
	"github.com/hocket-run/hocket/internal/tool/memory"
	"github.com/hocket-run/hocket/workflow"
)

var day = time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)

// locator parses a store's URL or path, with the kind that opens stores in PostgreSQL the way
// programs do.
func locator(t testing.TB, text, keyFile string) store.Locator {
	t.Helper()
	at, err := store.Parse(text, store.Servers{Postgres: pghome.New(nil), KeyFile: keyFile})
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// file returns the locator of a store in a file that does not exist.
func file(t testing.TB) store.Locator {
	t.Helper()
	return locator(t, filepath.Join(t.TempDir(), "hocket.db"), "")
}

// server returns the locator of a store in PostgreSQL that does not exist, with the key file of
// another store.
func server(t testing.TB, keyOf store.Locator) store.Locator {
	t.Helper()
	return locator(t, pgtest.URL(t), keyOf.KeyFile())
}

// open opens the home of a namespace until the end of the test.
func open(t testing.TB, at store.Locator, namespace string) *store.Home {
	t.Helper()
	at, err := at.Namespace(namespace)
	if err != nil {
		t.Fatal(err)
	}
	h, err := at.Open(t.Context(), store.Config{Kind: journal.KindRun})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close() })
	return h
}

// do ends the test if one of its steps failed.
func do(t testing.TB, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// copied runs a copy, and checks that it succeeds.
func copied(t testing.TB, from, to store.Locator, cfg storecopy.Config) storecopy.Result {
	t.Helper()
	res, err := storecopy.Copy(t.Context(), from, to, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// odd is a string that PostgreSQL cannot store as text.
const odd = "a\x00b\xff'\"?"

// addRun stores a run with some records, as its owner does.
func addRun(t testing.TB, j journal.Backend, run string, records int, status journal.Status) {
	t.Helper()
	definition := journal.NewBlob([]byte("the definition of all runs"))
	own := journal.NewBlob([]byte(strings.Repeat(run, 1+len(run)*20)))
	a := journal.Append{
		Run: run, Create: &journal.NewRun{Workflow: "w" + odd, WorkflowName: "Work", Format: "canvas",
			Kind: journal.KindRun, Definition: definition.Hash, Created: day, Meta: map[string]string{"a": "ü"},
			Branch: odd, Trigger: "api", Preview: odd,
			Labels: workflow.Labels{"team": "ü", "run": strings.Map(func(r rune) rune {
				if r < 'a' || r > 'z' {
					return -1
				}
				return r
			}, run)}},
		Index: &journal.Index{Texts: &journal.Texts{Input: []byte(`"find me"`), Error: run},
			Outcome: journal.Outcome{Tokens: 1, Calls: 2, Cost: 3, Code: odd, Message: odd}},
		Epoch: 1, Record: journal.Record{Version: journal.RecordVersion, First: 1, Last: 2, Data: []byte(run)},
		Blobs: []journal.Blob{definition, own},
		At:    day, Status: journal.StatusRunning, Notices: []journal.Notice{{Seq: 1, Type: "run.started"}},
	}
	if records == 1 {
		a.Status, a.Release = status, true
	}
	do(t, j.Append(t.Context(), a))
	for i := 1; i < records; i++ {
		last := uint64(i*3 + 2)
		b := journal.Append{
			Run: run, Epoch: 1, Record: journal.Record{Version: journal.RecordVersion, First: last - 2, Last: last,
				Data: []byte(strings.Repeat(fmt.Sprint(run, i), 30))},
			At: day.Add(time.Duration(i) * time.Second), Status: journal.StatusRunning,
		}
		if i == records-1 {
			b.Status, b.Release = status, true
		}
		do(t, j.Append(t.Context(), b))
	}
}

// filled is the folder of a store that contains everything, created once for all tests of the
// process.
var filled struct {
	sync.Mutex
	dir string
}

func TestMain(m *testing.M) {
	status := m.Run()
	_ = os.RemoveAll(filled.dir)
	os.Exit(status)
}

// fill creates a store in a file that does not exist, with everything that a store can hold: two
// namespaces, numbers with gaps, strings of arbitrary bytes.
func fill(t testing.TB, at store.Locator) {
	t.Helper()
	filled.Lock()
	defer filled.Unlock()
	if filled.dir == "" {
		//nolint:usetesting // it outlives the test that fills it; TestMain removes it
		dir, err := os.MkdirTemp("",
			"hocket-storecopy")
		do(t, err)
		fillAnew(t, locator(t, filepath.Join(dir, filepath.Base(at.String())), ""))
		filled.dir = dir
	}
	do(t, os.CopyFS(filepath.Dir(at.String()), os.DirFS(filled.dir)), os.Chmod(at.KeyFile(), 0o600))
}

func fillAnew(t testing.TB, at store.Locator) {
	t.Helper()
	ctx := t.Context()
	h := open(t, at, access.DefaultNamespace)
	for i, ns := range []string{access.DefaultNamespace, "newsroom", "never-used"} {
		for n := range 2 {
			do(t,
				h.Access.Add(ctx, access.Token{Namespace: ns, ID: fmt.Sprintf("t%d", n),
					Name: fmt.Sprintf("token %d", n), Role: access.RoleAdmin, Approve: n == 0, Created: day},
					access.Hash(sha256.Sum256([]byte{byte(i), byte(n)}))))
			do(t,
				h.Access.Record(ctx, access.Record{Namespace: ns, At: day, Actor: odd, Action: "a", Target: odd + ns}))
		}
	}
	_, err := h.Access.Revoke(ctx, access.DefaultNamespace, "t1")
	do(t, err)
	for _, ns := range []string{access.DefaultNamespace, "newsroom"} {
		of := open(t, at, ns)
		fillOne(t, of, ns)
		do(t, of.Close())
	}
	do(t, h.Close())
}

func fillOne(t testing.TB, h *store.Home, ns string) {
	t.Helper()
	ctx := t.Context()
	_, err := h.Key()
	do(t, err)
	statuses := []journal.Status{journal.StatusCompleted, journal.StatusPaused, journal.StatusFailed,
		journal.StatusRunning}
	for i := range 12 {
		addRun(t, h.Journal, fmt.Sprintf("%s-%02d%s", ns, i, odd), 1+i*i, statuses[i%4])
	}
	_, err = h.Journal.Prune(ctx,
		journal.PruneQuery{Runs: []string{ns + "-03" + odd, ns + "-07" + odd, ns + "-11" + odd}})
	do(t, err)
	for _, run := range []string{ns + "-00" + odd, ns + "-01" + odd} {
		id, err := h.Journal.Post(ctx, journal.Request{Run: run, Kind: "answer", Data: []byte(odd), At: day})
		do(t, err)
		if run == ns+"-00"+odd {
			do(t, h.Journal.Settle(ctx, id, []byte("done")))
		}
	}
	do(t,
		h.Journal.Register(ctx, journal.Registration{ScheduleKey: journal.ScheduleKey{Workflow: "w" + odd, Branch: ""},
			Version: 3, Mode: "cron", Spec: "0 9 * * *", TimeZone: "Europe/Berlin", Registered: day,
			Planned: day.Add(time.Hour)}))
	do(t,
		h.Journal.Register(ctx, journal.Registration{ScheduleKey: journal.ScheduleKey{Workflow: "w" + odd, Branch: "b"},
			Version: 3, Mode: "cron", Spec: "0 9 * * *", TimeZone: "Europe/Berlin", Registered: day}))
	do(t,
		h.Journal.Register(ctx, journal.Registration{ScheduleKey: journal.ScheduleKey{Workflow: "w" + odd, Branch: "b",
			Schedule: "s" + odd}, Mode: "cron", Spec: "0 9 * * *", Registered: day, Asked: day,
			Refused: day, Refusal: odd}))
	do(t, h.Journal.SetControl(ctx, journal.Control{ScheduleKey: journal.ScheduleKey{Workflow: "w" + odd, Branch: "b"},
		Paused: day, PausedBy: odd, Resumed: day, ResumedBy: odd, SkipAfter: day, SkipUntil: day, SkippedBy: odd,
		Asked: day, AskedBy: odd}))
	do(t, h.Journal.SetControl(ctx,
		journal.Control{ScheduleKey: journal.ScheduleKey{Workflow: "w" + odd, Branch: "b", Schedule: "s"}}))
	// with the same names as those of stored workflows
	programs := journal.ScheduleKey{Program: "p" + odd, Workflow: "w" + odd, Branch: "b"}
	do(t, h.Journal.Register(ctx, journal.Registration{ScheduleKey: programs, Mode: "cron", Spec: "@daily",
		Registered: day}))
	do(t, h.Journal.SetControl(ctx, journal.Control{ScheduleKey: programs, Paused: day, PausedBy: odd}))
	for _, label := range []string{"one", "two", "ü"} {
		do(t, h.Checkpoints.Save(ctx, "run "+ns, []byte(`{"a":1}`), label))
	}
	do(t, h.Checkpoints.Delete(ctx, "run "+ns, "two"))
	for _, key := range []string{"k1", "k2", "k3"} {
		id, err := h.Memories.Add(ctx, "space"+odd, key+odd, memory.Entry{Category: odd, Text: "remember " + odd,
			At: day})
		do(t, err)
		if key == "k3" {
			do(t, h.Memories.Remove(ctx, "space"+odd, id))
		}
	}
	_, err = h.Hooks.SetWebhook(ctx, "hook", func(w *hookdata.Webhook) error {
		*w = hookdata.Webhook{ID: "hook", Workflow: "w", Path: "path-of-" + ns, Created: day}
		return nil
	})
	do(t, err)
	for i := range 3 {
		_, err = h.Hooks.Deliver(ctx, hookdata.Delivery{Webhook: "hook", Key: sha256.Sum256([]byte{byte(i)}), At: day,
			Until: day.AddDate(100, 0, 0)})
		do(t, err)
	}
}

// local maps the tables of a file to the columns that belong to that file alone; "" means the whole
// table.
var local = map[string]string{"owners": "", "changes": "", "trash": "", "schedule_leader": "", "heads": "record owner",
	"records": "id prev", "inbox": "taken",
	"words": "", "words_data": "", "words_idx": "", "words_config": ""}

// export returns the whole contents of a file, using plain SQL that knows no list of tables.
func export(t testing.TB, path string) string {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?mode=ro")
	do(t, err)
	defer db.Close()
	var out strings.Builder
	for _, table := range texts(t, db, `SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name`) {
		hidden, isLocal := local[table]
		if isLocal && hidden == "" {
			continue
		}
		var columns []string
		for _, c := range texts(t, db, `SELECT name FROM pragma_table_info('`+table+`')`) {
			if !strings.Contains(" "+hidden+" ", " "+c+" ") {
				columns = append(columns, c)
			}
		}
		where := ""
		if table == "sqlite_sequence" {
			where = " WHERE name NOT IN ('owners')"
		}
		parts := make([]string, len(columns))
		for i, c := range columns {
			parts[i] = "quote(" + c + ")"
		}
		rows := texts(t, db, `SELECT `+strings.Join(parts, ` || ', ' || `)+` FROM `+table+where)
		sort.Strings(rows)
		fmt.Fprintf(&out, "%s (%s)\n  %s\n", table, strings.Join(columns, ", "), strings.Join(rows, "\n  "))
	}
	return out.String()
}

func texts(t testing.TB, db *sql.DB, query string, args ...any) (out []string) {
	t.Helper()
	rows, err := db.QueryContext(context.Background(), query, args...)
	do(t, err)
	defer rows.Close()
	for rows.Next() {
		var s string
		do(t, rows.Scan(&s))
		if len(s) > 300 {
			sum := sha256.Sum256([]byte(s))
			s = s[:200] + "… " + hex.EncodeToString(sum[:8])
		}
		out = append(out, s)
	}
	do(t, rows.Err())
	return out
}

// exports returns the contents of a store in files, with all namespaces.
func exports(t testing.TB, at store.Locator) string {
	t.Helper()
	out := ""
	for _, ns := range []string{access.DefaultNamespace, "newsroom"} {
		of, err := at.Namespace(ns)
		do(t, err)
		out += "namespace " + ns + "\n" + export(t, of.String())
	}
	return out
}
