package storecopy_test

import (
	"bytes"
	"database/sql"
	"errors"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/errcode"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/store"
	"github.com/hocket-run/hocket/internal/store/storecopy"
)

// change modifies a file the way a bad disk or another program would.
func change(t *testing.T, at store.Locator, statement string) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+at.String())
	do(t, err)
	defer db.Close()
	_, err = db.ExecContext(t.Context(), statement)
	do(t, err)
}

// flip changes a byte.
const (
	flipRecord = `UPDATE records SET data = CAST(x'00' || substr(data, 2) AS BLOB) WHERE id = (SELECT record FROM ` +
		`heads JOIN runs USING (id) WHERE run LIKE 'default-05%')`
	flipBlob   = `UPDATE blobs SET data = CAST(substr(data, 1, length(data) - 1) || x'00' AS BLOB) WHERE id = 3`
	flipState  = `UPDATE checkpoints SET state = CAST('{"a":2}' AS BLOB) WHERE n = 1`
	dropRecord = `DELETE FROM records WHERE id = (SELECT prev FROM records WHERE id = (SELECT record FROM heads JOIN ` +
		`runs USING (id) WHERE run LIKE 'default-05%'))`
)

// TestDamage checks that a corrupted byte stops the copy with an error that names the run or blob,
// in whichever store it is.
func TestDamage(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ statement, want string }{
		"record": {flipRecord, "journal of run default-05" + odd +
			" is damaged from event 75 on: checksum does not match"},
		"missing record": {dropRecord, "journal of run default-05" + odd + " is damaged"},
		"blob":           {flipBlob, "blob "},
		"checkpoint":     {flipState, "row 1 of table checkpoints: its checksum does not match"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			from, to, third := file(t), file(t), file(t)
			fill(t, from)
			copied(t, from, to, storecopy.Config{})
			holds := func(where store.Locator, from, to store.Locator) {
				t.Helper()
				_, err := storecopy.Copy(t.Context(), from, to, storecopy.Config{})
				if _, ok := errors.AsType[*journal.CorruptError](err); !ok ||
					!strings.HasPrefix(err.Error(), where.String()+": ") || !strings.Contains(err.Error(), test.want) {
					t.Errorf("got %v, want %q in %s", err, test.want, where)
				}
			}
			change(t, to, test.statement)
			holds(to, from, to)
			holds(to, to, third)
			holds(to, to, server(t, from))
			holds(to, to, from) // the contents of FROM are verified even if nothing must be copied
		})
	}
}

// TestDifferences checks that different contents in TO stop the copy with an error that names them,
// before TO is changed.
func TestDifferences(t *testing.T) {
	t.Parallel()
	from := file(t)
	fill(t, from)
	for name, test := range map[string]struct{ statement, want string }{
		"another row": {`INSERT INTO agents (id, name) VALUES ('extra', 'x')`,
			"row extra of table agents is not the same in both stores: only TO has it"},
		"changed row": {`UPDATE access_tokens SET role = 'run' WHERE n = 1`,
			"row 1 of table access_tokens is not the same in both stores: different values in role"},
		"changed run": {`UPDATE heads SET last = 3 WHERE id = 2`,
			"run default-01" + odd + " is not the same in both stores: 5 events in FROM, 3 in TO"},
		"another run": {
			`INSERT INTO runs SELECT 99, 'other', created, status, waiting, ended, workflow, name, format, parent, ` +
				`kind, definition, meta, session, place, branch, cause, labels, preview, tokens, calls, cost, code, ` +
				`message FROM runs WHERE id = 1; INSERT INTO heads SELECT 99, epoch, owner, last, seal, record, ` +
				`updated FROM heads WHERE id = 1`, "run other is not the same in both stores: only TO has it",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			to := file(t)
			copied(t, from, to, storecopy.Config{})
			change(t, to, `DELETE FROM notices`) // something to copy, which must not be copied
			change(t, to, test.statement)
			before := export(t, to.String())
			_, err := storecopy.Copy(t.Context(), from, to, storecopy.Config{})
			if code, _ := errcode.Of(err); code != errcode.StoreCopyDiffers ||
				!strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
			if export(t, to.String()) != before {
				t.Error("TO was changed")
			}
		})
	}
}

// TestTexts checks that a text that PostgreSQL cannot store stops the copy with an error that names
// its column.
func TestTexts(t *testing.T) {
	t.Parallel()
	from := file(t)
	fill(t, from)
	change(t, from, `INSERT INTO agents (id, name) VALUES ('a', CAST(x'610062' AS TEXT))`)
	_, err := storecopy.Copy(t.Context(), from, server(t, from), storecopy.Config{})
	if err == nil || !strings.Contains(err.Error(), "the text of agents.name has a NUL character") {
		t.Error(err)
	}
	copied(t, from, file(t), storecopy.Config{})
	change(t, from, `UPDATE agents SET name = 'b'; INSERT INTO agent_workflows (id, "maxSteps") VALUES ('w', 'many')`)
	_, err = storecopy.Copy(t.Context(), from, server(t, from), storecopy.Config{})
	if err == nil ||
		!strings.Contains(err.Error(), "column maxSteps of table agent_workflows holds a value of another type") {
		t.Error(err)
	}
}

