//go:build unix

package acp_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket"
	"github.com/hocket-run/hocket/acp"
	"github.com/hocket-run/hocket/graph"
	"github.com/hocket-run/hocket/graph/compat"
)

// work is the state of the graphs in these tests.
type work struct {
	Task string   `json:"task"`
	Done []string `json:"done"`
}

// client returns a client whose agent is this test binary, see agentVar.
func client(t *testing.T, c acp.Config) *acp.Client {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c.Command, c.Env = []string{exe}, map[string]string{agentVar: "yes"}
	if c.Dir == "" {
		c.Dir = t.TempDir()
	}
	cl, err := acp.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return cl
}

func node(id string) graph.AgentConfig[work] {
	return graph.AgentConfig[work]{
		ID: id, AgentType: "coder", MessageFunc: func(v graph.View[work]) string { return v.State.Task },
		Output: func(w *work, messages []graph.AgentMessage) error {
			for _, m := range messages {
				w.Done = append(w.Done, m.Content)
			}
			return nil
		},
		Options: graph.NodeOptions{Retry: graph.Retry{MaxAttempts: 1}},
	}
}

func told(t *testing.T, dir string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "told"))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestAgentInGraph checks that an agent node drives a coding agent in the configured folder, and
// that a run that waits after the node and continues in another engine does not ask the agent again
// (S2-68, D23).
func TestAgentInGraph(t *testing.T) {
	t.Parallel()
	dir, cfg := t.TempDir(), hocket.Config{DB: filepath.Join(t.TempDir(), "app.db"), Program: "test"}
	g, err := graph.New[work]("code").Start(node("code")).Then(graph.WaitConfig[work]{ID: "review", Prompt: "Good?"}).
		Compile()
	if err != nil {
		t.Fatal(err)
	}
	engine := func() *hocket.Engine {
		e, err := hocket.Open(t.Context(), cfg, hocket.WithSessions("coder", client(t, acp.Config{Dir: dir})))
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	first := engine()
	r, err := hocket.Run(t.Context(), first, g, work{Task: "fix it"}, hocket.RunOptions{ID: "r"})
	if err != nil || r.Err != nil || r.Status != hocket.StatusPaused ||
		strings.Join(r.State.Done, "") != "done: fix it" {
		t.Fatalf("%+v, %v", r, err)
	}
	if err := first.Close(); err != nil {
		t.Error(err)
	}
	second := engine()
	defer second.Close()
	r, err = hocket.Resume(t.Context(), second, g, "r", hocket.Answer{Value: "yes"})
	if err != nil || r.Status != hocket.StatusCompleted {
		t.Fatalf("%+v, %v", r, err)
	}
	if got := told(t, dir); got != "fix it\n" {
		t.Errorf("the agent was told %q", got)
	}
}

// TestPermissions checks that the config decides an agent's permission requests: Deny before Allow
// before Decide (SEC13).
func TestPermissions(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		config acp.Config
		want   string
	}{
		"nothing said": {acp.Config{}, "no"},
		"kind allowed": {acp.Config{Allow: []string{"execute"}}, "yes"},
		"title denied": {acp.Config{Allow: []string{"*"}, Deny: []string{"make all"}}, "no"},
		"decided": {acp.Config{Decide: func(_ context.Context, p acp.Permission) (bool, error) {
			return p.Kind == "execute" && p.Tool == "make all" && p.Agent == "code" && p.Node == "code" &&
				p.Session != "", nil
		}}, "yes"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e, err := hocket.Open(t.Context(), hocket.Config{}, hocket.WithSessions("coder", client(t, c.config)))
			if err != nil {
				t.Fatal(err)
			}
			defer e.Close()
			g, err := graph.New[work]("code").Start(node("code")).Compile()
			if err != nil {
				t.Fatal(err)
			}
			r, err := hocket.Run(t.Context(), e, g, work{Task: "run execute"})
			if err != nil || r.Err != nil || strings.Join(r.State.Done, "") != c.want {
				t.Errorf("%+v, %v; want %s", r, err, c.want)
			}
		})
	}
}

