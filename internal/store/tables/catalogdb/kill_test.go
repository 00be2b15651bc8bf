package catalogdb_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/catalog"
	"github.com/hocket-run/hocket/internal/store/postgres"
	"github.com/hocket-run/hocket/internal/store/sqlite"
	"github.com/hocket-run/hocket/internal/store/tables/catalogdb"
	"github.com/hocket-run/hocket/internal/store/tables/tablestest"
)

// envChild names the store in which a child process stores documents until it is killed.
const envChild = "HOCKET_TEST_CATALOG"

func TestMain(m *testing.M) {
	if path := os.Getenv(envChild); path != "" {
		fmt.Fprintln(os.Stderr, child(path))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// numbered returns a workflow with many rows, all of which contain its number.
func numbered(n int) catalog.Put {
	nodes := make([]string, 0, 200)
	for i := range cap(nodes) {
		nodes = append(nodes, fmt.Sprintf("node %d", (i+n)%cap(nodes)))
	}
	p := chat(fmt.Sprintf("number %d", n), nodes...)
	for _, r := range p.Rows.Nodes {
		r[3] = p.Rows.Workflow.Text(1)
	}
	p.Replace = n%2 == 0
	return p
}

// openAt opens the store at a path or a URL.
func openAt(ctx context.Context, at string) (*catalogdb.Store, error) {
	if strings.HasPrefix(at, "postgres://") {
		s, err := postgres.Open(ctx, postgres.Config{URL: at})
		if err != nil {
			return nil, err
		}
		return catalogdb.New(s.Tables(postgres.Catalog)), nil
	}
	file, err := sqlite.Open(ctx, at, sqlite.Config{})
	if err != nil {
		return nil, err
	}
	return catalogdb.New(file), nil
}

// child stores one document after another and prints each as it is acknowledged.
func child(path string) error {
	s, err := openAt(context.Background(), path)
	if err != nil {
		return err
	}
	for n := 1; ; n++ {
		got, err := s.Put(context.Background(), []catalog.Put{numbered(n)},
			[]catalog.Row{{"last", fmt.Sprint(n), nil, nil, nil, nil, nil}})
		if err != nil {
			return err
		}
		if _, err := fmt.Println(got[0].Version); err != nil {
			return err
		}
	}
}

// TestKill checks that a process that is killed while storing leaves one complete document, not
// older than the last that was acknowledged, for upsert and replacement alike (S3-20).
func TestKill(t *testing.T) {
	t.Parallel()
	tablestest.One(t, postgres.Catalog, testKill)
}

func testKill(t *testing.T, at tablestest.Store) {
	last := 0
	for kill := range 5 {
		c := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^$")
		c.Env = append(os.Environ(), envChild+"="+at.At)
		c.Stderr = os.Stderr
		out, err := c.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		for range 2 + kill {
			if !lines.Scan() {
				t.Fatal("the child ended by itself")
			}
		}
		// The child is somewhere in the next transaction.
		if err := c.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		acknowledged := lines.Text()
		for lines.Scan() {
			acknowledged = lines.Text()
		}
		if err := c.Wait(); err == nil {
			t.Fatal("the child ended by itself")
		}
		last = check(t, at, acknowledged, last)
	}
}

// check verifies what the killed child left behind, and returns the published version.
func check(t *testing.T, at tablestest.Store, acknowledged string, before int) int {
	t.Helper()
	lent, closeIt := at.OpenFor(t)
	defer func() { _ = closeIt() }()
	s := catalogdb.New(lent)
	e, err := s.Entry(t.Context(), "chat")
	if err != nil {
		t.Fatal(err)
	}
	if n, err := strconv.Atoi(acknowledged); err != nil || e.Published < n || e.Published <= before {
		t.Errorf("version %d is published, %s was acknowledged", e.Published, acknowledged)
	}
	v, err := s.Version(t.Context(), "chat", e.Published)
	if err != nil {
		t.Fatal(err)
	}
	var n int
	if _, err := fmt.Sscanf(string(v.Text), "number %d", &n); err != nil {
		t.Fatal(err)
	}
	rows, err := s.Rows(t.Context(), "chat")
	if err != nil || !rows.Equal(*numbered(n).Rows) {
		text, _ := rows.Document()
		t.Errorf("the rows are not those of %s: %v\n%s", v.Text, err, text)
	}
	agents, err := s.Agents(t.Context())
	if err != nil || len(agents) != 1 || agents[0].Text(1) != strings.TrimPrefix(string(v.Text), "number ") {
		t.Errorf("agents %v beside %s, %v", agents, v.Text, err)
	}
	if _, err := s.Version(t.Context(), "chat", e.Published+1); !errors.Is(err, catalog.ErrNotFound) {
		t.Errorf("a version that is not published: %v", err)
	}
	return e.Published
}
