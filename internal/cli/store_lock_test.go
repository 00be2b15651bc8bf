package cli_test

import (
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/hocket-run/hocket/internal/cli"
	"github.com/hocket-run/hocket/internal/model/modeltest"
)

// Verbs by their effect on the store. Each verb of the command line is in one of the lists; the
// test replaces capitalized words.
var (
	readers = []string{
		"runs", "runs list", "runs counts", "runs processes", "runs show RUN", "runs events RUN", "watch RUN",
		"workflows", "workflows list", "workflows show poem", "agents", "agents list", "agents show", "doctor", "audit",
		"tokens", "tokens list", "schedule", "schedule list", "webhooks", "webhooks list", "notifications",
		"show $DIR/poem.yaml", "validate $DIR/poem.yaml",
	}
	writers = []string{
		"run $DIR/poem.yaml x --replies $DIR/replies.yaml", "resume PAUSED --approve", "cancel PAUSED",
		"runs fork RUN --at 2", "retry RUN --from a", "runs prune --ended 1ns", "workflows apply $DIR/other.yaml",
		"workflows delete poem", "workflows publish poem --version 1", "agents apply $DIR/agents.yaml",
		"agents delete b", "tokens create x --role run", "tokens revoke TOKEN",
		"webhooks create poem", "webhooks delete WEBHOOK", "webhooks rotate WEBHOOK",
		"schedule pause timed", "schedule resume held", "schedule skip timed", "schedule run timed",
	}
	// elsewhere are the verbs that need no store, that run until they are stopped, that name two
	// stores, or that need a server or a run that waits for a signal. They are tested with a locked
	// store in the tests of packages server, storecopy and service, of drivertest and of e2e.
	elsewhere = []string{"exec", "convert", "explain", "init", "schema", "version", "serve", "worker", "mcp",
		"scheduler", "schedule preview", "notifications retry", "store copy", "store migrate", "signal", "open"}
)

const gatePoem = `agents:
  poet: {model: openai/m, instruction: by poet}
workflow:
  - {id: a, type: agent, name: poet}
`

// TestCommands_StoreLocked checks that while another program holds the store's write lock, as BEGIN
// IMMEDIATE in sqlite3 does, every verb that reads prints the same as without the lock, and every
// verb that writes exits with 1 after --lock-timeout without having changed anything.
func TestCommands_StoreLocked(t *testing.T) {
	t.Parallel()
	everyVerb(t)
	d := newDesk(t, "", map[string]string{
		"poem.yaml": gatePoem, "other.yaml": gatePoem, "timed.yaml": "schedule: \"@daily\"\n" + gatePoem,
		"held.yaml":    "schedule: \"@daily\"\n" + gatePoem,
		"replies.yaml": "replies: [{text: bees}, {text: bees}]\n",
		"agents.yaml":  `[{"id": "b", "name": "B", "systemPrompt": "x", "model": "openai/m"}]`,
		"gate.json": `{"name": "gate", "nodes": [{"id": "s", "type": "start", "data": {"initialInput": "bees"}}, ` +
			`{"id": "ok", "type": "approval", "data": {"prompt": "Print it?"}}],
 "connections": [{"source": "s", "target": "ok"}]}`,
	})
	d.InTerminal, d.ErrTerminal, d.OutTerminal = false, false, false
	fill := map[string]string{}
	ago := regexp.MustCompile(`[0-9a-z]+ ago *`) // time passes between two calls
	said := func(line string) (string, string, int) {
		d.out.b.Reset()
		d.err.b.Reset()
		args := strings.Fields(line)
		for i := range args {
			for word, text := range fill {
				if args[i] == word {
					args[i] = text
				}
			}
		}
		status := d.main(t.Context(), args...)
		return ago.ReplaceAllString(d.out.String(), " ago"), d.err.String(), status
	}
	must := func(line string, want int, find string) string {
		t.Helper()
		out, err, status := said(line)
		found := regexp.MustCompile(find).FindStringSubmatch(out + err)
		if status != want || found == nil {
			t.Fatalf("hocket %s: %d, %s%s", line, status, out, err)
		}
		return found[len(found)-1]
	}
	fill["RUN"] = must("run $DIR/poem.yaml x --replies $DIR/replies.yaml --json", 0, `"id": ?"([0-9A-Z]+)"`)
	fill["PAUSED"] = must("run $DIR/gate.json x --json", 3, `"id": ?"([0-9A-Z]+)"`)
	must("workflows apply $DIR/poem.yaml", 0, "poem")
	must("workflows apply $DIR/timed.yaml", 0, "timed")
	must("workflows apply $DIR/held.yaml", 0, "held")
	must("schedule pause held", 0, "held")
	must("agents apply $DIR/agents.yaml", 0, "b")
	fill["TOKEN"] = must("tokens create first --role run", 0, `token (\w+):`)
	fill["WEBHOOK"] = must("webhooks create poem", 0, `(wh_\w+)`)
	type answer struct {
		out    string
		status int
	}
	read := func() map[string]answer {
		all := map[string]answer{}
		for _, line := range readers {
			out, err, status := said(line)
			if status > 1 || strings.Contains(err, "locked") {
				t.Errorf("hocket %s: %d, %s", line, status, err)
			}
			all[line] = answer{out, status}
		}
		return all
	}
	before := read()
	free, err := holdLock(t, d.env["HOCKET_DB"])
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range readers {
		out, err, status := said(line + " --lock-timeout 1ms")
		if got, want := (answer{out, status}), before[line]; got != want {
			t.Errorf("hocket %s under a lock: %+v, %s, want %+v", line, got, err, want)
		}
	}
	for _, line := range writers {
		if out, err, status := said(line + " --lock-timeout 1ms"); status != 1 ||
			!strings.Contains(err, "the store is locked: another program has held it for") {
			t.Errorf("hocket %s under a lock: %d, %s%s", line, status, out, err)
		}
	}
	free()
	after := read()
	for _, line := range readers {
		if line == "doctor" {
			continue // it prints sizes
		}
		if after[line] != before[line] {
			t.Errorf("hocket %s: %+v, and before %+v", line, after[line], before[line])
		}
	}
}

