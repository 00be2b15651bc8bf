//go:build unix

package mcp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/tool"
	"github.com/hocket-run/hocket/internal/tool/mcp"
	"github.com/hocket-run/hocket/internal/tool/tooltest"
)

// npmProgram returns a program by the authors of the protocol that `npm ci` in scripts/mcp
// installs. If it is missing, the test is skipped, unless HOCKET_MCP is set.
func npmProgram(t *testing.T, pkg string) (node, program string) {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("..", "..", "..", "scripts", "mcp", "node_modules", "@modelcontextprotocol",
		pkg, "dist", "index.js"))
	if err == nil {
		_, err = os.Stat(dir)
	}
	if err == nil {
		node, err = exec.LookPath("node")
	}
	if err != nil {
		const how = "the MCP servers of npm are not installed: run `npm ci` in scripts/mcp, or `make test`"
		if os.Getenv("HOCKET_MCP") != "" {
			t.Fatal(how)
		}
		t.Skip(how)
	}
	return node, dir
}

// everything is the reference server over streamable HTTP, running as a process that can be killed.
type everything struct {
	t    *testing.T
	port string
	cmd  *exec.Cmd
}

func (e *everything) url() string { return "http://127.0.0.1:" + e.port + "/mcp" }

func (e *everything) start() {
	e.t.Helper()
	node, program := npmProgram(e.t, "server-everything")
	e.cmd = exec.Command(node, program, "streamableHttp")
	e.cmd.Env = append(os.Environ(), "PORT="+e.port)
	said, err := e.cmd.StderrPipe()
	if err != nil {
		e.t.Fatal(err)
	}
	if err := e.cmd.Start(); err != nil {
		e.t.Fatal(err)
	}
	lines := bufio.NewScanner(said)
	for lines.Scan() {
		if strings.Contains(lines.Text(), "listening on port") {
			go func() {
				for lines.Scan() { // so that the process does not block
				}
			}()
			return
		}
	}
	e.t.Fatal("the server ended before it listened")
}

func (e *everything) kill() {
	_ = e.cmd.Process.Kill() // it may have exited already
	_ = e.cmd.Wait()         // killed
}

func startEverything(t *testing.T) *everything {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err = errors.Join(err, l.Close()); err != nil {
		t.Fatal(err)
	}
	e := &everything{t: t, port: port}
	e.start()
	t.Cleanup(func() { e.kill() })
	return e
}

// TestEverything exercises the official reference server over both transports.
func TestEverything(t *testing.T) {
	t.Parallel()
	node, program := npmProgram(t, "server-everything")
	stdio := tool.Spec{Type: tool.TypeMCP, Name: "srv", Command: node, Args: []string{program, "stdio"}, Trusted: true}
	for name, how := range map[string]func(t *testing.T) (mcp.Config, tool.Spec){
		"stdio": func(*testing.T) (mcp.Config, tool.Spec) { return mcp.Config{}, stdio },
		"http":  func(t *testing.T) (mcp.Config, tool.Spec) { return httpConfig(t), remote(startEverything(t).url()) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg, spec := how(t)
			cfg.IdleTimeout = 10 * time.Second
			ts := open(t, cfg, spec)
			for _, test := range []struct{ tool, args, text, structured string }{
				{"echo", `{"message":"hello"}`, "Echo: hello", ""},
				{"get-sum", `{"a":2,"b":40}`, "42", ""},
				{"get-tiny-image", `{}`, "[image: image/png", `"type":"image"`},
				{"get-structured-content", `{"location":"Chicago"}`, "", `"temperature"`},
				{"get-annotated-message", `{"messageType":"error","includeImage":true}`, "[image: image/png",
					`"annotations"`},
				{"get-resource-reference", `{"resourceType":"Text","resourceId":1}`, "[resource: ", `"resource"`},
				{"get-resource-links", `{"count":2}`, "[resource: ", `"resource_link"`},
			} {
				r, err := call(t, ts, test.tool, test.args)
				if err != nil || r.IsError || !strings.Contains(r.Text, test.text) ||
					!strings.Contains(string(r.Structured), test.structured) {
					t.Errorf("%s: %+v, %v; want %q and %q", test.tool, r, err, test.text, test.structured)
				}
			}
			for _, args := range []string{`{"a":"two","b":40}`, `{}`} {
				if r, err := call(t, ts, "get-sum", args); err == nil && !r.IsError {
					t.Errorf("get-sum of %s gives %+v", args, r)
				}
			}
			// Longer than a call may go without a heartbeat; progress counts as one.
			r, err := call(t, ts, "trigger-long-running-operation", `{"duration":12,"steps":24}`)
			if err != nil || r.IsError || !strings.Contains(r.Text, "completed") {
				t.Errorf("a long call with progress: %+v, %v", r, err)
			}
			// Without progress the call ends in time, and its outcome is unknown (P11).
			_, err = call(t, ts, "trigger-long-running-operation", `{"duration":600,"steps":1}`)
			wantError(t, err, tool.KindTimeout, true)
			long := named(t, ts, "trigger-long-running-operation")
			ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
			defer cancel()
			if _, err := long.Call(ctx,
				tool.Call{Arguments: json.RawMessage(`{"duration":600,"steps":1}`)}); !errors.Is(err,
				context.DeadlineExceeded) {
				t.Errorf("cancelled: %v", err)
			}
			if r, err := call(t, ts, "echo", `{"message":"still here"}`); err != nil || r.Text != "Echo: still here" {
				t.Errorf("after a cancelled call: %+v, %v", r, err)
			}
		})
	}
}

