package definition

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket/workflow"
)

// SEC16: names are not paths. Neither a name nor a link leads out of the folders in which prompt
// files are searched; sizes are limited.
func TestPromptFiles_OutsideFolder(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(top, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("elsewhere/secret.md", "canary")
	write("project/AGENTS.md", "above")
	write("project/doc/own.md", " own\xff \n")
	write("project/doc/both.md", "near")
	write("project/both.md", "far")
	write("project/doc/folder.md/x", "x")
	write("project/doc/full.md", strings.Repeat("x", maxPromptFileBytes))
	write("project/doc/large.md", strings.Repeat("x", maxPromptFileBytes+1))
	for link, to := range map[string]string{
		"project/doc/out.md": "../../elsewhere/secret.md",
		"project/doc/abs.md": filepath.Join(top, "elsewhere", "secret.md"),
		"project/doc/links":  "../../elsewhere", "project/doc/in.md": "own.md",
	} {
		if err := os.Symlink(to, filepath.Join(top, filepath.FromSlash(link))); err != nil {
			t.Fatal(err)
		}
	}
	dir := filepath.Join(top, "project", "doc")
	for name, want := range map[string]string{
		"own.md": "own\ufffd", "AGENTS.md": "above", "both.md": "near", "in.md": "own\ufffd",
		"full.md": strings.Repeat("x", maxPromptFileBytes),
		"none.md": "", "folder.md": "",
		"out.md": "error", "abs.md": "error", "links/secret.md": "error", "large.md": "error",
		"../both.md": "error", "/etc/hostname": "error", "a/../../both.md": "error", "./own.md": "error",
		"C:own.md": "error", `..\both.md`: "error",
		"": "error", ".": "error", "own.md/": "error", "own.md\x00": "error",
	} {
		text, folder, err := readPromptFile(dir, name)
		switch {
		case strings.Contains(text, "canary"):
			t.Errorf("%q leads out", name)
		case want == "error":
			if err == nil {
				t.Errorf("%q gives %q, want an error", name, text)
			}
		case err != nil || text != want || (folder != "") != (want != ""):
			t.Errorf("%q gives %.20q of %q, %v; want %.20q", name, text, folder, err, want)
		}
	}
	if _, folder, err := readPromptFile("", "own.md"); folder != "" || err != nil {
		t.Errorf("without a document: %q, %v", folder, err)
	}
	c := &Catalog{}
	big := &workflow.Workflow{Agents: []workflow.Agent{{ID: "a"}}}
	for i := range 5 {
		name := strings.Repeat("f", i+1) + ".md"
		write("project/doc/"+name, strings.Repeat("y", maxPromptFileBytes))
		big.Agents[0].PromptFiles = append(big.Agents[0].PromptFiles, name)
	}
	if _, err := c.Facts(big, dir); err == nil || !strings.Contains(err.Error(), "max_prompt_files_bytes") {
		t.Errorf("all together: %v", err)
	}
}

// SEC5: the files that an untrusted document may name.
func TestFiles_RequireTrust(t *testing.T) {
	t.Parallel()
	w := &workflow.Workflow{
		Agents: []workflow.Agent{{ID: "a", PromptFiles: []string{"AGENTS.md", ".env", "docs/rules.TXT", "id_rsa"}}},
		Flows: map[string]*workflow.Workflow{
			"f": {Agents: []workflow.Agent{{ID: "b", PromptFiles: []string{".ssh/notes.md", "AGENTS.md"}}}},
		},
		Branches: []*workflow.Workflow{{Agents: []workflow.Agent{{ID: "c", PromptFiles: []string{"key.pem"}}}}},
	}
	if d := cmp.Diff([]string{".env", "id_rsa", ".ssh/notes.md", "key.pem"}, Guarded(w, "")); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
}

// SEC5: a file written for human readers needs no trust if it belongs to the document's project,
// and only then.
func TestFilesOutsideTheProject(t *testing.T) {
	top := t.TempDir()
	t.Setenv("HOME", top)
	dir := filepath.Join(top, "work", "repo", "doc")
	for _, d := range []string{dir, filepath.Join(top, "work", "alone")} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range []string{"home.md", "work/above.md", "work/repo/root.md", "work/repo/doc/own.md",
		"work/repo/.git"} {
		if err := os.WriteFile(filepath.Join(top, filepath.FromSlash(f)), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	w := &workflow.Workflow{Agents: []workflow.Agent{
		{ID: "a", PromptFiles: []string{"own.md", "root.md", "above.md", "home.md", "none.md"}},
	}}
	for in, want := range map[string][]string{
		dir:                                 {filepath.Join(top, "work", "above.md"), filepath.Join(top, "home.md")},
		filepath.Join(top, "work", "alone"): {filepath.Join(top, "work", "above.md"), filepath.Join(top, "home.md")},
		filepath.Join(top, "work"):          {filepath.Join(top, "home.md")},
		top:                                 nil,
	} {
		if d := cmp.Diff(want, Guarded(w, in)); d != "" {
			t.Errorf("%s: -want +got\n%s", in, d)
		}
	}
}

// TestCommands checks the expansion of an input that invokes a command. Values from outside are not
// expanded again.
func TestCommands(t *testing.T) {
	t.Parallel()
	env := func(name string) string { return map[string]string{"WHO": "$1 ${args}", "EMPTY": ""}[name] }
	for instruction, want := range map[string]string{
		"Do it.":                                "Do it. a $1 ${env.WHO}",
		"Do $1, then $2 and $3$4.":              "Do a, then $1 and ${env.WHO}.",
		"Do ${args}.":                           "Do a $1 ${env.WHO}.",
		"Do $ARGUMENTS!":                        "Do a $1 ${env.WHO}!",
		"Do ${args[0]} or ${args[7]}.":          "Do a or .",
		`Do ${args.join(", ")}.`:                "Do a, $1, ${env.WHO}.",
		"Hi $WHO${EMPTY}, ${env.WHO}, $1.":      "Hi $1 ${args}, $1 ${args}, a.",
		"Hi ${env.EMPTY || 'you'} $1.":          "Hi you a.",
		`Hi ${env.EMPTY || "you"} $1.`:          "Hi you a.",
		"Costs $ 5 or $5x, see ${f({})} $1":     "Costs $ 5 or $5x, see ${f({})} a",
		"Lower $home stays, $1 too: $lower.":    "Lower $home stays, a too: $lower.",
		"Unclosed ${args and {{ $steps.a }} $1": "Unclosed ${args and {{ $steps.a }} a",
	} {
		if got := expand(workflow.Command{Instruction: instruction}, "a $1 ${env.WHO}", env); got != want {
			t.Errorf("%s\n gives %s\n want  %s", instruction, got, want)
		}
	}
	if d := cmp.Diff([]string{"A", "B", "C"},
		variables(workflow.Command{Instruction: "${C} $A ${env.B || 'x'} $A $1 ${args} $ARGUMENTS ${args[1]}"})); d !=
		"" {
		t.Errorf("-want +got\n%s", d)
	}
	for name, want := range map[string]bool{
		"OPENAI_API_KEY": true, "GITHUB_TOKEN": true, "DB_PASSWORD": true, "AWS_SECRET_ACCESS_KEY": true, "TOKEN": true,
		"GH_PAT": true, "SENTRY_DSN": true,
		"USER": false, "KEYBOARD": false, "PROJECT_NAME": false, "AUTHOR": false,
	} {
		if secretName.MatchString(name) != want {
			t.Errorf("%s counts as a secret: %t", name, !want)
		}
	}
}

// TestEntryAgent checks that the commands are those of the agent that is called first, if there is
// exactly one.
func TestEntryAgent(t *testing.T) {
	t.Parallel()
	agent := func(id string) workflow.Node {
		return workflow.Node{ID: id, Kind: workflow.KindAgent, Agent: &workflow.AgentNode{Agent: "agent-" + id}}
	}
	start := workflow.Node{ID: "s", Kind: workflow.KindStart}
	agents := []workflow.Agent{{ID: "agent-a", Commands: map[string]workflow.Command{"x": {Instruction: "y"}}},
		{ID: "agent-b"}}
	for name, tc := range map[string]struct {
		w    workflow.Workflow
		want string
	}{
		"the entry": {workflow.Workflow{Entry: "a", Nodes: []workflow.Node{agent("a"), agent("b")},
			Edges: []workflow.Edge{{From: "a", To: "b"}}}, "agent-a"},
		"after start": {workflow.Workflow{Entry: "s", Nodes: []workflow.Node{start, agent("b"), agent("a")},
			Edges: []workflow.Edge{{From: "s", To: "b"}}}, "agent-b"},
		"several": {workflow.Workflow{Entry: "s", Nodes: []workflow.Node{start, agent("b"), agent("a")},
			Edges: []workflow.Edge{{From: "s", To: "b"}, {From: "s", To: "a"}}}, ""},
		"a question": {workflow.Workflow{Entry: "w", Nodes: []workflow.Node{{ID: "w", Kind: workflow.KindWait},
			agent("a")}, Edges: []workflow.Edge{{From: "w", To: "a"}}}, ""},
		"a circle": {workflow.Workflow{Entry: "s", Nodes: []workflow.Node{start},
			Edges: []workflow.Edge{{From: "s", To: "s"}}}, ""},
		"nothing": {workflow.Workflow{}, ""},
	} {
		tc.w.Agents = agents
		got := ""
		if a := Entry(&tc.w); a != nil {
			got = a.ID
		}
		if got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}