// everyVerb checks that each verb is in a list.
func everyVerb(t *testing.T) {
	t.Helper()
	missing := map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^```text\nhocket ([a-z ]*[a-z])").FindAllStringSubmatch(cli.Reference(),
		-1) {
		if !strings.HasPrefix(m[1], "completion") {
			missing[m[1]] = true
		}
	}
	if len(missing) < 30 {
		t.Fatalf("%d verbs: the test looks in the wrong place", len(missing))
	}
	for _, line := range slices.Concat(readers, writers, elsewhere) {
		words := strings.Fields(line)
		for n := range words {
			delete(missing, strings.Join(words[:n+1], " "))
		}
	}
	for _, verb := range slices.Sorted(maps.Keys(missing)) {
		t.Errorf("hocket %s is in no list of this test", verb)
	}
}

// holdLock acquires the write lock of a store as another program does, as soon as it is free.
func holdLock(t *testing.T, path string) (free func(), err error) {
	t.Helper()
	db, err := sql.Open("sqlite", fmt.Sprintf("file:%s?_txlock=immediate&_pragma=busy_timeout(60000)", path))
	if err != nil {
		return nil, err
	}
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return func() {
		if err := errors.Join(tx.Rollback(), db.Close()); err != nil {
			t.Error(err)
		}
	}, nil
}

// TestRun_StoreLocked checks that a run that can no longer be stored is abandoned, with the
// command that continues it, and that nothing else is reported to have happened.
func TestRun_StoreLocked(t *testing.T) {
	t.Parallel()
	d := newDesk(t, "", map[string]string{"poem.yaml": gatePoem})
	d.InTerminal, d.ErrTerminal, d.OutTerminal = false, false, false
	path, lock := d.env["HOCKET_DB"], sync.Once{}
	free := make(chan func(), 1)
	server := modeltest.Start(t, func(modeltest.Request) modeltest.Answer {
		lock.Do(func() {
			release, err := holdLock(t, path)
			if err != nil {
				t.Error(err)
				return
			}
			free <- release
		})
		return modeltest.Answer{Text: "bees"}
	})
	d.env["OPENAI_BASE_URL"], d.env["OPENAI_API_KEY"] = server.BaseURL(), "key"
	status := d.main(t.Context(), "run", "$DIR/poem.yaml", "x", "--run-id", "poem-1", "--lock-timeout", "10ms")
	said := d.err.String()
	select {
	case release := <-free:
		release()
	default:
		t.Fatalf("the run ended with %d, and nothing took the lock: %s", status, said)
	}
	if status != 1 || !strings.Contains(said, "run poem-1 is stored. Continue it with:\n  hocket resume poem-1") ||
		!strings.Contains(said, "the store is locked: another program") {
		t.Errorf("%d, %s", status, said)
	}
	if strings.Contains(said, "interrupted") || strings.Contains(said, "stopping") {
		t.Errorf("it says that it was interrupted: %s", said)
	}
	d.out.b.Reset()
	if status := d.main(t.Context(), "resume", "poem-1"); status != 0 || strings.TrimSpace(d.out.String()) != "bees" {
		t.Errorf("resume: %d, %s%s", status, d.out.String(), d.err.String())
	}
}
