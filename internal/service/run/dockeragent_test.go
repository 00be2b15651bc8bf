package run_test

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/internal/tool"
	"github.com/hocket-run/hocket/workflow"
)

// TestDockerAgentExamples loads the example files of docker-agent, which are not part of this
// repository (HOCKET_DOCKER_AGENT_EXAMPLES names their folder), and runs one turn of each against a
// reply script that calls a tool of every toolset, calls every sub-agent and hands off. The test
// replaces programs, MCP servers and addresses in the files with stand-ins: nothing leaves the
// machine. It prints which files ran, and what others lack.
func TestDockerAgentExamples(t *testing.T) {
	dir := os.Getenv("HOCKET_DOCKER_AGENT_EXAMPLES")
	if dir == "" {
		t.Skip("HOCKET_DOCKER_AGENT_EXAMPLES is not set")
	}
	var files []string
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if slices.Contains([]string{".yaml", ".yml"}, filepath.Ext(path)) {
			files = append(files, path)
		}
		return err
	})
	if err != nil || len(files) == 0 {
		t.Fatal("no files", err)
	}
	stand := newStandIns(t)
	sum := &counts{toolsets: map[string]int{}, codes: map[string]int{}}
	for _, path := range files {
		name, _ := filepath.Rel(dir, path)
		t.Run(name, func(t *testing.T) { sum.file(t, stand, name, path) })
	}
	t.Logf("\n%s", sum)
}

// counts holds the results for the files.
type counts struct {
	loaded, ran           int
	without, lacking      []string // files that ran without the effect of a key, or that lack tools, with details
	asked, handed, shaped int
	toolsets, codes       map[string]int
}

func (c *counts) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "loaded %d; ran one turn: %d with every tool, agent and model (%d of them without the effect of "+
		"a key), %d without what they lack\n",
		c.loaded, c.ran, len(c.without), len(c.lacking))
	fmt.Fprintf(&b, "in all of them: sub-agents asked %d, hand-overs %d, structured outputs %d\ntools called, by type:",
		c.asked, c.handed, c.shaped)
	for _, name := range slices.Sorted(maps.Keys(c.toolsets)) {
		fmt.Fprintf(&b, " %s %d", name, c.toolsets[name])
	}
	b.WriteString("\nwarnings:")
	for _, code := range slices.Sorted(maps.Keys(c.codes)) {
		fmt.Fprintf(&b, " %s %d", code, c.codes[code])
	}
	for _, line := range c.without {
		b.WriteString("\nran, without effect: " + line)
	}
	for _, line := range c.lacking {
		b.WriteString("\nlacks: " + line)
	}
	return b.String()
}

// missing matches the warnings about unavailable tools, agents and models. Other warnings are about
// keys without an effect.
var missing = regexp.MustCompile(
	`toolsets of type|Docker's catalog|transport|-agent "\S+" of a catalog|model provider|"rag"`)

// file runs one turn of one file, in an empty folder with an empty home.
func (c *counts) file(t *testing.T, stand *standIns, name, path string) {
	t.Chdir(t.TempDir())
	t.Setenv("HOME", t.TempDir())
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	s := inMemoryWith(t, stand.env)
	w, problems := c.load(t, s, path, data)
	var lacks, ineffective []string
	for _, d := range problems {
		switch {
		case d.Severity != diag.Warning || d.Code == "unused-agent":
		case missing.MatchString(d.Message):
			lacks = append(lacks, d.Message)
		default:
			ineffective = append(ineffective, d.Message)
		}
	}
	if w, _ = c.load(t, s, path, stand.replace(t, w, data)); w == nil {
		return
	}
	c.loaded++
	for _, d := range problems {
		c.codes[d.Code]++
	}
	turn := play(t, w)
	o, events := stand.run(t, s, w, turn)
	if o.Status != event.StatusCompleted {
		t.Errorf("the run is %s: %+v\n%s", o.Status, o.Error, turn.script())
	}
	turn.check(t, events)
	if t.Failed() {
		return
	}
	c.asked, c.handed, c.shaped = c.asked+turn.asked, c.handed+turn.handed, c.shaped+turn.shaped
	for _, call := range turn.calls {
		c.toolsets[call.toolset]++
	}
	if len(lacks) > 0 {
		c.lacking = append(c.lacking, name+": "+strings.Join(unique(lacks), "; "))
		return
	}
	c.ran++
	if len(ineffective) > 0 {
		c.without = append(c.without, name+": "+strings.Join(unique(ineffective), "; "))
	}
}

func (c *counts) load(t *testing.T, s *service.Service, path string, data []byte) (*workflow.Workflow, diag.List) {
	t.Helper()
	w, problems, err := s.Load(t.Context(), filepath.Base(path), data, service.LoadOptions{Dir: filepath.Dir(path)})
	if err != nil || problems.HasErrors() {
		t.Fatal(err, problems)
	}
	return w, problems
}

func unique(list []string) []string { return slices.Compact(slices.Sorted(slices.Values(list))) }

// specsOf reads the toolsets of an agent.
func specsOf(t *testing.T, a *workflow.Agent) []tool.Spec {
	t.Helper()
	var specs []tool.Spec
	for _, raw := range a.Toolsets {
		spec, problems, err := tool.ReadSpec(raw)
		if err != nil || problems.HasErrors() {
			t.Fatal(err, problems)
		}
		specs = append(specs, spec)
	}
	return specs
}
