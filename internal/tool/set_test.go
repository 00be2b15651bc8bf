package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/leaktest"
	"github.com/hocket-run/hocket/internal/permit"
	"github.com/hocket-run/hocket/internal/tool"
	"github.com/hocket-run/hocket/internal/tool/tooltest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// set returns a Set that is closed when the test ends.
func set(t *testing.T, cfg tool.Config) *tool.Set {
	t.Helper()
	s, err := tool.NewSet(cfg)
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

func fake(name string, tools ...string) *tooltest.Toolset {
	var ts []tool.Tool
	for _, n := range tools {
		ts = append(ts, &tooltest.Tool{Name: n, Fn: func(context.Context, tool.Call) (tool.Result, error) {
			return tool.Result{Text: name + "." + n}, nil
		}})
	}
	return tooltest.NewToolset(name, ts...)
}

func offered(t *testing.T, s *tool.Set, agent string) []string {
	t.Helper()
	defs, err := s.Defs(t.Context(), agent)
	if err != nil {
		t.Fatal(err)
	}
	names := []string{}
	for _, d := range defs {
		names = append(names, d.Name)
	}
	return names
}

// TestDefs_ManyAgents checks that listing an agent's tools does not take longer the more agents
// with permissions a run has. The test is not parallel, because it counts allocations.
func TestDefs_ManyAgents(t *testing.T) { //nolint:paralleltest // see above
	name := func(i int) string { return fmt.Sprintf("agent%d", i) }
	allocs := func(agents int) float64 {
		cfg := tool.Config{Agents: map[string]tool.Grant{}}
		for i := range agents {
			cfg.Agents[name(i)] = tool.Grant{Permissions: []permit.Rules{{Deny: []string{"other"}}}}
		}
		s, next := set(t, cfg), 0
		return testing.AllocsPerRun(5, func() {
			offered(t, s, name(next))
			next++
		})
	}
	if few, many := allocs(10), allocs(1000); many > 2*few {
		t.Errorf("%v allocations with 1000 agents, %v with 10", many, few)
	}
}

// TestGrants checks that an agent gets exactly the tools that its lists name in full, and that
// equal names do not shadow each other (SEC13, SEC14).
func TestGrants(t *testing.T) {
	t.Parallel()
	files := fake("files", "read", "read_file", "write")
	web := fake("web", "read", "fetch")
	odd := fake("odd", "a.b", "route")
	limited := files.Spec()
	limited.Tools = []string{"write", "nothere"}
	unsupported := tool.Spec{Type: "shell"}
	for _, tc := range []struct {
		name    string
		grant   tool.Grant
		want    []string
		missing []string
		calls   map[string]string // offered name → result
	}{
		{name: "nothing", want: []string{}},
		{name: "one tool", grant: tool.Grant{Names: []string{"fetch"}}, want: []string{"fetch"},
			calls: map[string]string{"fetch": "web.fetch"}},
		{name: "a name is no prefix", grant: tool.Grant{Names: []string{"rea", "read_"}}, want: []string{},
			missing: []string{"rea", "read_"}},
		{name: "both of a clash", grant: tool.Grant{Names: []string{"read"}}, want: []string{"files_read", "web_read"},
			calls: map[string]string{"files_read": "files.read", "web_read": "web.read"}},
		{name: "one of a clash", grant: tool.Grant{Names: []string{"web_read"}}, want: []string{"web_read"},
			calls: map[string]string{"web_read": "web.read"}},
		{name: "a whole toolset", grant: tool.Grant{Names: []string{"web"}}, want: []string{"read", "fetch"},
			calls: map[string]string{"read": "web.read"}},
		{name: "all", grant: tool.Grant{Names: []string{"*"}},
			want:  []string{"files_read", "read_file", "write", "web_read", "fetch", "a_b", "odd_route"},
			calls: map[string]string{"a_b": "odd.a.b"}},
		{name: "twice is once", grant: tool.Grant{Names: []string{"fetch", "web", "fetch"}},
			want: []string{"fetch", "read"}},
		{name: "own toolset", grant: tool.Grant{Toolsets: []tool.Spec{web.Spec()}}, want: []string{"read", "fetch"}},
		{name: "own toolset and an extra tool", grant: tool.Grant{Toolsets: []tool.Spec{web.Spec()},
			Names: []string{"files_read"}},
			want: []string{"web_read", "fetch", "files_read"}},
		{name: "tools list of a toolset", grant: tool.Grant{Toolsets: []tool.Spec{limited}}, want: []string{"write"}},
		{name: "built-in", grant: tool.Grant{Names: []string{"clock"}}, want: []string{"clock"},
			calls: map[string]string{"clock": "tick"}},
		{name: "built-ins are not among all", grant: tool.Grant{Names: []string{"*", "clock"}},
			want: []string{"clock", "files_read", "read_file", "write", "web_read", "fetch", "a_b", "odd_route"}},
		{name: "unsupported type", grant: tool.Grant{Toolsets: []tool.Spec{unsupported}, Names: []string{"fetch"}},
			want: []string{"fetch"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s := set(t, tool.Config{
				Agents: map[string]tool.Grant{"a": tc.grant}, Extra: []tool.Spec{files.Spec(), web.Spec(), odd.Spec()},
				Types: map[string]tool.Type{"fake": reopen(files, web, odd)},
				Builtin: []tool.Tool{
					&tooltest.Tool{Name: "clock", Fn: func(context.Context, tool.Call) (tool.Result, error) {
						return tool.Result{Text: "tick"}, nil
					}},
				},
				Reserved: []string{"route"},
			})
			if diff := cmp.Diff(tc.want, offered(t, s, "a")); diff != "" {
				t.Errorf("offered (-want +got):\n%s", diff)
			}
			missing, err := s.Missing(t.Context(), "a")
			if diff := cmp.Diff(tc.missing, missing); diff != "" || err != nil {
				t.Errorf("missing: %v (-want +got):\n%s", err, diff)
			}
			for name, want := range tc.calls {
				if r, err := s.Call(t.Context(), tool.Call{Agent: "a", Name: name}); err != nil || r.Text != want {
					t.Errorf("%s: got %q (%v), want %q", name, r.Text, err, want)
				}
			}
			// A tool that is not offered cannot be called.
			granted := map[string]bool{}
			for _, n := range tc.want {
				granted[n] = true
			}
			for _, n := range []string{"read", "read_file", "write", "fetch", "files_read", "web_read", "web_fetch",
				"a.b", "clock", "rea", "shell", "*", ""} {
				if _, err := s.Call(t.Context(), tool.Call{Agent: "a", Name: n}); !granted[n] &&
					kindOf(err) != tool.KindUnknownTool && kindOf(err) != tool.KindUnsupported {
					t.Errorf("call of %q: %v", n, err)
				}
				if _, err := s.Call(t.Context(), tool.Call{Agent: "stranger", Name: n}); kindOf(
					err) != tool.KindUnknownTool {
					t.Errorf("call of %q by an agent without a grant: %v", n, err)
				}
			}
		})
	}
}

// reopen returns a type that opens copies of sets, so that parallel tests do not close each
// other's.
func reopen(sets ...*tooltest.Toolset) tool.Type {
	return tool.Type{Open: func(spec tool.Spec) (tool.Toolset, error) {
		for _, s := range sets {
			if s.Name() == spec.Name {
				tools, err := s.Tools(context.Background())
				return tooltest.NewToolset(s.Name(), tools...), err
			}
		}
		return nil, fmt.Errorf("no toolset %q", spec.Name)
	}}
}

func kindOf(err error) tool.ErrorKind {
	if e, ok := errors.AsType[*tool.Error](err); ok {
		return e.Kind
	}
	return ""
}

// TestLazy checks that a toolset is opened when an agent needs it, once, and not for agents that do
// not need it.
func TestLazy(t *testing.T) {
	t.Parallel()
	extra, own := fake("extra", "x"), fake("own", "y")
	s := set(t, tool.Config{
		Agents: map[string]tool.Grant{
			"none": {}, "clock": {Names: []string{"clock"}}, "a": {Names: []string{"x"}},
			"b": {Names: []string{"x"}, Toolsets: []tool.Spec{own.Spec()}},
		},
		Extra: []tool.Spec{extra.Spec()}, Types: tooltest.Types(extra, own),
		Builtin: []tool.Tool{&tooltest.Tool{Name: "clock"}},
	})
	for _, step := range []struct {
		agent      string
		extra, own int
	}{{"none", 0, 0}, {"clock", 0, 0}, {"a", 1, 0}, {"b", 1, 1}, {"a", 1, 1}} {
		offered(t, s, step.agent)
		if extra.Opened() != step.extra || own.Opened() != step.own {
			t.Errorf("after %s: extra opened %d times, own %d; want %d, %d", step.agent, extra.Opened(), own.Opened(),
				step.extra, step.own)
		}
	}
	if err := s.Close(); err != nil || !extra.Closed() || !own.Closed() {
		t.Errorf("Close: %v, extra closed %v, own %v", err, extra.Closed(), own.Closed())
	}
	if _, err := s.Defs(t.Context(), "a"); !errors.Is(err, tool.ErrClosed) {
		t.Errorf("Defs after Close: %v", err)
	}
	if _, err := s.Call(t.Context(), tool.Call{Agent: "a", Name: "x"}); !errors.Is(err, tool.ErrClosed) {
		t.Errorf("Call after Close: %v", err)
	}
}

// TestShared checks that each agent has its own instance of a toolset, except that equal specs
// marked as shared use one instance.
func TestShared(t *testing.T) {
	t.Parallel()
	for _, shared := range []bool{false, true} {
		f := fake("f", "x")
		spec := f.Spec()
		spec.Shared = shared
		s := set(t, tool.Config{
			Agents: map[string]tool.Grant{"a": {Toolsets: []tool.Spec{spec}}, "b": {Toolsets: []tool.Spec{spec}}},
			Types:  tooltest.Types(f),
		})
		offered(t, s, "a")
		offered(t, s, "b")
		want := 2
		if shared {
			want = 1
		}
		if f.Opened() != want {
			t.Errorf("shared %v: opened %d times, want %d", shared, f.Opened(), want)
		}
	}
}

// TestOpenFailure checks that a toolset that cannot be opened fails the agents that need it, that
// the error names it, and that opening is tried again.
func TestOpenFailure(t *testing.T) {
	t.Parallel()
	good, bad := fake("good", "x"), fake("bad", "y")
	bad.SetError(errors.New("out of order"))
	s := set(t, tool.Config{
		Agents: map[string]tool.Grant{"all": {Names: []string{"*"}}, "x": {Names: []string{"x"}},
			"y": {Names: []string{"y"}}},
		Extra: []tool.Spec{good.Spec(), bad.Spec()}, Types: tooltest.Types(good, bad),
	})
	for _, agent := range []string{"all", "y"} {
		_, err := s.Defs(t.Context(), agent)
		if kindOf(err) != tool.KindFailed || !strings.Contains(err.Error(), `open toolset "bad": out of order`) {
			t.Errorf("%s: %v", agent, err)
		}
	}
	if got := offered(t, s, "x"); !cmp.Equal(got, []string{"x"}) {
		t.Errorf("an agent that does not need it: %v", got)
	}
	bad.SetError(nil)
	if got := offered(t, s, "all"); !cmp.Equal(got, []string{"x", "y"}) {
		t.Errorf("once it works: %v", got)
	}
}

// TestPins checks that the tools that were offered first are the tools that are called, and that a
// new definition or a new tool is not called (SEC14).
func TestPins(t *testing.T) {
	t.Parallel()
	answer := func(text string) func(context.Context, tool.Call) (tool.Result, error) {
		return func(context.Context, tool.Call) (tool.Result, error) { return tool.Result{Text: text}, nil }
	}
	old := &tooltest.Tool{Name: "read", Desc: "Reads", Fn: answer("old")}
	same := &tooltest.Tool{Name: "read", Desc: "Reads", Fn: answer("same")}
	for _, tc := range []struct {
		name string
		now  []tool.Tool
		want string // result, "held" if a person is asked, or "" for KindChanged
	}{
		{"unchanged", []tool.Tool{old}, "old"},
		{"an equal definition", []tool.Tool{same}, "same"},
		{"another tool besides", []tool.Tool{old, &tooltest.Tool{Name: "newcomer"}}, "old"},
		{"description", []tool.Tool{&tooltest.Tool{Name: "read", Desc: "Reads and tells"}}, "held"},
		{"schema", []tool.Tool{
			&tooltest.Tool{Name: "read", Desc: "Reads", Params: json.RawMessage(`{"type":"object"}`)},
		}, "held"},
		{"policy", []tool.Tool{&tooltest.Tool{Name: "read", Desc: "Reads", Retry: true}}, "held"},
		{"gone", nil, ""},
		{"renamed", []tool.Tool{&tooltest.Tool{Name: "read2", Desc: "Reads"}}, ""},
	} {
		for _, restarted := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/restarted=%v", tc.name, restarted), func(t *testing.T) {
				t.Parallel()
				f := tooltest.NewToolset("f", old)
				cfg := tool.Config{Agents: map[string]tool.Grant{"a": {Toolsets: []tool.Spec{f.Spec()}}},
					Types: tooltest.Types(f)}
				s := set(t, cfg)
				before := offered(t, s, "a")
				f.SetTools(tc.now...)
				if restarted {
					cfg.Pins = s.Pins()
					f2 := tooltest.NewToolset("f", tc.now...)
					cfg.Types = tooltest.Types(f2)
					s = set(t, cfg)
				}
				r, err := s.Call(t.Context(), tool.Call{Agent: "a", Name: "read"})
				var hold *tool.HoldError
				switch {
				case tc.want == "held":
					if !errors.As(err, &hold) || hold.Hold.Kind != tool.HoldApproval ||
						!strings.Contains(hold.Hold.Prompt, "definition of this tool changed") {
						t.Errorf("got %q, %v, want an approval", r.Text, err)
					}
				case tc.want != "" && (err != nil || r.Text != tc.want):
					t.Errorf("got %q, %v, want %q", r.Text, err, tc.want)
				case tc.want == "" && kindOf(err) != tool.KindChanged &&
					(!restarted || kindOf(err) != tool.KindUnknownTool):
					t.Errorf("got %v, want tool_changed", err)
				}
				for _, n := range []string{"newcomer", "read2"} {
					if _, err := s.Call(t.Context(), tool.Call{Agent: "a", Name: n}); kindOf(
						err) != tool.KindUnknownTool {
						t.Errorf("%s: %v, want unknown_tool", n, err)
					}
				}
				if after := offered(t, s, "a"); tc.now != nil && tc.name != "renamed" && !cmp.Equal(before, after) {
					t.Errorf("offered %v, then %v", before, after)
				}
			})
		}
	}
}

