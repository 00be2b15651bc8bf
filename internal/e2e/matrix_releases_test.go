//go:build unix

package e2e_test

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/faultmatrix"
	"github.com/hocket-run/hocket/internal/longtest"
	"github.com/hocket-run/hocket/internal/pgtest"
)

// newest returns the number of the newest PostgreSQL migration.
func newest(t *testing.T) int {
	t.Helper()
	files, err := filepath.Glob("../store/postgres/migrations/*.sql")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	digits, _, _ := strings.Cut(filepath.Base(slices.Max(files)), "_")
	n, err := strconv.Atoi(digits)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// nextRelease builds the release after this one: its migrations add things that this release does
// not know, and it reads a newer record format, which it writes if HOCKET_TEST_RECORDS is set.
func nextRelease(t *testing.T) string {
	t.Helper()
	files := map[string]string{}
	change := func(path string, pairs ...string) {
		text := read(t, filepath.Join("..", "..", path))
		for i := 0; i < len(pairs); i += 2 {
			if strings.Count(text, pairs[i]) != 1 {
				t.Fatalf("%s has %q %d times", path, pairs[i], strings.Count(text, pairs[i]))
			}
			text = strings.Replace(text, pairs[i], pairs[i+1], 1)
		}
		files[path] = text
	}
	const own = "RecordVersion = 2"
	change("internal/journal/record.go", own, "RecordVersion = 3")
	change("internal/journal/event_decode.go", "version != RecordVersion {",
		"version != RecordVersion && version != RecordVersion-1 {")
	change("internal/journal/event.go", "strconv.AppendInt(w.buf, RecordVersion, 10)",
		"strconv.AppendInt(w.buf, int64(writes()), 10)", "Version: RecordVersion, Data: w.buf",
		"Version: writes(), Data: w.buf")
	files["internal/journal/next.go"] = "package journal\n\nimport \"os\"\n\nfunc writes() uint8 {\n\tif " +
		"os.Getenv(\"HOCKET_TEST_RECORDS\") != \"\" {\n\t\treturn RecordVersion\n\t}\n\treturn RecordVersion - 1\n}\n"
	n := newest(t)
	files[fmt.Sprintf("internal/store/postgres/migrations/%04d_next.sql", n+1)] = fmt.Sprintf(`-- least: %d
ALTER TABLE runs ADD COLUMN next_release text;
ALTER TABLE heads ADD COLUMN next_release integer NOT NULL DEFAULT 0;
ALTER TABLE records ADD COLUMN next_release integer;
CREATE TABLE next_release (id integer PRIMARY KEY);
CREATE INDEX heads_next_release ON heads (next_release);
`, n)
	return variant(t, files)
}

// TestTwoReleases runs servers of this release and of the next one on one store. The newer servers
// migrate it under the older ones, which continue and can be restarted; each release continues the
// runs of killed servers of the other. The older release names records that it cannot read and
// leaves them to the newer one; it refuses, by name, a store that it must not use.
func TestTwoReleases(t *testing.T) {
	t.Parallel()
	longtest.Only(t,
		"it builds a second program; internal/store/postgres.TestMigrate_Concurrent and "+
			"internal/store/pghome.TestNewer")
	faultmatrix.Proves(t, "two-releases")
	const runs = 4
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	program := nextRelease(t)
	server := pgtest.Shared(t)
	url := server.URL(t)
	c := newCluster(t, url)
	c.join("")
	c.apply("order", fmt.Sprintf(order, c.book.URL))
	only := func(m ...*member) { // selects the servers that answer
		c.mu.Lock()
		defer c.mu.Unlock()
		c.members = m
	}
	old, next := c.members[0], []string{"HOCKET_TEST_PROGRAM=" + program}
	handOver := func(name string, from, to *member) {
		t.Helper()
		release := c.hold()
		var all []string
		for i := range runs {
			run, _ := c.startAt(ctx, from, fmt.Sprintf("%s %d", name, i))
			all = append(all, run)
		}
		only(to)
		c.kill(from)
		release()
		for _, run := range all {
			c.waitCompleted(ctx, run)
		}
	}

	// The next release arrives: two of its servers start at the same time, while the older one has
	// runs.
	release := c.hold()
	run, _ := c.startAt(ctx, old, "before the migration")
	c.env = next
	first, second := c.join(""), c.join("")
	release()
	c.waitCompleted(ctx, run)
	conn := pgtest.Connect(t, url)
	var numbers, last int
	if err := conn.QueryRow(ctx, "SELECT count(*), max(number) FROM hocket_store WHERE number > $1", newest(t)).Scan(
		&numbers, &last); err != nil || numbers != 1 || last != newest(t)+1 {
		t.Errorf("%d migrations of the next release, up to %d: %v", numbers, last, err)
	}
	handOver("old to new", old, first)
	c.env = nil
	old = c.join("") // an older server starts on the migrated store
	handOver("new to old", first, old)
	only(old, second)
	c.orders(ctx, "both", runs)()

	// The next release writes records that the older one cannot read.
	c.env = slices.Concat(next, []string{"HOCKET_TEST_RECORDS=1"})
	writer := c.join("")
	only(old)
	c.kill(second)
	release = c.hold()
	run, _ = c.startAt(ctx, writer, "newer records")
	c.kill(writer)
	release()
	const refusal = "format version 3, written by a newer hocket; this one reads up to 2"
	c.until(ctx, "the older server refuses the run", func() bool {
		return strings.Contains(old.said(), `msg="cannot read run" run=`+run) && strings.Contains(old.said(), refusal)
	})
	if status, data := c.ask(ctx, http.MethodGet, "/runs/"+run+"/events", ""); status < http.StatusBadRequest ||
		!strings.Contains(string(data), refusal) {
		t.Errorf("the events of a run with newer records: %d %s", status, data)
	}
	c.orders(ctx, "older server", 1)() // it continues with other runs
	writer = c.join("")
	only(writer)
	c.waitCompleted(ctx, run)
	if n := strings.Count(old.said(), `msg="cannot read run" run=`+run); n != 1 {
		t.Errorf("the older server says %d times that it cannot read the run", n)
	}

	// A store that the older release must not use.
	if _, err := conn.Exec(ctx, "UPDATE hocket_store SET least = number WHERE number = $1", last); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"serve", "--addr", "127.0.0.1:0"}, {"worker"}, {"runs"}, {"store", "migrate"}} {
		v := hocket(t, c.home, []string{"HOCKET_DB=" + url}, args...)
		want := fmt.Sprintf("store has format version %d, written by a newer hocket; this one reads up to %d", last,
			last-1)
		if v.status != 2 || !strings.Contains(v.err, want) {
			t.Errorf("%v of the older release: %+v", args, v)
		}
	}
	if v := hocket(t, c.home, append(next, "HOCKET_DB="+url), "runs"); v.status != 0 {
		t.Errorf("runs of the next release: %+v", v)
	}
}
