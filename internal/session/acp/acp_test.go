//go:build unix

package acp_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket/graph"
	"github.com/hocket-run/hocket/internal/session/acp"
)

// TestStream checks that the agent's messages arrive in order, with a tool call reported once when
// its arguments are known and once when it ends (S2-68).
func TestStream(t *testing.T) {
	t.Parallel()
	s, _ := open(t, config(t, "normal"), graph.SessionConfig{SystemPrompt: "Be good."})
	got, err := talk(t.Context(), s, "work")
	want := `thinking assistant: hm
thinking assistant: Plan:
- [pending] look

text assistant: I 
text assistant: look.
tool_use assistant read#1{"path":"a.txt"}: a.txt
tool_result tool read#1: inside
[change of /b.txt]
new
tool_use assistant search#2: search
text assistant: [image image/png]
tool_result tool search#2 failed: {"error":"none"}`
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v, -want +got:\n%s", err, diff)
	}
	// The system prompt was sent before the first message, and only there.
	wantSaid(t, s, "said", "Be good. | work\nsaid\n<nil>")
	if s.ID() == "" {
		t.Error("the session has no id")
	}
	if got, err := talk(t.Context(), s, "flood"); err != nil || strings.Count(got, "x") < 3000 {
		t.Errorf("%d bytes of a flood, %v", len(got), err)
	}
}

// TestUsage checks that usage is what the agent reports, else nothing, and that Summarize uses the
// agent's own command, if it has one (S2-69).
func TestUsage(t *testing.T) {
	t.Parallel()
	s, _ := open(t, config(t, "normal"), graph.SessionConfig{})
	if _, err := s.ContextUsage(t.Context()); !errors.Is(err, graph.ErrUnknownUsage) {
		t.Errorf("before anything was told: %v", err)
	}
	if _, err := talk(t.Context(), s, "work"); err != nil {
		t.Fatal(err)
	}
	if u, err := s.ContextUsage(t.Context()); err != nil ||
		u != (graph.SessionUsage{InputTokens: 450, MaxTokens: 1000}) {
		t.Errorf("%+v, %v", u, err)
	}
	if err := s.Summarize(t.Context()); err != nil {
		t.Fatal(err)
	}
	if u, err := s.ContextUsage(t.Context()); err != nil || u.InputTokens != 10 {
		t.Errorf("after the summary: %+v, %v", u, err)
	}
	plain, _ := open(t, config(t, "plain"), graph.SessionConfig{})
	if err := plain.Summarize(t.Context()); !errors.Is(err, graph.ErrNoSummarize) {
		t.Errorf("without the command: %v", err)
	}
	cfg := config(t, "plain")
	cfg.SummarizeCommand = "compact"
	silent, _ := open(t, cfg, graph.SessionConfig{})
	if err := silent.Summarize(t.Context()); err != nil {
		t.Errorf("a command that is known of: %v", err)
	}
}

// TestPermissions checks that permission is denied unless the config allows it (SEC13), and granted
// for a single use if the agent offers that.
func TestPermissions(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		allow   []string
		deny    []string
		decide  func(context.Context, acp.Permission) (bool, error)
		outcome string
	}{
		"by default":                  {nil, nil, nil, "no"},
		"kind":                        {[]string{"read", "execute"}, nil, nil, "yes"},
		"title":                       {[]string{"touch done"}, nil, nil, "yes"},
		"everything":                  {[]string{"*"}, nil, nil, "yes"},
		"a part of a word is no word": {[]string{"exec", "touch", ""}, nil, nil, "no"},
		"decided": {nil, nil, func(_ context.Context, p acp.Permission) (bool, error) {
			return p.Kind == "execute" && p.Tool == "touch done" && string(p.Arguments) == `{"command":"touch done"}` &&
				p.Agent == "Ann" && p.Node == "n" && p.Session != "", nil
		}, "yes"},
		"decided against": {nil, nil, func(context.Context, acp.Permission) (bool, error) { return false, nil }, "no"},
		"undecided": {nil, nil, func(context.Context, acp.Permission) (bool, error) {
			return true, errors.New("no person is available")
		}, "no"},
		"panicked":       {nil, nil, func(context.Context, acp.Permission) (bool, error) { panic("ouch") }, "no"},
		"denied by kind": {[]string{"*"}, []string{"execute"}, nil, "no"},
		"denied by title": {nil, []string{"touch done"}, func(context.Context, acp.Permission) (bool, error) {
			return true, nil
		}, "no"},
		"others denied": {[]string{"execute"}, []string{"edit", ""}, nil, "yes"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := config(t, "normal")
			cfg.Allow, cfg.Deny, cfg.Decide = c.allow, c.deny, c.decide
			s, dir := open(t, cfg, graph.SessionConfig{Name: "Ann", Node: "n"})
			got, err := talk(t.Context(), s, "tool execute")
			failed := ""
			if c.outcome != "yes" {
				failed = " failed"
			}
			want := "tool_use assistant execute#1{\"command\":\"touch done\"}: touch done\ntool_result tool execute#1" +
				failed + ": " + c.outcome
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				t.Errorf("%v, -want +got:\n%s", err, diff)
			}
			if _, err := os.Stat(filepath.Join(dir, "done")); (err == nil) != (c.outcome == "yes") {
				t.Errorf("the file: %v", err)
			}
		})
	}
	t.Run("an answer that is not offered is not given", func(t *testing.T) {
		t.Parallel()
		s, _ := open(t, config(t, "normal"), graph.SessionConfig{})
		wantSaid(t, s, "once", "false <nil>")
	})
}

