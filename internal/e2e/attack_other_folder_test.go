//go:build unix

package e2e_test

import (
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// elsewhereDocument starts programs in every way that documents support, each by a path that also
// exists in other folders. The run waits before it calls them.
const (
	elsewhereDocument = `permissions: {ask: [exec]}
agents:
  a:
    model: openai/m
    instruction: go
    toolsets:
      - {type: mcp, name: one, command: ./server.sh, args: [own]}
      - {type: mcp, name: two, command: sh, args: [server.sh, mine]}
      - {type: mcp, name: three, command: sh, args: [../server.sh, sub], working_dir: sub}
      - {type: shell, commands: [./build.sh]}
      - {type: script, shell: {make: {cmd: "sh make.sh 'in quotes'"}, do: {argv: [./make.sh]}}}
      - {type: filesystem, post_edit: [{path: "*.md", cmd: ./after.sh}]}
workflow:
  - {type: agent, name: a}
`
	elsewhereReplies = `replies:
  - {agent: a, toolCalls: [{name: exec, arguments: {argv: [./build.sh]}}]}
  - {agent: a, toolCalls: [{name: make, arguments: {}}, {name: do, arguments: {}}, {name: write_file, arguments: ` +
		`{path: x.md, content: x}}, {name: own, arguments: {}}]}
  - {agent: a, text: done}
`
	// elsewhereServer is an MCP server with one tool, named by its argument. Each program appends a
	// line with its origin to the file @LOG@.
	elsewhereServer = `#!/bin/sh
echo "@WHERE@ server $1" >>'@LOG@'
while read -r line; do
	id=$(printf %s "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
	case $line in
	*'"initialize"'*) printf ` +
		`'{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},` +
		`"serverInfo":{"name":"s","version":"1"}}}\n' $id ;;
	*'"tools/list"'*) printf ` +
		`'{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"%s","inputSchema":{"type":"object"}}]}}\n' $id $1 ;;
	*'"tools/call"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"called"}]}}\n' $id ;;
	esac
done
`
)

type elsewhere struct {
	t              *testing.T
	home, own, log string
}

// programs writes the programs into a folder; each says where it came from.
func (e *elsewhere) programs(dir, where string) {
	e.t.Helper()
	for _, name := range []string{"build.sh", "make.sh", "after.sh", "server.sh"} {
		text := "#!/bin/sh\necho '" + where + " " + name + "' >>'" + e.log + "'\n"
		if name == "server.sh" {
			text = strings.NewReplacer("@WHERE@", where, "@LOG@", e.log).Replace(elsewhereServer)
		}
		e.write(filepath.Join(dir, name), text)
	}
	e.write(filepath.Join(dir, "sub", "server.sh"), strings.NewReplacer("@WHERE@", where, "@LOG@", e.log).Replace(
		elsewhereServer))
}

func (e *elsewhere) write(path, text string) {
	e.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		e.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		e.t.Fatal(err)
	}
}

// runIn runs the command line in a folder and returns its exit status and output.
func (e *elsewhere) runIn(dir string, args ...string) (int, string) {
	e.t.Helper()
	bin := programOf(e.t, nil)
	c := exec.CommandContext(e.t.Context(), bin, args...)
	c.Dir, c.Env = dir, []string{"HOME=" + e.home, "HOCKET_HOME=" + e.home, "PATH=" + os.Getenv("PATH")}
	out, _ := c.CombinedOutput()
	return c.ProcessState.ExitCode(), string(out)
}

// started returns how often programs from a place were started.
func (e *elsewhere) started(where string) int {
	b, _ := os.ReadFile(e.log) // a missing file means none
	return strings.Count(string(b), where+" ")
}

// TestAttackResumeOtherFolder reproduces attack 28 in the list of repairs: a run that was allowed
// to start programs in one folder is resumed in a place where other programs have the same names,
// and where its own programs were changed. None of them is started without a second confirmation,
// on the command line and by a server (SEC5).
func TestAttackResumeOtherFolder(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	e := &elsewhere{t: t, home: home, own: filepath.Join(t.TempDir(), "own"), log: filepath.Join(t.TempDir(), "log")}
	e.programs(e.own, "own")
	e.programs(home, "other") // the server's directory
	other := filepath.Join(t.TempDir(), "other")
	e.programs(other, "other")
	e.write(filepath.Join(e.own, "doc.yaml"), elsewhereDocument)
	e.write(filepath.Join(e.own, "replies.yaml"), elsewhereReplies)
	run := func(id string) {
		t.Helper()
		if status, said := e.runIn(e.own, "run", "doc.yaml", "--replies", "replies.yaml", "--trust", "--run-id", id,
			"hi"); status != 3 {
			t.Fatalf("the run did not pause: %d, %s", status, said)
		}
	}
	tries := 0
	refused := func(what, dir string, args ...string) {
		t.Helper()
		tries++
		before := e.started("own") + e.started("other") + e.started("changed")
		status, said := e.runIn(dir, args...)
		if status != 2 || !strings.Contains(said, "allow it with --trust") ||
			!strings.Contains(said, "./server.sh own") || !strings.Contains(said, "run ./build.sh") {
			t.Errorf("%s: status %d, %s; want 2 and what would be allowed", what, status, said)
		}
		if now := e.started("own") + e.started("other") + e.started("changed"); now != before {
			t.Errorf("%s: %d programs were started", what, now-before)
		}
	}
	run("r1")
	for what, dir := range map[string]string{"another folder": other, "a folder below": filepath.Join(e.own, "sub"),
		"the folder above": filepath.Dir(e.own), "home": home} {
		refused(what, dir, "resume", "r1", "--approve")
	}
	refused("another folder, rejected", other, "resume", "r1", "--reject")
	p := serve(t, home, nil)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.url+"/api/v1/runs/r1/resume",
		strings.NewReader(`{"decision":"approve"}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+testToken)
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(res.Body)
	_ = res.Body.Close()
	if tries++; res.StatusCode/100 != 4 || !strings.Contains(string(body), "a different folder") {
		t.Errorf("over HTTP: %d, %s; want it refused", res.StatusCode, body)
	}
	p.kill()
	for _, name := range []string{"build.sh", "make.sh", "after.sh", "server.sh"} {
		path := filepath.Join(e.own, name)
		was, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		e.write(path, "#!/bin/sh\necho 'changed "+name+"' >>'"+e.log+"'\n")
		refused("changed "+name, e.own, "resume", "r1", "--approve")
		if name == "make.sh" || name == "after.sh" {
			e.write(path, string(was))
			continue
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		refused("without "+name, e.own, "resume", "r1", "--approve")
		if err := os.Symlink(filepath.Join(other, name), path); err != nil {
			t.Fatal(err)
		}
		refused("a link for "+name, e.own, "resume", "r1", "--approve")
		_ = os.Remove(path)
		e.write(path, string(was))
	}
	if status, said := e.runIn(e.own, "resume", "r1", "--approve"); status != 0 || !strings.Contains(said, "done") {
		t.Errorf("where it was allowed, unchanged: %d, %s", status, said)
	}
	run("r2")
	if status, said := e.runIn(other, "resume", "r2", "--approve", "--trust"); status != 0 ||
		!strings.Contains(said, "done") {
		t.Errorf("allowed again elsewhere: %d, %s", status, said)
	}
	t.Logf("%d tries without a yes; programs started of the folder where it was allowed: %d, of others: %d, changed "+
		"ones: %d", tries, e.started("own"), e.started("other"), e.started("changed"))
	if e.started("other")+e.started("changed") > 0 || e.started("own") < 10 {
		t.Error("other programs were started than those that were allowed")
	}
}