func TestConformEverything(t *testing.T) {
	t.Parallel()
	node, program := npmProgram(t, "server-everything")
	tooltest.Conform(t, tooltest.Case{
		Open: func(t *testing.T) tool.Toolset {
			return open(t, mcp.Config{}, tool.Spec{Type: tool.TypeMCP, Name: "srv", Command: node,
				Args: []string{program}, Trusted: true})
		},
		Good: tool.Call{Name: "echo", Arguments: json.RawMessage(`{"message":"x"}`)},
	})
}

// TestEverythingRestarts checks that after a server was killed and restarted and knows no session,
// the next call uses a new one. While it is down, calls fail as not executed.
func TestEverythingRestarts(t *testing.T) {
	t.Parallel()
	e := startEverything(t)
	cfg := httpConfig(t)
	ts := open(t, cfg, remote(e.url()))
	echo := named(t, ts, "echo")
	hello := tool.Call{Arguments: json.RawMessage(`{"message":"hello"}`)}
	if _, err := echo.Call(t.Context(), hello); err != nil {
		t.Fatal(err)
	}
	e.kill()
	cfg.HTTPClient.CloseIdleConnections() // a request sent on an idle connection may have arrived
	_, err := echo.Call(t.Context(), hello)
	wantError(t, err, tool.KindNetwork, false)
	e.start()
	for range 2 {
		if r, err := echo.Call(t.Context(), hello); err != nil || r.Text != "Echo: hello" {
			t.Fatalf("%+v, %v", r, err)
		}
	}
}

// TestEverything_SessionExpired checks that when the server has ended a session, for which the
// protocol requires status 404, the call is made over a new session.
func TestEverything_SessionExpired(t *testing.T) {
	t.Parallel()
	e := startEverything(t)
	cfg := httpConfig(t)
	var session atomic.Value
	inner := cfg.HTTPClient.Transport
	cfg.HTTPClient.Transport = tripper(func(r *http.Request) (*http.Response, error) {
		resp, err := inner.RoundTrip(r)
		if err == nil && resp.Header.Get("Mcp-Session-Id") != "" {
			session.Store(resp.Header.Get("Mcp-Session-Id"))
		}
		return resp, err
	})
	ts := open(t, cfg, remote(e.url()))
	echo := named(t, ts, "echo")
	first := session.Load().(string)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodDelete, e.url(), nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Mcp-Session-Id", first)
	resp, err := client(t).Do(req)
	if err != nil || resp.StatusCode/100 != 2 {
		t.Fatalf("%v, %v", resp, err)
	}
	resp.Body.Close()
	if r, err := echo.Call(t.Context(), tool.Call{Arguments: json.RawMessage(`{"message":"hello"}`)}); err != nil ||
		r.Text != "Echo: hello" {
		t.Fatalf("%+v, %v", r, err)
	}
	if session.Load() == first {
		t.Error("the session is the old one")
	}
}

