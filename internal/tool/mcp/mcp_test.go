//go:build unix

package mcp_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hocket-run/hocket/internal/tool"
	"github.com/hocket-run/hocket/internal/tool/mcp"
	"github.com/hocket-run/hocket/internal/tool/tooltest"
)

// stdio returns the spec of a server that is this test binary in the given mode.
func stdio(t *testing.T, mode string) tool.Spec {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return tool.Spec{Type: tool.TypeMCP, Name: "srv", Command: exe, Env: map[string]string{modeVar: mode},
		Trusted: true}
}

// waitLimit is how long a test waits for something that must happen, even on a busy machine.
const waitLimit = 5 * time.Minute

// quick returns limits for a server that stops when asked to: they are so long that the server is
// never killed instead, however slow the machine is.
func quick() mcp.Config {
	return mcp.Config{ReconnectDelay: time.Millisecond, CloseGrace: waitLimit}
}

// shortLimits returns limits that let a test of an unresponsive server end soon.
func shortLimits() mcp.Config {
	return mcp.Config{ReconnectDelay: time.Millisecond, CloseGrace: 500 * time.Millisecond}
}

// open returns a toolset that is closed when the test ends.
func open(t *testing.T, cfg mcp.Config, spec tool.Spec) *mcp.Toolset {
	t.Helper()
	ts, err := mcp.New(cfg, spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := ts.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return ts
}

func named(t *testing.T, ts *mcp.Toolset, name string) tool.Tool {
	t.Helper()
	tools, err := ts.Tools(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, tl := range tools {
		if tl.Def().Name == name {
			return tl
		}
	}
	t.Fatalf("no tool %q", name)
	return nil
}

func call(t *testing.T, ts *mcp.Toolset, name, args string) (tool.Result, error) {
	t.Helper()
	return named(t, ts, name).Call(t.Context(), tool.Call{Name: name, Arguments: json.RawMessage(args),
		Key: "run/1/call/7"})
}

// wantError checks an error's kind and wording, and whether the outcome is known.
func wantError(t *testing.T, err error, kind tool.ErrorKind, unknown bool, words ...string) {
	t.Helper()
	var e *tool.Error
	if !errors.As(err, &e) || e.Kind != kind || e.OutcomeUnknown != unknown {
		t.Fatalf("got %#v (%v), want kind %s, outcome unknown %v", e, err, kind, unknown)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("error %q does not say %q", err, w)
		}
	}
}

func TestConformStdio(t *testing.T) {
	t.Parallel()
	tooltest.Conform(t, tooltest.Case{
		Open: func(t *testing.T) tool.Toolset { return open(t, quick(), stdio(t, "basic")) },
		Good: tool.Call{Name: "echo", Arguments: json.RawMessage(`{"text":"x"}`)},
	})
}

func TestList(t *testing.T) {
	t.Parallel()
	ts := open(t, quick(), stdio(t, "basic"))
	tools, err := ts.Tools(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]tool.Policy{}
	for _, tl := range tools {
		got[tl.Def().Name] = tl.Policy()
	}
	if len(got) < 12 { // the server's pages hold 5 tools each
		t.Errorf("%d tools; want those of all pages", len(got))
	}
	for name, want := range map[string]tool.Policy{"echo": tool.PolicyRetry, "put": tool.PolicyRetry,
		"buy": tool.PolicyAsk} {
		if got[name] != want {
			t.Errorf("%s: policy %s, want %s", name, got[name], want)
		}
	}
	if def := named(t, ts, "echo").Def(); def.Description != "Says it again" ||
		!strings.Contains(string(def.Parameters), `"required":["text"]`) {
		t.Errorf("echo: %+v", def)
	}
	if got := ts.Instructions(); got != "Ask nicely." {
		t.Errorf("instructions %q", got)
	}
}

func TestResults(t *testing.T) {
	t.Parallel()
	ts := open(t, quick(), stdio(t, "basic"))
	for _, tc := range []struct {
		tool, args string
		want       tool.Result
	}{
		{"echo", `{"text":"hi"}`, tool.Result{Text: "hi"}},
		{"meta", ``, tool.Result{Text: "run/1/call/7"}},
		{"sorry", `{}`, tool.Result{Text: "no such record", IsError: true}},
		{"structured", `{}`, tool.Result{Text: `{"n":1}`, Structured: json.RawMessage(`{"n":1}`)}},
		{"rich", `{}`, tool.Result{
			Text: "before\n[image: image/png, 3 bytes]\n[audio: audio/wav, 4 bytes]\n[resource: file:///a.txt, a, " +
				"text/plain]\n" +
				"[resource: mem://b, text/plain]\ninside\n[resource: mem://c, 5 bytes]",
			Structured: json.RawMessage(
				`{"content":[{"type":"text","text":"before"},{"type":"image","mimeType":"image/png","data":"cG5n"},` +
					`{"type":"audio","mimeType":"audio/wav","data":"d2F2ZQ=="},` +
					`{"type":"resource_link","mimeType":"text/plain","uri":"file:///a.txt","name":"a"},` +
					`{"type":"resource","resource":{"uri":"mem://b","mimeType":"text/plain","text":"inside"}},` +
					`{"type":"resource","resource":{"uri":"mem://c","blob":"YmxvYiE="}}],"structuredContent":{"n":1}}`),
		}},
	} {
		t.Run(tc.tool, func(t *testing.T) {
			got, err := call(t, ts, tc.tool, tc.args)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestConnect_NewProtocol checks that a server that knows only the newer handshake is contacted
// with it.
func TestConnect_NewProtocol(t *testing.T) {
	t.Parallel()
	r, err := call(t, open(t, quick(), stdio(t, "modern")), "echo", `{"text":"hi"}`)
	if err != nil || r.Text != "hi" {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestUntrusted checks that nothing starts unless it is trusted (SEC5).
func TestUntrusted(t *testing.T) {
	t.Parallel()
	spec := stdio(t, "basic")
	spec.Trusted, spec.Command, spec.Args = false, "server", []string{"--all"}
	_, err := mcp.New(quick(), spec)
	var untrusted *tool.UntrustedError
	if !errors.As(err, &untrusted) {
		t.Fatalf("got %v, want *tool.UntrustedError", err)
	}
	if diff := cmp.Diff([]string{"env", modeVar + "=basic", "server", "--all"}, untrusted.Command); diff != "" {
		t.Error(diff)
	}
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		spec tool.Spec
		kind tool.ErrorKind
		want string
	}{
		{"catalog", tool.Spec{Ref: "docker:context7"}, tool.KindUnsupported, "Docker catalog"},
		{"unknown ref", tool.Spec{Ref: "x"}, tool.KindFailed, "unknown definition"},
		{"nothing", tool.Spec{}, tool.KindFailed, "neither a command"},
		{"remote without client", tool.Spec{Remote: &tool.Remote{URL: "http://h/"}}, tool.KindUnsupported,
			"not allowed here"},
		{"transport", tool.Spec{Remote: &tool.Remote{URL: "http://h/", Transport: "sse"}}, tool.KindUnsupported,
			"use streamable HTTP"},
		{"variable", tool.Spec{Command: "x", Trusted: true, Env: map[string]string{"A": "${NOPE}"}}, tool.KindFailed,
			"variable NOPE is not set"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			tc.spec.Type = tool.TypeMCP
			_, err := mcp.New(mcp.Config{}, tc.spec)
			wantError(t, err, tc.kind, false, tc.want)
		})
	}
}

// TestEnvironment checks that a server sees the variables that the spec names and basic ones, never
// the keys of the process.
func TestEnvironment(t *testing.T) {
	t.Parallel()
	spec := stdio(t, "basic")
	spec.Env["NAMED"], spec.Env["LITERAL"] = "${env.REGION}", "a$$b"
	cfg := quick()
	cfg.Environ = func() []string { return append(os.Environ(), "OPENAI_API_KEY=sk-123456789", "LANG=C") }
	cfg.Lookup = func(name string) (string, bool) {
		return map[string]string{"REGION": "north"}[name], name == "REGION"
	}
	ts := open(t, cfg, spec)
	for name, want := range map[string]string{
		"OPENAI_API_KEY": " false", "REGION": " false", "NAMED": "north true", "LITERAL": "a$b true", "LANG": "C true",
		"PATH": os.Getenv("PATH") + " true",
	} {
		if r, err := call(t, ts, "env", `{"name":"`+name+`"}`); err != nil || r.Text != want {
			t.Errorf("%s: got %q (%v), want %q", name, r.Text, err, want)
		}
	}
}

const canary = "canary-4711-secret"

// TestSecrets checks that a secret passed to a server is in no result, error or log line, whatever
// the server does with it (SEC11), whether the spec refers to it properly or contains it literally.
func TestSecrets(t *testing.T) {
	t.Parallel()
	for name, token := range map[string]string{"reference": "$API_TOKEN", "literal": canary,
		"literal in words": "token " + canary} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testSecrets(t, token)
		})
	}
}

func testSecrets(t *testing.T, token string) {
	t.Helper()
	var mu sync.Mutex
	var logged bytes.Buffer
	cfg := quick()
	cfg.Lookup = func(string) (string, bool) { return canary, true }
	cfg.Logger = slog.New(slog.NewTextHandler(writerFunc(func(p []byte) (int, error) {
		mu.Lock()
		defer mu.Unlock()
		return logged.Write(p)
	}), &slog.HandlerOptions{Level: slog.LevelDebug}))
	check := func(what, text string) {
		t.Helper()
		if strings.Contains(text, canary) || !strings.Contains(text, "[redacted]") {
			t.Errorf("%s: %q; want the secret blotted out", what, text)
		}
	}
	spec := stdio(t, "basic")
	spec.Env["API_TOKEN"] = token
	ts := open(t, cfg, spec)
	r, err := call(t, ts, "env", `{"name":"API_TOKEN"}`)
	if err != nil {
		t.Fatal(err)
	}
	check("result", r.Text)
	_, err = call(t, ts, "refuse", `{}`)
	check("error", fmt.Sprint(err))

	dying := stdio(t, "die")
	dying.Env["API_TOKEN"] = token
	_, err = open(t, cfg, dying).Tools(t.Context())
	check("last words", fmt.Sprint(err))
	mu.Lock()
	defer mu.Unlock()
	check("log", logged.String())
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func TestOpenFailures(t *testing.T) {
	t.Parallel()
	silent := stdio(t, "silent")
	silent.ConnectTimeout = 300 * time.Millisecond
	for _, tc := range []struct {
		name  string
		spec  tool.Spec
		kind  tool.ErrorKind
		words []string
	}{
		{"never answers (P11)", silent, tool.KindTimeout, []string{"did not answer within 300ms"}},
		{"ends at once", stdio(t, "die"), tool.KindFailed, []string{"exit status 3", "cannot read the licence file"}},
		{"no such program", tool.Spec{Type: "mcp", Command: "no-such-program-here", Trusted: true}, tool.KindFailed,
			[]string{"no-such-program-here", "not found"}},
		{"no protocol", tool.Spec{Type: "mcp", Command: "echo", Args: []string{"hello"}, Trusted: true},
			tool.KindFailed, nil},
		{"pages without end", stdio(t, "endless"), tool.KindFailed, []string{"more than 100 pages"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			ts := open(t, quick(), tc.spec)
			_, err := ts.Tools(t.Context())
			wantError(t, err, tc.kind, false, tc.words...)
		})
	}
}

func exists(dir, name string) bool {
	_, err := os.Stat(filepath.Join(dir, name))
	return err == nil
}

// waitFor polls until another process has done something.
func waitFor(t *testing.T, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(waitLimit)
	for !ok() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("it did not happen within %s", waitLimit)
		}
	}
}

func kill(pid int) error {
	p, err := os.FindProcess(pid)
	if err != nil {
		return err
	}
	return p.Kill()
}
