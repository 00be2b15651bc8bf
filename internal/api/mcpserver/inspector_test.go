package mcpserver_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestInspector drives `hocket mcp` and `hocket serve` with the command line of the MCP inspector,
// an independent client. Since version 2.0 the inspector itself needs Node 22.
func TestInspector(t *testing.T) {
	t.Parallel()
	node, inspector := program(t, "inspector-cli", "build", "index.js")
	address, token := serve(t)
	top := t.TempDir()
	dir := filepath.Join(top, "work")
	// The inspector locates its own package.json through ../package.json, relative to the working
	// directory.
	if err := errors.Join(os.Mkdir(dir, 0o755), os.WriteFile(filepath.Join(top, "package.json"), []byte("{}"),
		0o600)); err != nil {
		t.Fatal(err)
	}
	stdio := command(t, dir, "mcp")
	for transport, target := range map[string][]string{
		"stdio": stdio.Args,
		"http":  {address + "/mcp", "--transport", "http", "--header", "Authorization: Bearer " + token},
	} {
		t.Run(transport, func(t *testing.T) {
			t.Parallel()
			inspect := func(args ...string) (out object) {
				t.Helper()
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
				defer cancel()
				c := exec.CommandContext(ctx, node, append(append([]string{inspector}, target...), args...)...)
				c.Env, c.Dir = stdio.Env, dir
				text, err := c.Output()
				if err != nil {
					t.Fatalf("%v: %v\n%s", args, err, text)
				}
				if err := json.Unmarshal(text, &out); err != nil {
					t.Fatalf("%v: %v\n%s", args, err, text)
				}
				return out
			}
			if tools := inspect("--method", "tools/list")["tools"].([]any); len(tools) < 15 {
				t.Errorf("%d tools", len(tools))
			}
			made := inspect("--method", "tools/call", "--tool-name", "create_workflow", "--tool-arg", "name=Inspected")
			if at(t, made, "structuredContent", "id") != "inspected" {
				t.Errorf("create_workflow: %v", made)
			}
			run := inspect("--method", "tools/call", "--tool-name", "execute_workflow", "--tool-arg", "id=inspected")
			if at(t, run, "structuredContent", "status") != "completed" {
				t.Errorf("execute_workflow: %v", run)
			}
			if bad := inspect("--method", "tools/call", "--tool-name", "get_run", "--tool-arg",
				"id=nope"); bad["isError"] != true || !strings.HasPrefix(at(t, bad, "content", 0, "text").(string),
				"not_found: ") {
				t.Errorf("get_run: %v", bad)
			}
			read := inspect("--method", "resources/read", "--uri", "hocket://workflows/inspected")
			mustContain(t, at(t, read, "contents", 0, "text").(string), `"name": "Inspected"`)
			if got := inspect("--method", "resources/templates/list")["resourceTemplates"].([]any); len(got) != 6 {
				t.Errorf("templates: %v", got)
			}
		})
	}
}
