package tooltest

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hocket-run/hocket/internal/tool"
)

// Case is a toolset under test.
type Case struct {
	// Open returns a new toolset; it is called once per rule.
	Open func(t *testing.T) tool.Toolset
	// Good is a call of one of its tools that succeeds. Agent and Key are set by Conform.
	Good tool.Call
	// Holds is the kind of hold with which Good ends instead of a result; empty means that Good has
	// a result.
	Holds string
}

// Conform checks the rules that [tool.Tool] and [tool.Toolset] document and that apply to every
// toolset.
func Conform(t *testing.T, c Case) {
	t.Helper()
	open := func(t *testing.T) (tool.Toolset, []tool.Tool) {
		t.Helper()
		ts := c.Open(t)
		t.Cleanup(func() { _ = ts.Close() })
		tools, err := ts.Tools(t.Context())
		if err != nil {
			t.Fatalf("Tools: %v", err)
		}
		return ts, tools
	}
	t.Run("definitions", func(t *testing.T) {
		ts, tools := open(t)
		if ts.Name() == "" || len(tools) == 0 {
			t.Fatalf("name %q, %d tools; want a name and tools", ts.Name(), len(tools))
		}
		seen := map[string]bool{}
		for _, tl := range tools {
			def := tl.Def()
			if def.Name == "" || seen[def.Name] {
				t.Errorf("name %q is empty or not unique", def.Name)
			}
			seen[def.Name] = true
			if !tl.Policy().Valid() {
				t.Errorf("%s: policy %q", def.Name, tl.Policy())
			}
			var schema struct {
				Type string `json:"type"`
			}
			if def.Parameters == nil {
				continue
			}
			if err := json.Unmarshal(def.Parameters, &schema); err != nil || schema.Type != "object" {
				t.Errorf("%s: parameters are no schema of an object: %s", def.Name, def.Parameters)
			}
		}
	})
	t.Run("listing is stable", func(t *testing.T) {
		ts, first := open(t)
		second, err := ts.Tools(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(defs(first), defs(second)); diff != "" {
			t.Errorf("second listing differs (-first +second):\n%s", diff)
		}
	})
	t.Run("call", func(t *testing.T) {
		_, tools := open(t)
		call := c.Good
		call.Agent, call.Key = "agent", "run/1/call/1"
		res, err := find(t, tools, call.Name).Call(t.Context(), call)
		if c.Holds != "" {
			if h, ok := errors.AsType[*tool.HoldError](err); !ok || h.Hold.Kind != c.Holds || h.Hold.Prompt == "" {
				t.Fatalf("Call: %+v, %v, want a hold of kind %q that says what is asked", res, err, c.Holds)
			}
			return
		}
		if err != nil || res.IsError {
			t.Fatalf("Call: %+v, %v", res, err)
		}
	})
	t.Run("done context", func(t *testing.T) {
		_, tools := open(t)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		call := c.Good
		call.Agent, call.Key = "agent", "run/1/call/2"
		if _, err := find(t, tools, call.Name).Call(ctx, call); !errors.Is(err, context.Canceled) {
			t.Errorf("Call with a done context: %v, want one that is context.Canceled", err)
		}
	})
	t.Run("close", func(t *testing.T) {
		ts, tools := open(t)
		for range 2 {
			if err := ts.Close(); err != nil {
				t.Errorf("Close: %v", err)
			}
		}
		if _, err := ts.Tools(t.Context()); !errors.Is(err, tool.ErrClosed) {
			t.Errorf("Tools after Close: %v, want ErrClosed", err)
		}
		call := c.Good
		call.Agent, call.Key = "agent", "run/1/call/3"
		if _, err := find(t, tools, call.Name).Call(t.Context(), call); !errors.Is(err, tool.ErrClosed) {
			t.Errorf("Call after Close: %v, want ErrClosed", err)
		}
	})
}

func find(t *testing.T, tools []tool.Tool, name string) tool.Tool {
	t.Helper()
	for _, tl := range tools {
		if tl.Def().Name == name {
			return tl
		}
	}
	t.Fatalf("no tool %q", name)
	return nil
}

// defs returns definitions in a form that can be compared by meaning.
func defs(tools []tool.Tool) []string {
	var out []string
	for _, tl := range tools {
		out = append(out, strings.Join([]string{tl.Def().Name, tool.Hash(tl.Def(), tl.Policy())}, " "))
	}
	return out
}
