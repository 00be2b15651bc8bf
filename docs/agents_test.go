package docs_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket/internal/faultmatrix"
	"github.com/hocket-run/hocket/internal/format"
	"github.com/hocket-run/hocket/internal/format/agents"
	"github.com/hocket-run/hocket/internal/format/steps"
	"github.com/hocket-run/hocket/internal/permit/shellcmd"
	"github.com/hocket-run/hocket/internal/tool/kinds"
)

var update = flag.Bool("update", false, "write what the tests derive into the pages")

// tables returns the tables of the page on agents, as the code defines them.
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
	sections.WriteString("| section | keys that work | keys that are reported and have no effect |\n| --- | --- " +
		"| --- |\n")
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

// TestAgentKeyTables checks that the page on agents has the tables of the code; -update writes
// them.
func TestAgentKeyTables(t *testing.T) {
	checkTables(t, "agents.md", tables())
}

// TestToolsetTable checks that the page on tools has a row for each type of toolset; -update writes
// them.
func TestToolsetTable(t *testing.T) {
	checkTables(t, "tools.md", map[string]string{"<!-- types of toolsets -->": kinds.Table()})
}

// TestCommandTable checks that the page on commands has the table that permissions use; -update
// writes it.
func TestCommandTable(t *testing.T) {
	checkTables(t, "shell-commands.md", map[string]string{"<!-- commands -->": shellcmd.Markdown()})
}

// TestFormatTable checks that the page on documents has a row for each format; -update writes them.
func TestFormatTable(t *testing.T) {
	checkTables(t, "formats.md", map[string]string{"<!-- formats of documents -->": format.Table()})
}

// TestFailureTable checks that the page on operations has the failure matrix, whose rows name the
// tests that prove them; -update writes it.
func TestFailureTable(t *testing.T) {
	checkTables(t, "operations.md", map[string]string{"<!-- failures -->": faultmatrix.Table()})
}

// checkTables compares the tables of a page, each following its marker, with those of the code.
func checkTables(t *testing.T, file string, want map[string]string) {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	page := string(raw)
	for mark, want := range want {
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
			t.Errorf("%s: run go test ./docs -run Table -update (-code +page)\n%s", mark, d)
		}
	}
	if *update {
		if err := os.WriteFile(file, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
