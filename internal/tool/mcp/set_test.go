//go:build unix

package mcp_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/tool"
	"github.com/hocket-run/hocket/internal/tool/mcp"
)

// set returns a Set whose agent `a` has all of specs.
func set(t *testing.T, specs ...tool.Spec) *tool.Set {
	t.Helper()
	s, err := tool.NewSet(tool.Config{
		Agents: map[string]tool.Grant{"a": {Names: []string{tool.All}}}, Extra: specs,
		Types: map[string]tool.Type{tool.TypeMCP: mcp.Type(quick())},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// TestClash checks that tools keep their names, and that the toolset's name is a prefix only if two
// tools clash.
func TestClash(t *testing.T) {
	t.Parallel()
	one, two := stdio(t, "basic"), stdio(t, "basic")
	one.Name, one.Tools = "one", []string{"echo", "meta"}
	two.Name, two.Tools = "two", []string{"echo", "buy"}
	s := set(t, one, two)
	defs, err := s.Defs(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, d := range defs {
		names = append(names, d.Name)
	}
	if got, want := strings.Join(names, " "), "one_echo meta buy two_echo"; got != want {
		t.Errorf("offered %s, want %s", got, want)
	}
	for _, name := range []string{"one_echo", "two_echo"} {
		if r, err := s.Call(t.Context(), tool.Call{Agent: "a", Name: name,
			Arguments: json.RawMessage(`{"text":"x"}`)}); err != nil || r.Text != "x" {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
	_, err = s.Call(t.Context(), tool.Call{Agent: "a", Name: "echo", Arguments: json.RawMessage(`{"text":"x"}`)})
	wantError(t, err, tool.KindUnknownTool, false, "available tools: one_echo, meta, buy, two_echo")
	_, err = s.Call(t.Context(), tool.Call{Agent: "a", Name: "one_echo", Arguments: json.RawMessage(`{"text":1}`)})
	wantError(t, err, tool.KindInvalidArguments, false, "/text: must be a string, not a number")
}

// TestSetRefuses checks that a toolset that may not be started causes an error with a reason, and
// that one that Hocket cannot open offers no tools, and calls report why.
func TestSetRefuses(t *testing.T) {
	t.Parallel()
	untrusted := stdio(t, "basic")
	untrusted.Trusted = false
	_, err := set(t, untrusted).Defs(t.Context(), "a")
	var refused *tool.UntrustedError
	if !errors.As(err, &refused) || refused.Toolset != "srv" {
		t.Errorf("SEC5: %v", err)
	}
	wantError(t, err, tool.KindUntrusted, false, "is not allowed to start the command")

	s := set(t, tool.Spec{Type: tool.TypeMCP, Ref: "docker:context7"}, stdio(t, "basic"))
	if _, err := s.Defs(t.Context(), "a"); err != nil {
		t.Error(err)
	}
	_, err = s.Call(t.Context(), tool.Call{Agent: "a", Name: "resolve-library-id"})
	wantError(t, err, tool.KindUnknownTool, false, "needs the Docker catalog (docker:context7), which is not supported")
}

// TestSetPins checks that a change that a server announces during the run changes neither the tools
// offered nor the tools called (SEC14).
func TestSetPins(t *testing.T) {
	t.Parallel()
	s := set(t, stdio(t, "basic"))
	call := func(name, args string) error {
		_, err := s.Call(t.Context(), tool.Call{Agent: "a", Name: name, Arguments: json.RawMessage(args)})
		return err
	}
	for _, how := range []string{"add", "describe"} {
		if err := call("change", `{"how":"`+how+`"}`); err != nil {
			t.Fatal(err)
		}
	}
	waitFor(t, func() bool { return call("echo", `{"text":"x"}`) != nil })
	var hold *tool.HoldError
	if err := call("echo", `{"text":"x"}`); !errors.As(err, &hold) ||
		!strings.Contains(hold.Hold.Prompt, "Description now:") {
		t.Errorf("got %v, want an approval that shows what changed", err)
	}
	wantError(t, call("newcomer", `{}`), tool.KindUnknownTool, false)
	if err := call("buy", `{}`); err != nil {
		t.Errorf("a tool that did not change: %v", err)
	}
}