// TestWaitingForPerson checks that no time limit runs while a person decides, and that the question
// ends when the call's context is done.
func TestWaitingForPerson(t *testing.T) {
	t.Parallel()
	cfg := config(t, "normal")
	// and everything but the decision is instantaneous
	cfg.IdleTimeout, cfg.TurnTimeout = 10*time.Second, 10*time.Second
	cfg.Decide = func(ctx context.Context, _ acp.Permission) (bool, error) {
		select {
		case <-time.After(11 * time.Second): // the test is about time passing
			return true, nil
		case <-ctx.Done():
			return false, ctx.Err()
		}
	}
	s, dir := open(t, cfg, graph.SessionConfig{})
	if got, err := talk(t.Context(), s, "tool execute"); err != nil || read(t, dir, "outcome") != "yes" {
		t.Errorf("%q, %v", got, err)
	}

	asked := make(chan struct{})
	cfg = config(t, "normal")
	cfg.Decide = func(ctx context.Context, _ acp.Permission) (bool, error) {
		close(asked)
		<-ctx.Done()
		return false, ctx.Err()
	}
	s, dir = open(t, cfg, graph.SessionConfig{})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-asked
		cancel()
	}()
	if _, err := talk(ctx, s, "tool execute"); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if got := read(t, dir, "outcome"); got != "cancelled" {
		t.Errorf("the agent was told %q", got)
	}
}

// TestFiles checks that through the client an agent reaches files of the session's folder, if the
// config allows it, and nothing else (SEC16).
func TestFiles(t *testing.T) {
	t.Parallel()
	outside := filepath.Join(t.TempDir(), "secret")
	dir := t.TempDir()
	for name, text := range map[string]string{outside: "1\n2\n3\n", filepath.Join(dir, "a.txt"): "one\ntwo\nthree\n"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Symlink(outside, filepath.Join(dir, "link")),
		syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600)); err != nil {
		t.Fatal(err)
	}
	cfg := config(t, "normal")
	cfg.ReadFiles, cfg.WriteFiles = true, true
	s, _ := open(t, cfg, graph.SessionConfig{Dir: dir})
	if got := read(t, dir, "capabilities"); got != "true true false" {
		t.Errorf("capabilities: %s", got)
	}
	wantSaid(t, s, "read "+dir+"/a.txt", `"two\n" <nil>`)
	wantSaid(t, s, "write "+dir+"/sub/b.txt", "<nil>")
	if got := read(t, dir, "sub/b.txt"); got != "new" {
		t.Errorf("written: %q", got)
	}
	for _, path := range []string{outside, dir + "/../" + filepath.Base(filepath.Dir(outside)) + "/secret",
		dir + "/link", dir, dir + "/pipe", "a.txt"} {
		for _, verb := range []string{"read ", "write "} {
			if got, err := talk(t.Context(), s, verb+path); err != nil || strings.HasSuffix(got, "<nil>") {
				t.Errorf("%s%s: %s, %v", verb, path, got, err)
			}
		}
	}
	if got, err := os.ReadFile(outside); err != nil || string(got) != "1\n2\n3\n" {
		t.Errorf("outside: %q, %v", got, err)
	}
	closed, shut := open(t, config(t, "normal"), graph.SessionConfig{})
	if got := read(t, shut, "capabilities"); got != "false false false" {
		t.Errorf("capabilities: %s", got)
	}
	for _, m := range []string{"read " + shut + "/capabilities", "write " + shut + "/x", "terminal"} {
		if got, err := talk(t.Context(), closed, m); err != nil || !strings.Contains(got, "Method not found") {
			t.Errorf("%s: %s, %v", m, got, err)
		}
	}
}

// TestEnvironment checks that an agent gets the variables that the config names, and not our
// environment.
func TestEnvironment(t *testing.T) {
	t.Parallel()
	s, _ := open(t, config(t, "normal"), graph.SessionConfig{})
	wantSaid(t, s, "env PASSED", "yes true")
	wantSaid(t, s, "env HIDDEN", " false")
	wantSaid(t, s, "env UNSET", " false")
	wantSaid(t, s, "env API_TOKEN", "sesame-7 true")
}

