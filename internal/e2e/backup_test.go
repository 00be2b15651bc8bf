//go:build unix

package e2e_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/pgtest"
)

// backupPage is the page whose commands are run, and backupMark the mark that precedes them.
const (
	backupPage = "../../docs/operations.md"
	backupMark = "## Backup and restore"
)

// TestBackup runs the commands of docs/operations.md that back up a database and restore it into
// another one. The runs of all namespaces exist there, and those that wait for a person continue.
func TestBackup(t *testing.T) {
	t.Parallel()
	s := pgtest.Start(t, pgtest.Config{})
	home := t.TempDir()
	for name, text := range map[string]string{
		"post.yaml": "agents:\n  a: {model: openai/m, instruction: write}\nworkflow:\n  - {type: agent, name: a}\n",
		"ask.json": `{"nodes": [{"id": "s", "type": "start", "data": {"initialInput": "bees"}}, {"id": "ok", "type": ` +
			`"approval", "data": {"prompt": "Publish?"}},
			{"id": "p", "type": "agent", "data": {"agentName": "P", "model": "openai/m"}}],
			"connections": [{"source": "s", "target": "ok"}, {"source": "ok", "target": "p", "sourceHandle": ` +
			`"approve"}]}`,
		"replies.yaml": "replies:\n  - {text: written, times: 9}\n",
	} {
		if err := os.WriteFile(filepath.Join(home, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	use := func(db string, want int, args ...string) string {
		t.Helper()
		v := hocket(t, home, []string{"HOCKET_DB=" + db}, args...)
		if v.status != want {
			t.Fatalf("hocket %v: status %d, want %d: %s%s", args, v.status, want, v.out, v.err)
		}
		return v.out
	}
	from := s.Address("hocket")
	use(from, 0, "tokens", "create", "t", "--role", "run", "--namespace", "team")
	for _, namespace := range []string{"default", "team"} {
		use(from, 0, "run", "post.yaml", "--replies", "replies.yaml", "in "+namespace, "--namespace", namespace)
		use(from, 3, "run", "ask.json", "--replies", "replies.yaml", "--namespace", namespace)
	}

	page, err := os.ReadFile(backupPage)
	if err != nil {
		t.Fatal(err)
	}
	_, tail, _ := strings.Cut(string(page), backupMark)
	_, tail, _ = strings.Cut(tail, "```sh\n")
	text, _, _ := strings.Cut(tail, "```")
	to := strings.Replace(from, "@/hocket?", "@/hocket_new?", 1)
	for line := range strings.Lines(text) {
		user := pgtest.User
		if strings.HasPrefix(line, "createdb ") {
			user = "postgres"
		}
		if strings.Count(line, "postgres://hocket@db.example.com/hocket_new") > 0 {
			line = strings.Replace(line, "postgres://hocket@db.example.com/hocket_new", "'"+to+"'", 1)
		}
		bin := programOf(t, nil)
		c := exec.CommandContext(t.Context(), "sh", "-ec", line)
		c.Dir = home
		c.Env = []string{"PATH=" + pgtest.Programs(t) + ":" + filepath.Dir(bin) + ":" + os.Getenv("PATH"),
			"PGHOST=" + s.Dir, "PGPORT=5432", "PGUSER=" + user, "HOME=" + home, "HOCKET_HOME=" + home}
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", strings.TrimSpace(line), err, out)
		}
	}
	for _, namespace := range []string{"default", "team"} {
		for _, verb := range [][]string{{"runs", "--json"}, {"runs", "events", "latest"}} {
			args := slices.Concat(verb, []string{"--namespace", namespace})
			if was, is := use(from, 0, args...), use(to, 0, args...); was != is || len(was) < 100 {
				t.Errorf("hocket %v printed\n%s\nand in the restored database\n%s", args, was, is)
			}
		}
		if out := use(to, 0, "resume", "latest", "--approve", "--replies", "replies.yaml", "--namespace",
			namespace); !strings.Contains(out, "written") {
			t.Errorf("the run that waited in %s ended with %s", namespace, out)
		}
		use(to, 0, "run", "post.yaml", "--replies", "replies.yaml", "more", "--namespace", namespace)
	}
}