// TestSet_OpenCancelled checks that a caller that waits for a toolset that another caller opens
// stops waiting when its context is done.
func TestSet_OpenCancelled(t *testing.T) {
	t.Parallel()
	began, release := make(chan struct{}), make(chan struct{})
	types := map[string]tool.Type{"fake": {Open: func(tool.Spec) (tool.Toolset, error) {
		close(began)
		<-release
		return fake("f", "x"), nil
	}}}
	s := set(t, tool.Config{Agents: map[string]tool.Grant{"a": {Toolsets: []tool.Spec{{Type: "fake", Name: "f"}}}},
		Types: types})
	var wg sync.WaitGroup
	wg.Go(func() { offered(t, s, "a") })
	<-began
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Defs(ctx, "a"); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
	close(release)
	wg.Wait()
}

func TestUnavailable(t *testing.T) {
	t.Parallel()
	s := set(t, tool.Config{
		Agents:  map[string]tool.Grant{"a": {Names: []string{"web_search", "nothere"}}},
		Builtin: []tool.Tool{tool.Unavailable(chat.ToolDef{Name: "web_search"}, "no search provider is configured")},
	})
	if got := offered(t, s, "a"); !cmp.Equal(got, []string{"web_search"}) {
		t.Errorf("offered %v", got)
	}
	_, err := s.Call(t.Context(), tool.Call{Agent: "a", Name: "web_search"})
	if kindOf(err) != tool.KindUnsupported ||
		err.Error() != `tool "web_search" is not available: no search provider is configured` {
		t.Errorf("S0-55: %v", err)
	}
	if _, err := s.Call(t.Context(), tool.Call{Agent: "a", Name: "nothere"}); kindOf(err) != tool.KindUnsupported {
		t.Errorf("a granted name that nothing answers to: %v", err)
	}
}

