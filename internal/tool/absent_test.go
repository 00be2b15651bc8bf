package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket/internal/tool"
	"github.com/hocket-run/hocket/internal/tool/tooltest"
)

// optional is a toolset without which the run continues if it does not start.
func optional(ts *tooltest.Toolset) tool.Spec {
	s := ts.Spec()
	s.Optional = true
	return s
}

// TestSet_Optional checks which failures of a toolset with `required: false` leave the agent
// without it, and which are errors.
func TestSet_Optional(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		err  error
		want tool.ErrorKind // of the error; "" if the agent goes without the toolset
	}{
		{"no connection", tool.Errorf(tool.KindNetwork, "gone", "connection refused"), ""},
		{"too slow", tool.Errorf(tool.KindTimeout, "gone", "no answer within 1s"), ""},
		{"another failure", errors.New("exit status 1"), ""},
		{"deadline of its own", context.DeadlineExceeded, ""},
		{"not allowed", &tool.UntrustedError{Toolset: "gone", Command: []string{"x"}}, tool.KindUntrusted},
	} {
		for _, shared := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/shared=%v", tc.name, shared), func(t *testing.T) {
				t.Parallel()
				gone, here := fake("gone", "a"), fake("here", "b")
				gone.SetError(tc.err)
				spec := optional(gone)
				spec.Shared = shared
				cfg := tool.Config{Types: tooltest.Types(gone, here), Agents: map[string]tool.Grant{
					"x": {Toolsets: []tool.Spec{spec, here.Spec()}}, "y": {Toolsets: []tool.Spec{spec}}}}
				s := set(t, cfg)
				defs, err := s.Defs(t.Context(), "x")
				if tc.want != "" {
					if kindOf(err) != tc.want || len(s.NewPins()) > 1 {
						t.Fatalf("got %v, %v", defs, err)
					}
					return
				}
				if err != nil || len(defs) != 1 || defs[0].Name != "b" {
					t.Fatalf("offered %v, %v", defs, err)
				}
				pins := s.NewPins()
				absent := pins.Absent()
				if len(absent) != 1 || !strings.Contains(absent[0], `"gone"`) ||
					!strings.Contains(absent[0], tc.err.Error()) {
					t.Errorf("absent %q", absent)
				}
				_, err = s.Call(t.Context(), tool.Call{Agent: "x", Name: "a"})
				if kindOf(err) != tool.KindUnknownTool || !strings.Contains(err.Error(), tc.err.Error()) {
					t.Errorf("the call of a missing tool does not say why: %v", err)
				}

				// It stays away for the rest of the run, here and in another process.
				gone.SetError(nil)
				if got := offered(t, s, "y"); len(got) != 0 && shared {
					t.Errorf("shared, offered to another agent: %v", got)
				}
				maps.Copy(pins, s.NewPins())
				b, err := json.Marshal(pins)
				if cfg.Pins = nil; err != nil || json.Unmarshal(b, &cfg.Pins) != nil {
					t.Fatal(err)
				}
				for _, cfg.Recorded = range []bool{false, true} {
					again := set(t, cfg)
					if diff := cmp.Diff([]string{"b"}, offered(t, again, "x")); diff != "" {
						t.Errorf("after a restart (-want +got):\n%s", diff)
					}
					if p := again.NewPins(); p.Absent() != nil {
						t.Errorf("said again: %v", p)
					}
				}
			})
		}
	}
}

// TestSet_OptionalCancelled checks that a caller that stopped waiting pins nothing.
func TestSet_OptionalCancelled(t *testing.T) {
	t.Parallel()
	gone := fake("gone", "a")
	s := set(t, tool.Config{Types: tooltest.Types(gone),
		Agents: map[string]tool.Grant{"x": {Toolsets: []tool.Spec{optional(gone)}}}})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	gone.SetError(fmt.Errorf("connect: %w", context.Canceled))
	if _, err := s.Defs(ctx, "x"); err == nil || s.NewPins() != nil {
		t.Errorf("got %v", err)
	}
	gone.SetError(nil)
	if diff := cmp.Diff([]string{"a"}, offered(t, s, "x")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestSet_OptionalLater checks that a toolset that was there when the run began is still offered by
// a process that cannot start it: calls fail, and the tools stay the same.
func TestSet_OptionalLater(t *testing.T) {
	t.Parallel()
	ts := tooltest.NewToolset("ts", &tooltest.Tool{Name: "a",
		Params: json.RawMessage(`{"type":"object","required":["x"]}`)}, &tooltest.Tool{Name: "b"})
	cfg := tool.Config{Types: tooltest.Types(ts), Agents: map[string]tool.Grant{
		"x": {Toolsets: []tool.Spec{optional(ts)}}}}
	want := offered(t, set(t, cfg), "x")
	first := set(t, cfg)
	offered(t, first, "x")
	cfg.Pins = first.Pins()

	for _, tc := range []struct {
		name string
		open error // of opening; nil means that listing fails
	}{{"listing fails", nil}, {"opening fails", errors.New("no such program")}} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			cfg := cfg
			broken, opens := fake("ts"), tc.open
			broken.SetError(errors.New("no such program"))
			cfg.Types = map[string]tool.Type{"fake": {Open: func(tool.Spec) (tool.Toolset, error) {
				return broken, opens
			}}}
			s := set(t, cfg)
			if diff := cmp.Diff(want, offered(t, s, "x")); diff != "" {
				t.Errorf("offered (-want +got):\n%s", diff)
			}
			_, err := s.Call(t.Context(), tool.Call{Agent: "x", Name: "a"})
			if kindOf(err) != tool.KindInvalidArguments {
				t.Errorf("arguments are not checked: %v", err)
			}
			_, err = s.Call(t.Context(), tool.Call{Agent: "x", Name: "b"})
			if te := (*tool.Error)(nil); !errors.As(err, &te) || te.Kind != tool.KindFailed || te.OutcomeUnknown ||
				!strings.Contains(err.Error(), "no such program") {
				t.Errorf("got %v", err)
			}
			if s.NewPins() != nil {
				t.Error("pinned again")
			}
			opens = nil
			broken.SetTools(&tooltest.Tool{Name: "b"})
			broken.SetError(nil)
			if _, err := s.Call(t.Context(), tool.Call{Agent: "x", Name: "b"}); err != nil {
				t.Errorf("it is back, and a call fails: %v", err)
			}
		})
	}
}

// TestSet_OptionalRules checks that a rule about a tool of a server that does not start is not
// taken for a misspelling.
func TestSet_OptionalRules(t *testing.T) {
	t.Parallel()
	gone, here := fake("gone", "a"), fake("here", "b")
	gone.SetError(errors.New("exit status 1"))
	s := set(t, tool.Config{Types: tooltest.Types(gone, here), Agents: map[string]tool.Grant{"x": {
		Toolsets:    []tool.Spec{optional(gone), here.Spec()},
		Permissions: []tool.Permissions{{Deny: []string{"delete_all"}}}}}})
	if diff := cmp.Diff([]string{"b"}, offered(t, s, "x")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