// TestMonitor checks that context monitors act on a coding agent as on other sessions, and that the
// agent's type determines which actions suit it (S2-69).
func TestMonitor(t *testing.T) {
	t.Parallel()
	for agentType, want := range map[string]string{
		"opencode": "work /compact; compacted at 90; 10%; clear:summarize",
		"claude":   "work; compacted at 90; 90%; monitor:recreate clear:summarize",
		"copilot":  "work; 90%; monitor:warn clear:summarize",
	} {
		t.Run(agentType, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			e, err := hocket.Open(t.Context(), hocket.Config{},
				hocket.WithSessions(agentType, client(t, acp.Config{Dir: dir})))
			if err != nil {
				t.Fatal(err)
			}
			defer e.Close()
			session, err := e.Sessions(agentType).CreateSession(t.Context(), graph.SessionConfig{})
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := session.Destroy(context.Background()); err != nil {
					t.Error(err)
				}
			}()
			for _, err := range session.Stream(t.Context(), "work") {
				if err != nil {
					t.Fatal(err)
				}
			}
			var compacted string
			g, err := graph.New[work]("watch").
				Start(graph.ContextMonitorConfig[work]{
					ID: "monitor", AgentType: agentType, Session: func(graph.View[work]) graph.Session {
						return session
					},
					OnCompaction: func(u graph.ContextWindowUsage, _ graph.CompactionAction) {
						compacted = fmt.Sprintf(" compacted at %g;", u.UsagePercentage)
					},
				}).
				Then(graph.ClearContextConfig[work]{ID: "clear"}).Compile()
			if err != nil {
				t.Fatal(err)
			}
			r, err := hocket.Run(t.Context(), e, g, work{})
			if err != nil || r.Err != nil {
				t.Fatal(err, r.Err)
			}
			usage, _, err := compat.CheckContextUsage(t.Context(), session, 0)
			if err != nil {
				t.Fatal(err)
			}
			got := strings.Join(strings.Fields(told(t, dir)), " ") + ";" + compacted + fmt.Sprintf(" %g%%;",
				usage.UsagePercentage)
			for _, s := range r.Snapshot.Signals {
				got += fmt.Sprintf(" %v:%v", s.Data["nodeId"], s.Data["action"])
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestNew(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		config acp.Config
		want   string
	}{
		"nothing": {acp.Config{}, "config of ACP sessions: field Command is missing"},
		"preset": {acp.Config{Preset: "cursor"},
			`unknown preset "cursor"; known presets: claude, copilot, gemini, opencode`},
		"time": {acp.Config{Preset: "claude", IdleTimeout: -1},
			"config of ACP sessions: field IdleTimeout is negative"},
	} {
		if _, err := acp.New(c.config); err == nil || err.Error() != c.want {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
	for _, p := range acp.Presets() {
		p.Command[0] = "/nowhere/" + p.Command[0] // Presets returns copies
		if _, err := acp.New(acp.Config{Preset: p.Name}); err != nil {
			t.Error(err)
		}
	}
	if p := acp.Presets()[0]; strings.HasPrefix(p.Command[0], "/nowhere/") {
		t.Errorf("a preset was changed: %+v", p)
	}
	cl, err := acp.New(acp.Config{Preset: "claude", Command: []string{"/nowhere/agent"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cl.CreateSession(t.Context(), graph.SessionConfig{}); err == nil ||
		!strings.Contains(err.Error(), "start the agent") {
		t.Errorf("%v", err)
	}
}

// Agent nodes of type claude are executed by Claude Code, in its own process. It may read, search
// and think on its own, but not fetch; a person is asked about everything else.
func ExampleNew() {
	claude, err := acp.New(acp.Config{
		Preset: "claude", Dir: "testdata", Allow: []string{"read", "search", "think"}, Deny: []string{"fetch"},
		Decide: func(_ context.Context, p acp.Permission) (bool, error) {
			fmt.Printf("may it %s: %s? [y/n] ", p.Kind, p.Tool)
			var answer string
			_, err := fmt.Scanln(&answer)
			return answer == "y", err
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	eng, err := hocket.Open(context.Background(), hocket.Config{}, hocket.WithSessions("claude", claude))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer eng.Close()
	fmt.Println(eng.Sessions("claude") != nil, eng.Sessions("copilot") != nil) // nothing is running yet
	// Output:
	// true false
}