// TestFallback checks that a fallback is used for a name only if nothing else has it (S0-55).
func TestFallback(t *testing.T) {
	t.Parallel()
	f := tooltest.NewToolset("f", &tooltest.Tool{Name: "web_search"})
	fallback := []tool.Tool{tool.Unavailable(chat.ToolDef{Name: "web_search"}, "nothing here searches"),
		tool.Unavailable(chat.ToolDef{Name: "other"}, "no")}
	s := set(t, tool.Config{
		Agents: map[string]tool.Grant{"a": {Names: []string{"web_search", "other"}}, "b": {}}, Fallback: fallback,
		Extra: []tool.Spec{f.Spec()}, Types: tooltest.Types(f),
	})
	if got := offered(t, s, "a"); !cmp.Equal(got, []string{"web_search", "other"}) {
		t.Errorf("offered %v", got)
	}
	if _, err := s.Call(t.Context(), tool.Call{Agent: "a", Name: "web_search"}); err != nil {
		t.Errorf("an extra tool does not win over the fallback: %v", err)
	}
	if _, err := s.Call(t.Context(), tool.Call{Agent: "a", Name: "other"}); kindOf(err) != tool.KindUnsupported {
		t.Errorf("the fallback says %v", err)
	}
	if got := offered(t, s, "b"); len(got) > 0 {
		t.Errorf("offered %v to an agent that names no tool", got)
	}
}