// TestCopy_StoreInUse checks that stores that living processes use are rejected with an error that
// names the run and the process.
func TestCopy_StoreInUse(t *testing.T) {
	t.Parallel()
	lite := file(t)
	fill(t, lite)
	other := server(t, lite)
	copied(t, lite, other, storecopy.Config{})
	for name, at := range map[string]store.Locator{"sqlite": lite, "postgres": other} {
		refused := func(from, to store.Locator, want string) {
			t.Helper()
			_, err := storecopy.Copy(t.Context(), from, to, storecopy.Config{})
			if code, _ := errcode.Of(err); code != errcode.StoreCopyInUse || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: got %v, want %q", name, err, want)
			}
		}
		h := open(t, at, "newsroom")
		run := "newsroom-01" + odd
		head, err := h.Journal.Claim(t.Context(), run)
		do(t, err)
		refused(at, file(t), "process ")
		refused(at, file(t), "has run "+run)
		second := open(t, at, "newsroom")
		another := "newsroom-05" + odd
		theirs, err := second.Journal.Claim(t.Context(), another)
		do(t, err)
		refused(at, file(t), "has run "+run+"; ")
		refused(at, file(t), "has run "+another)
		do(t, second.Journal.Release(t.Context(), another, theirs.Epoch), second.Close())
		refused(lite, other, "is in use")
		copied(t, at, file(t), storecopy.Config{Live: true})
		do(t, h.Journal.Release(t.Context(), run, head.Epoch))
		_, isMine, err := h.Journal.Lead(t.Context(), "", "")
		do(t, err)
		if !isMine {
			t.Fatal("does not lead")
		}
		refused(at, file(t), "is in use: ")
		do(t, h.Close())
	}
}

// TestCopy_SkipsLiveRuns checks that active runs are left out, with all data that only they use.
func TestCopy_SkipsLiveRuns(t *testing.T) {
	t.Parallel()
	from := file(t)
	fill(t, from)
	h := open(t, from, access.DefaultNamespace)
	addRun(t, h.Journal, "goes on", 4, journal.StatusRunning)
	addRun(t, h.Journal, "begins", 1, journal.StatusPending)
	for name, to := range map[string]store.Locator{"sqlite": file(t), "postgres": server(t, from)} {
		res := copied(t, from, to, storecopy.Config{Live: true})
		if res.Left != 2 || res.Runs.Copied != 18 {
			t.Errorf("%s: %+v", name, res)
		}
		of := open(t, to, access.DefaultNamespace)
		if _, err := of.Journal.Head(t.Context(), "goes on"); !errors.Is(err, journal.ErrNotFound) {
			t.Errorf("%s: %v", name, err)
		}
		for _, text := range []string{"goes on", "begins"} {
			own := journal.NewBlob([]byte(strings.Repeat(text, 1+len(text)*20)))
			if _, err := of.Journal.Blob(t.Context(), own.Hash); !errors.Is(err, journal.ErrNotFound) {
				t.Errorf("%s: the value of a run that was left out: %v", name, err)
			}
		}
		do(t, of.Close())
		if res := copied(t, from, to, storecopy.Config{Live: true}); res.Runs.Copied+res.Blobs.Copied+
			res.Rows.Copied != 0 {
			t.Errorf("%s: again: %+v", name, res)
		}
	}
}

// TestKeys checks that a namespace has the same key in both stores, so that data sealed in one can
// be opened in the other.
func TestKeys(t *testing.T) {
	t.Parallel()
	from := file(t)
	fill(t, from)
	to := server(t, from)
	copied(t, from, to, storecopy.Config{})
	last := file(t)
	if res := copied(t, to, last, storecopy.Config{}); res.KeyFile != last.KeyFile() {
		t.Error(res.KeyFile)
	}
	keys := map[string]bool{}
	for _, ns := range []string{access.DefaultNamespace, "newsroom"} {
		want, err := open(t, from, ns).Key()
		do(t, err)
		keys[string(want)] = true
		for _, at := range []store.Locator{to, last} {
			if got, err := open(t, at, ns).Key(); err != nil || !bytes.Equal(got, want) {
				t.Errorf("namespace %s of %s has another key: %v", ns, at, err)
			}
		}
	}
	if len(keys) != 2 {
		t.Error("two namespaces have one key")
	}
	_, err := storecopy.Copy(t.Context(), to, from, storecopy.Config{})
	if err != nil {
		t.Error(err)
	}
	other := file(t)
	_, err = store.ReadKey(other.KeyFile())
	do(t, err)
	_, err = storecopy.Copy(t.Context(), from, other, storecopy.Config{})
	if code, _ := errcode.Of(err); code != errcode.StoreCopyKey {
		t.Error(err)
	}
}