type tripper func(*http.Request) (*http.Response, error)

func (t tripper) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

// TestFilesystemServer exercises the reference server for files, which receives its folder as an
// argument.
func TestFilesystemServer(t *testing.T) {
	t.Parallel()
	node, program := npmProgram(t, "server-filesystem")
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	ts := open(t, mcp.Config{}, tool.Spec{Type: tool.TypeMCP, Name: "files", Command: node,
		Args: []string{program, dir}, Trusted: true})
	path := filepath.Join(dir, "a.txt")
	args, err := json.Marshal(map[string]string{"path": path, "content": "kept"})
	if err != nil {
		t.Fatal(err)
	}
	if r, err := call(t, ts, "write_file", string(args)); err != nil || r.IsError {
		t.Fatalf("%+v, %v", r, err)
	}
	if data, err := os.ReadFile(path); err != nil || string(data) != "kept" {
		t.Errorf("%q, %v", data, err)
	}
	args, err = json.Marshal(map[string]string{"path": path})
	if err != nil {
		t.Fatal(err)
	}
	if r, err := call(t, ts, "read_text_file", string(args)); err != nil || r.Text != "kept" {
		t.Errorf("%+v, %v", r, err)
	}
	if r, err := call(t, ts, "read_text_file", `{"path":"/etc/passwd"}`); err != nil || !r.IsError {
		t.Errorf("outside its folder: %+v, %v", r, err)
	}
}

// conformanceClient is the client that the conformance suite starts: it opens a toolset on the
// scenario's server and calls the tools that it offers.
func conformanceClient(url string) error {
	ts, err := mcp.New(mcp.Config{HTTPClient: &http.Client{Transport: &http.Transport{}}}, remote(url))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), waitLimit)
	defer cancel()
	tools, err := ts.Tools(ctx)
	for _, tl := range tools {
		args := `{}`
		if tl.Def().Name == "add_numbers" {
			args = `{"a":2,"b":40}`
		}
		_, e := tl.Call(ctx, tool.Call{Arguments: json.RawMessage(args), Key: "run/1/call/1"})
		err = errors.Join(err, e)
	}
	return errors.Join(err, ts.Close())
}

// TestConformanceSuite runs the protocol's own conformance suite for clients, limited to the
// scenarios for features that Hocket supports: Hocket answers no elicitation requests and holds no
// OAuth tokens.
func TestConformanceSuite(t *testing.T) {
	t.Parallel()
	node, program := npmProgram(t, "conformance")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, scenario := range []string{"initialize", "tools_call", "sse-retry"} {
		t.Run(scenario, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			c := exec.CommandContext(t.Context(), node, program, "client", "--command", self, "--scenario", scenario,
				"-o", dir)
			c.Env = append(os.Environ(), modeVar+"=client")
			out, err := c.CombinedOutput()
			found, globErr := filepath.Glob(filepath.Join(dir, "*", "checks.json"))
			if globErr != nil || len(found) != 1 {
				t.Fatalf("%v, %v, %v\n%s", err, found, globErr, out)
			}
			data, readErr := os.ReadFile(found[0])
			var checks []struct{ ID, Status, ErrorMessage string }
			if readErr = errors.Join(readErr, json.Unmarshal(data, &checks)); readErr != nil {
				t.Fatal(readErr)
			}
			passed := 0
			for _, k := range checks {
				switch k.Status {
				case "SUCCESS":
					passed++
				case "FAILURE":
					t.Errorf("%s: %s", k.ID, k.ErrorMessage)
				}
			}
			if err != nil || passed == 0 {
				t.Errorf("%d checks passed; %v\n%s", passed, err, out)
			}
		})
	}
}