func TestPolicyAndInstructions(t *testing.T) {
	t.Parallel()
	f := tooltest.NewToolset("f", &tooltest.Tool{Name: "asks"}, &tooltest.Tool{Name: "reads", Retry: true})
	g := tooltest.NewToolset("g", &tooltest.Tool{Name: "other", Retry: true})
	spec := g.Spec()
	spec.Policy, spec.Instruction = tool.PolicySkip, "Be brief. {ORIGINAL_INSTRUCTIONS}"
	s := set(t, tool.Config{Agents: map[string]tool.Grant{"a": {Toolsets: []tool.Spec{f.Spec(), spec}}},
		Types: tooltest.Types(f, g)})
	for name, want := range map[string]tool.Policy{
		"asks": tool.PolicyAsk, "reads": tool.PolicyRetry, "other": tool.PolicySkip, "nothere": tool.PolicyAsk,
	} {
		if got, err := s.Policy(t.Context(), tool.Call{Agent: "a", Name: name}); got != want || err != nil {
			t.Errorf("%s: %s, %v, want %s", name, got, err, want)
		}
	}
	if got, err := s.Instructions(t.Context(), "a"); got != "Be brief." || err != nil {
		t.Errorf("instructions %q, %v", got, err)
	}
}

// TestConcurrentUse opens and calls tools from many goroutines at the same time, for the race
// detector (P26).
func TestConcurrentUse(t *testing.T) {
	t.Parallel()
	f, g := fake("f", "x", "y"), fake("g", "y")
	s := set(t, tool.Config{
		Agents: map[string]tool.Grant{"a": {Names: []string{"*"}},
			"b": {Names: []string{"x"}, Toolsets: []tool.Spec{g.Spec()}}},
		Extra: []tool.Spec{f.Spec(), g.Spec()}, Types: map[string]tool.Type{"fake": reopen(f, g)},
	})
	var wg sync.WaitGroup
	for i := range 32 {
		wg.Go(func() {
			agent, name, want := "a", "f_y", "f.y"
			if i%2 == 1 {
				agent, name, want = "b", "y", "g.y"
			}
			if r, err := s.Call(t.Context(), tool.Call{Agent: agent, Name: name}); err != nil || r.Text != want {
				t.Errorf("%s %s: %q, %v", agent, name, r.Text, err)
			}
			_ = s.Pins()
		})
	}
	wg.Wait()
}
