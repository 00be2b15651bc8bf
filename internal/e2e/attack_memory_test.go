//go:build unix

package e2e_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// remembers is a document whose agent has a memory. The %s are the document's name and options of
// the toolset.
const remembers = `name: %s
agents:
  a: {model: openai/m, instruction: Remember., toolsets: [{type: memory%s}]}
workflow:
  - {type: agent, name: a}
`

// Replies of agents that do what an attacker wants: they read everything in their memory, and leave
// something in it.
const (
	keepsSecret = `replies:
  - {agent: a, toolCalls: [{name: add_memory, arguments: {memory: SECRET}}]}
  - {agent: a, text: kept}
`
	steals = `replies:
  - {agent: a, toolCalls: [{name: get_memories, arguments: {}}]}
  - {agent: a, contains: SECRET, toolCalls: [{name: get_memories, arguments: {}}]}
  - {agent: a, contains: SECRET, text: stolen}
  - {agent: a, toolCalls: [{name: add_memory, arguments: {memory: POISON}}]}
  - {agent: a, text: poisoned}
`
	recalls = `replies:
  - {agent: a, toolCalls: [{name: get_memories, arguments: {}}]}
  - {agent: a, contains: POISON, text: poisoned}
  - {agent: a, contains: SECRET, text: clean}
  - {agent: a, text: forgotten}
`
)

// TestAttackMemory reproduces attack 31 in the list of repairs: documents from elsewhere that use
// the names of the user's file and stored workflow neither read their memories nor write into them,
// through the command line or the server, trusted or not. With HOCKET_LOAD more spellings are
// tested.
func TestAttackMemory(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	cli := &byCLI{w, nil}
	write := func(name, text string) string {
		t.Helper()
		path := filepath.Join(w.home, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	run := func(want int, args ...string) (stdout, stderr string) {
		t.Helper()
		status, stdout, stderr := cli.hocket(t, append([]string{"run"}, args...)...)
		if status != want {
			t.Errorf("run %q: status %d, want %d: %s%s", args, status, want, stdout, stderr)
		}
		return strings.TrimSpace(stdout), stderr
	}
	own := fmt.Sprintf(remembers, "notes", "")
	victim := write("notes.yaml", own)
	write("keep.yaml", keepsSecret)
	write("steal.yaml", steals)
	write("recall.yaml", recalls)
	if status, _, stderr := cli.hocket(t, "workflows", "apply", "notes.yaml"); status != 0 {
		t.Fatalf("apply: %s", stderr)
	}
	run(0, "notes.yaml", "--trust", "--replies", "keep.yaml", "x")
	run(0, "--workflow", "notes", "--replies", "keep.yaml", "x")
	if got, _ := run(0, "notes.yaml", "--trust", "--replies", "recall.yaml", "x"); got != "clean" {
		t.Fatalf("the document does not remember: %s", got)
	}

	tries, refused, stolen := 0, 0, 0
	tried := func(said string) {
		if tries++; strings.Contains(said, "stolen") {
			stolen++
		}
	}
	spellings := map[string]string{
		"dl/notes.yaml":    own, // identical byte for byte
		"dl/path.yaml":     fmt.Sprintf(remembers, "notes", ", path: ../notes.yaml"),
		"dl/place as name": fmt.Sprintf(remembers, victim, ""),
		"dl/list.yaml": fmt.Sprintf(remembers, "notes", `, path: '["owner","file","`+victim+
			`","name","memory","a"]'`),
		"dl/catalog":     fmt.Sprintf(remembers, `'["catalog","notes"]'`, ""),
		"dl/shared.yaml": fmt.Sprintf(remembers, "notes", ", memory: notes"),
	}
	if os.Getenv("HOCKET_LOAD") != "" {
		maps.Copy(spellings, map[string]string{
			"dl/deep/notes.yaml":  own,
			"dl/NOTES.yaml":       fmt.Sprintf(remembers, "notes", ", name: memory"),
			"dl/named.yaml":       fmt.Sprintf(remembers, "notes", ", shared: true"),
			"dl/absolute.yaml":    fmt.Sprintf(remembers, "notes", ", path: "+victim),
			"dl/quoted.yaml":      fmt.Sprintf(remembers, "notes", `, name: '","file","`+victim+`'`),
			"notes.yaml.bak":      own,
			"notes":               own,
			"dl/shared place.yml": fmt.Sprintf(remembers, "notes", ", memory: "+victim),
		})
	}
	for name, text := range spellings {
		path := write(name, text)
		if _, stderr := run(2, path, "--format", "steps", "--replies", "steal.yaml", "x"); strings.Contains(stderr,
			"the memory") || strings.Contains(stderr, "a memory") {
			refused++
		} else {
			t.Errorf("%s: refused for another reason: %s", name, stderr)
		}
		// trusting this document does not expose the memories of others
		said, _ := run(0, path, "--format", "steps", "--replies", "steal.yaml", "--trust", "x")
		tried(said)
		// The server has no place for a document that is sent to it, and no person to trust it.
		body, err := json.Marshal(map[string]any{"document": text, "name": "notes"})
		if err != nil {
			t.Fatal(err)
		}
		a := w.do("POST", "/api/v1/runs?wait=1m", string(body))
		if tried(a.body); a.status == http.StatusUnprocessableEntity {
			refused++
		} else {
			t.Errorf("%s at the server: %d %s", name, a.status, a.body)
		}
	}
	clean := 0
	for _, args := range [][]string{{"notes.yaml", "--trust"}, {"--workflow", "notes"}} {
		if got, _ := run(0, append(args, "--replies", "recall.yaml", "x")...); got == "clean" {
			clean++
		}
	}
	t.Logf("%d documents, %d runs: %d refused, %d memories stolen, %d of 2 memories unchanged", len(spellings), tries,
		refused, stolen, clean)
	if stolen > 0 || clean != 2 || refused != 2*len(spellings) {
		t.Error("a memory was reached by a document that is not its own")
	}

	// The document itself, reached through another path, is the same document.
	if err := os.Symlink(victim, filepath.Join(w.home, "link.yaml")); err != nil {
		t.Fatal(err)
	}
	if got, _ := run(0, "link.yaml", "--trust", "--replies", "recall.yaml", "x"); got != "clean" {
		t.Errorf("by a link: %s", got)
	}
	// A shared memory is shared by name if both documents are trusted.
	for _, name := range []string{"one.yaml", "two.yaml"} {
		write(name, fmt.Sprintf(remembers, name, ", memory: team"))
	}
	run(0, "one.yaml", "--trust", "--replies", "keep.yaml", "x")
	if got, _ := run(0, "two.yaml", "--trust", "--replies", "recall.yaml", "x"); got != "clean" {
		t.Errorf("the shared memory has not what the other document kept: %s", got)
	}
}
