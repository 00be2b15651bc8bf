package docs_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket/internal/format/agents"
	"github.com/hocket-run/hocket/internal/format/steps"
)

var update = flag.Bool("update", false, "write the tables of keys into the page on agents")

// tables gives the tables of the page on agents, as the code has them.
func tables() map[string]string {
	var keys, sections strings.Builder
	keys.WriteString("| steps | lists and canvas | |\n| --- | --- | --- |\n")
	code := func(name string) string {
		if name == "" {
			return ""
		}
		return "`" + name + "`"
	}
	for _, k := range agents.Keys() {
		note := k.Note
		if !k.Works {
			note = "**reported, no effect**: " + note
		}
		fmt.Fprintf(&keys, "| %s | %s | %s |\n", code(k.Steps), code(k.List), note)
	}
	sections.WriteString("| section | keys that work | keys that are reported and have no effect |\n| --- | --- | --- |\n")
	list := func(names []string) string {
		out := make([]string, len(names))
		for i, n := range names {
			out[i] = code(n)
		}
		return strings.Join(out, ", ")
	}
	for _, section := range []string{"document", "models", "providers"} {
		works, reported := steps.Keys(section)
		fmt.Fprintf(&sections, "| %s | %s | %s |\n", section, list(works), list(reported))
	}
	return map[string]string{"<!-- keys of agents -->": keys.String(), "<!-- keys of sections -->": sections.String()}
}

// TestAgentKeyTables: the page on agents has the tables of the code; -update writes them.
func TestAgentKeyTables(t *testing.T) {
	raw, err := os.ReadFile("agents.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(raw)
	for mark, want := range tables() {
		before, rest, ok := strings.Cut(page, mark+"\n\n")
		if !ok {
			t.Fatalf("the page has no %s", mark)
		}
		table := rest
		if !strings.HasPrefix(rest, "|") {
			table = ""
		} else if i := strings.Index(rest, "|\n\n"); i >= 0 {
			table = rest[:i+2]
		}
		if *update {
			page = before + mark + "\n\n" + want + "\n" + strings.TrimPrefix(strings.TrimPrefix(rest, table), "\n")
			continue
		}
		if d := cmp.Diff(want, table); d != "" {
			t.Errorf("%s: run go test ./docs -run AgentKeyTables -update (-code +page)\n%s", mark, d)
		}
	}
	if *update {
		if err := os.WriteFile("agents.md", []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestAgentsGuide: every document of the page is accepted; one that a reply script follows prints what the page says.
func TestAgentsGuide(t *testing.T) {
	raw, err := os.ReadFile("agents.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks, ran := fenced(string(raw)), 0
	t.Chdir(t.TempDir())
	for i, document := range blocks {
		if !strings.HasPrefix(document, "agents:") && !strings.HasPrefix(document, "{") {
			continue
		}
		file := filepath.Join(t.TempDir(), "doc.yaml")
		if strings.HasPrefix(document, "{") { // a list of agents: a document names them
			list := filepath.Join(t.TempDir(), "agents.json")
			write(t, list, document)
			write(t, file, `{"nodes": [{"id": "n", "type": "agent", "config": {"agentId": "desk"}}], "edges": []}`)
			if status, out, errs := hocketMain(t, "validate", file, "--agents", list); status != 0 || strings.Contains(out+errs, "warning") {
				t.Errorf("status %d: %s%s", status, out, errs)
			}
			continue
		}
		write(t, file, document)
		if status, out, errs := hocketMain(t, "validate", file); status != 0 || strings.Contains(out+errs, "warning") {
			t.Errorf("%s: status %d: %s%s", document, status, out, errs)
		}
		if i+2 < len(blocks) && strings.HasPrefix(blocks[i+1], "replies:") {
			ran++
			replies := filepath.Join(t.TempDir(), "replies.yaml")
			write(t, replies, blocks[i+1])
			if status, out, errs := hocketMain(t, "run", file, "--replies", replies, "--db", ":memory:", "go"); status != 0 || out != blocks[i+2] {
				t.Errorf("status %d, printed %q, want %q\n%s", status, out, blocks[i+2], errs)
			}
		}
	}
	if ran == 0 {
		t.Error("no document of the page was run")
	}
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