// TestModelAndMode checks that model and mode are chosen from those that the agent offers, in both
// ways of the protocol.
func TestModelAndMode(t *testing.T) {
	t.Parallel()
	s, _ := open(t, config(t, "normal"), graph.SessionConfig{Model: "big"})
	wantSaid(t, s, "model", "big")
	s, _ = open(t, config(t, "older"), graph.SessionConfig{Options: map[string]any{"mode": "code"}})
	wantSaid(t, s, "model", "mode code")
	for name, c := range map[string]struct {
		mode   string
		config graph.SessionConfig
		want   string
	}{
		"unknown model": {"normal", graph.SessionConfig{Model: "huge"},
			`model of the agent: the agent does not offer "huge"; it offers small, big`},
		"no choice": {"plain", graph.SessionConfig{Model: "big"},
			`"big" cannot be set: the agent offers no choice`},
		"unknown mode": {"older", graph.SessionConfig{Options: map[string]any{"mode": "x"}}, `it offers ask, code`},
		"unknown option": {"plain", graph.SessionConfig{Options: map[string]any{"x": "y"}},
			`an ACP session has no option "x"`},
		"option, number": {"plain", graph.SessionConfig{Options: map[string]any{"mode": 1}},
			`option "mode" is not a text`},
		"tools": {"plain", graph.SessionConfig{Tools: []string{"look"}}, `cannot be given "look"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.config.Dir = t.TempDir()
			if _, err := create(t.Context(), t, config(t, c.mode), c.config); err == nil ||
				!strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// TestStopReasons checks that every reason of the protocol is reported, and that the session
// remains usable.
func TestStopReasons(t *testing.T) {
	t.Parallel()
	s, _ := open(t, config(t, "normal"), graph.SessionConfig{})
	for reason, want := range map[string]string{
		"refusal": graph.StopRefusal, "max_tokens": graph.StopMaxTokens, "max_turn_requests": graph.StopMaxTurns,
		"cancelled": graph.StopCancelled,
	} {
		_, err := talk(t.Context(), s, "stop "+reason)
		if stop, ok := errors.AsType[*graph.StopError](err); !ok || stop.Reason != want {
			t.Errorf("%s: got %v", reason, err)
		}
	}
	if _, err := talk(t.Context(), s, "stop bored"); err == nil || !strings.Contains(err.Error(), `"bored"`) {
		t.Errorf("got %v", err)
	}
	wantSaid(t, s, "model", "")
}

// TestLoad checks that a former session continues, without its past being reported again (D23).
func TestLoad(t *testing.T) {
	t.Parallel()
	first, dir := open(t, config(t, "normal"), graph.SessionConfig{})
	if _, err := talk(t.Context(), first, "stop end_turn"); err != nil {
		t.Fatal(err)
	}
	if err := first.Destroy(t.Context()); err != nil {
		t.Fatal(err)
	}
	s, _ := open(t, config(t, "normal"), graph.SessionConfig{Dir: dir, Load: first.ID(), SystemPrompt: "not again"})
	if s.ID() != first.ID() {
		t.Errorf("id %q, want %q", s.ID(), first.ID())
	}
	wantSaid(t, s, "said", "stop end_turn\nsaid\n<nil>")
	if _, err := create(t.Context(), t, config(t, "forgetful"), graph.SessionConfig{Dir: dir, Load: "x"}); !errors.Is(
		err, graph.ErrNoLoad) {
		t.Errorf("an agent that cannot: %v", err)
	}
	if _, err := create(t.Context(), t, config(t, "normal"), graph.SessionConfig{Dir: dir, Load: "nix"}); err == nil ||
		!strings.Contains(err.Error(), `load session "nix"`) {
		t.Errorf("a session that is not there: %v", err)
	}
}

// TestConfig checks which configurations are rejected, and the known agents.
func TestConfig(t *testing.T) {
	t.Parallel()
	if _, err := acp.New(acp.Config{IdleTimeout: -1}); err == nil || !strings.Contains(err.Error(),
		"field Command is missing") || !strings.Contains(err.Error(), "IdleTimeout is negative") {
		t.Errorf("got %v", err)
	}
	for _, name := range []string{"claude", "copilot", "gemini", "opencode"} {
		p, ok := acp.PresetOf(name)
		if !ok || p.Name != name || len(p.Command) == 0 || p.Install == "" {
			t.Errorf("%s: %+v, %v", name, p, ok)
		}
		if _, err := acp.New(acp.Config{Command: p.Command, PassEnv: p.PassEnv}); err != nil {
			t.Error(err)
		}
	}
	if _, ok := acp.PresetOf("nix"); ok || len(acp.Presets()) != 4 {
		t.Error("presets: ", fmt.Sprint(acp.Presets()))
	}
}
