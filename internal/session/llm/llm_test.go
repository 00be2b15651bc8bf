package llm_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket/graph"
	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/leaktest"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/session/llm"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// brain is a fake model: it answers with a function and records its requests.
type brain struct {
	answer func(model.Request) (model.Reply, error)
	mu     sync.Mutex
	asked  []model.Request
}

func (b *brain) Call(ctx context.Context, req model.Request, _ func(model.Delta)) (model.Reply, error) {
	if err := ctx.Err(); err != nil {
		return model.Reply{}, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.asked = append(b.asked, req)
	return b.answer(req)
}

// replies returns a brain that answers with the given replies, one after another.
func replies(list ...model.Reply) *brain {
	n := 0
	return &brain{answer: func(model.Request) (model.Reply, error) {
		if n == len(list) {
			return model.Reply{}, &model.Error{Kind: model.KindNoReply, Message: "no reply left"}
		}
		n++
		return list[n-1], nil
	}}
}

func says(text string) model.Reply {
	return model.Reply{Message: chat.Message{Role: chat.RoleAssistant, Text: chat.NewText(text)},
		StopReason: model.StopEnd}
}

func calls(id, name, args string) model.Reply {
	return model.Reply{StopReason: model.StopToolCalls, Message: chat.Message{Role: chat.RoleAssistant,
		ToolCalls: []chat.ToolCall{
			{ID: id, Name: name, Arguments: json.RawMessage(args)},
		}}}
}

func counted(r model.Reply, in, out int64) model.Reply {
	r.Usage = &chat.Usage{InputTokens: in, OutputTokens: out}
	return r
}

// toolbox is a set of tools by name.
type toolbox map[string]func(context.Context, llm.ToolCall) (llm.ToolResult, error)

func (b toolbox) Defs(_ context.Context, names []string) ([]chat.ToolDef, error) {
	var defs []chat.ToolDef
	for _, n := range names {
		if b[n] == nil {
			return nil, fmt.Errorf("unknown tool %q", n)
		}
		defs = append(defs, chat.ToolDef{Name: n})
	}
	return defs, nil
}

func (b toolbox) Call(ctx context.Context, c llm.ToolCall) (llm.ToolResult, error) {
	return b[c.Name](ctx, c)
}

func echo(_ context.Context, c llm.ToolCall) (llm.ToolResult, error) {
	return llm.ToolResult{Text: "got " + string(c.Arguments)}, nil
}

func open(t *testing.T, cfg llm.Config, c graph.SessionConfig) graph.Session {
	t.Helper()
	client, err := llm.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if c.Model == "" && cfg.Model == "" {
		c.Model = "test/model"
	}
	s, err := client.CreateSession(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(s.Destroy(context.Background()), s.Destroy(context.Background())); err != nil {
			t.Errorf("destroy: %v", err)
		}
	})
	return s
}

// talk sends a message and returns the answer, one line per message, and the error.
func talk(ctx context.Context, s graph.Session, message string) (string, error) {
	var lines []string
	for m, err := range s.Stream(ctx, message) {
		if err != nil {
			return strings.Join(lines, "\n"), err
		}
		line := m.Type + " " + m.Role
		if m.Tool != "" {
			line += " " + m.Tool + "#" + m.ToolCallID + string(m.Arguments)
		}
		if m.IsError {
			line += " failed"
		}
		lines = append(lines, strings.TrimSpace(line+": "+m.Content))
	}
	return strings.Join(lines, "\n"), nil
}

// TestStream checks that thinking, text, calls and results arrive in order, that the conversation
// continues, and that the request identifies the caller (S2-68).
func TestStream(t *testing.T) {
	t.Parallel()
	first := calls("1", "look", `{"at":"x"}`)
	first.Reasoning, first.Message.Text = "hm", chat.NewText("I look.")
	b := replies(first, says("It is x."), says("Bye."))
	s := open(t, llm.Config{Models: b, Tools: toolbox{"look": echo, "other": echo}}, graph.SessionConfig{
		Name: "Ann", Node: "n", SystemPrompt: "Be good.", Tools: []string{"look"},
	})
	got, err := talk(t.Context(), s, "What is there?")
	want := `thinking assistant: hm
text assistant: I look.
tool_use assistant look#1{"at":"x"}:
tool_result tool look#1: got {"at":"x"}
text assistant: It is x.`
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v, -want +got:\n%s", err, diff)
	}
	if got, err := talk(t.Context(), s, "Thanks."); got != "text assistant: Bye." || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	last := b.asked[2]
	if last.Agent != "Ann" || last.Node != "n" || last.System != "Be good." || last.Model != "test/model" ||
		len(last.Tools) != 1 || last.Tools[0].Name != "look" {
		t.Errorf("request: %+v", last)
	}
	var roles []string
	for _, m := range last.Messages {
		roles = append(roles, string(m.Role))
	}
	if diff := cmp.Diff([]string{"user", "assistant", "tool", "assistant", "user"}, roles); diff != "" {
		t.Errorf("conversation, -want +got:\n%s", diff)
	}
	if s.ID() == "" {
		t.Error("the session has no id")
	}
}

// TestStopReasons checks that a turn that ends early reports its reason (P27), and that the session
// remains usable.
func TestStopReasons(t *testing.T) {
	t.Parallel()
	refusal, cut := says("I won't."), says("Once upon")
	refusal.StopReason, cut.StopReason = model.StopRefusal, model.StopLength
	for name, c := range map[string]struct {
		answer func(n int) model.Reply
		reason string
		asked  int
	}{
		"refusal":    {func(int) model.Reply { return refusal }, graph.StopRefusal, 1},
		"max_tokens": {func(int) model.Reply { return cut }, graph.StopMaxTokens, 1},
		"max_turns": {func(n int) model.Reply {
			return calls("1", "look", fmt.Sprint(`{"n":`, n, `}`))
		}, graph.StopMaxTurns, 8},
		"no_progress after 5 (P27)": {func(int) model.Reply { return calls("1", "look", `{}`) }, graph.StopNoProgress,
			5},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := 0
			b := &brain{answer: func(r model.Request) (model.Reply, error) {
				if n++; r.LastText() == "again" {
					return says("Yes."), nil
				}
				return c.answer(n), nil
			}}
			s := open(t, llm.Config{Models: b, Tools: toolbox{"look": echo}, MaxTurns: 8},
				graph.SessionConfig{Tools: []string{"look"}})
			_, err := talk(t.Context(), s, "go")
			stop, ok := errors.AsType[*graph.StopError](err)
			if !ok || stop.Reason != c.reason || len(b.asked) != c.asked {
				t.Errorf("got %v after %d calls, want %s after %d", err, len(b.asked), c.reason, c.asked)
			}
			if got, err := talk(t.Context(), s, "again"); err != nil || got != "text assistant: Yes." {
				t.Errorf("afterwards: %q, %v", got, err)
			}
			checkCallsAnswered(t, b.asked[len(b.asked)-1].Messages)
		})
	}
}

// checkCallsAnswered checks that each call is followed by exactly one result, before any other
// message (P41).
func checkCallsAnswered(t interface {
	Helper()
	Errorf(string, ...any)
}, conv []chat.Message) {
	t.Helper()
	wanted := map[string]bool{}
	for i, m := range conv {
		if m.Role == chat.RoleTool {
			if !wanted[m.ToolCallID] {
				t.Errorf("message %d answers %q, which was not asked or is answered", i, m.ToolCallID)
			}
			delete(wanted, m.ToolCallID)
			continue
		}
		if len(wanted) > 0 {
			t.Errorf("message %d comes before the results of %v", i, wanted)
		}
		for _, c := range m.ToolCalls {
			wanted[c.ID] = true
		}
	}
	if len(wanted) > 0 {
		t.Errorf("no results of %v", wanted)
	}
}

// TestToolCalls checks that a tool that was not granted is not called (SEC13), and that failures
// are reported to the model.
func TestToolCalls(t *testing.T) {
	t.Parallel()
	tools := toolbox{
		"look":  echo,
		"other": func(context.Context, llm.ToolCall) (llm.ToolResult, error) { panic("called without a grant") },
		"fail": func(context.Context, llm.ToolCall) (llm.ToolResult, error) {
			return llm.ToolResult{}, errors.New("no luck")
		},
		"panic": func(context.Context, llm.ToolCall) (llm.ToolResult, error) { panic("ouch") },
		"hang": func(ctx context.Context, _ llm.ToolCall) (llm.ToolResult, error) {
			<-ctx.Done()
			return llm.ToolResult{}, ctx.Err()
		},
	}
	for name, c := range map[string]struct{ tool, args, want string }{
		"not granted (SEC13)": {"other", `{}`, `tool_result tool other#1 failed: unknown tool "other"`},
		"not there":           {"nix", `{}`, `tool_result tool nix#1 failed: unknown tool "nix"`},
		"no object": {"look", `"{broken"`,
			`tool_result tool look#1 failed: the arguments are not a JSON object`},
		"no arguments":          {"look", ``, `tool_result tool look#1: got {}`},
		"failed":                {"fail", `{}`, `tool_result tool fail#1 failed: no luck`},
		"panicked":              {"panic", `{}`, `tool_result tool panic#1 failed: tool "panic" panicked: ouch`},
		"never answers (P11)":   {"hang", `{}`, `tool_result tool hang#1 failed: the tool took longer than 20ms`},
		"null for no arguments": {"look", `null`, `tool_result tool look#1: got {}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := replies(calls("1", c.tool, c.args), says("Well."))
			cfg := llm.Config{Models: b, Tools: tools}
			if c.tool == "hang" { // the other tools answer however slow the machine is
				cfg.ToolTimeout = 20 * time.Millisecond
			}
			s := open(t, cfg, graph.SessionConfig{Tools: []string{"look", "fail", "panic", "hang"}})
			got, err := talk(t.Context(), s, "go")
			lines := strings.Split(got, "\n")
			if err != nil || len(lines) != 3 || lines[1] != c.want {
				t.Errorf("got %q, %v, want a line %q", lines, err, c.want)
			}
		})
	}
}

// TestToolKeys checks that each call has a unique key (P12).
func TestToolKeys(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	tools := toolbox{"look": func(_ context.Context, c llm.ToolCall) (llm.ToolResult, error) {
		seen[c.Key] = true
		return llm.ToolResult{}, nil
	}}
	for range 2 {
		s := open(t, llm.Config{Models: replies(calls("1", "look", `{}`), calls("2", "look", `{}`), says("Done.")),
			Tools: tools}, graph.SessionConfig{Tools: []string{"look"}})
		if _, err := talk(t.Context(), s, "go"); err != nil {
			t.Fatal(err)
		}
	}
	if len(seen) != 4 {
		t.Errorf("%d keys for 4 calls: %v", len(seen), seen)
	}
}

// TestInterrupted checks that a turn that was left or cancelled leaves a conversation that can
// continue, with each call answered.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	for name, stop := range map[string]func(context.Context, context.CancelFunc, graph.Session) error{
		"the loop is left at a call": func(ctx context.Context, _ context.CancelFunc, s graph.Session) error {
			for m, err := range s.Stream(ctx, "go") {
				if err != nil || m.Type == graph.MessageToolUse {
					return err
				}
			}
			return errors.New("no call came")
		},
		"cancelled in the call": func(ctx context.Context, cancel context.CancelFunc, s graph.Session) error {
			for m, err := range s.Stream(ctx, "go") {
				if errors.Is(err, context.Canceled) {
					return nil
				}
				if err != nil {
					return err
				}
				if m.Type == graph.MessageToolUse {
					cancel()
				}
			}
			return errors.New("no error came")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := replies(calls("1", "hang", `{}`), says("On we go."))
			s := open(t, llm.Config{
				Models: b, Tools: toolbox{"hang": func(ctx context.Context, _ llm.ToolCall) (llm.ToolResult, error) {
					<-ctx.Done()
					return llm.ToolResult{}, ctx.Err()
				}}}, graph.SessionConfig{Tools: []string{"hang"}})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if err := stop(ctx, cancel, s); err != nil {
				t.Fatal(err)
			}
			if got, err := talk(t.Context(), s, "again"); err != nil || got != "text assistant: On we go." {
				t.Errorf("got %q, %v", got, err)
			}
			last := b.asked[len(b.asked)-1].Messages
			checkCallsAnswered(t, last)
			if len(last) != 4 || !last[2].IsError {
				t.Errorf("conversation: %+v", last)
			}
		})
	}
}

// TestModelFails checks that the model's error is returned, and that a message without any answer
// is not in the conversation.
func TestModelFails(t *testing.T) {
	t.Parallel()
	n := 0
	b := &brain{answer: func(model.Request) (model.Reply, error) {
		if n++; n == 1 {
			return model.Reply{}, &model.Error{Kind: model.KindOverloaded, Message: "later"}
		}
		return says("Hello."), nil
	}}
	s := open(t, llm.Config{Models: b}, graph.SessionConfig{})
	_, err := talk(t.Context(), s, "go")
	if e, ok := errors.AsType[*model.Error](err); !ok || e.Kind != model.KindOverloaded {
		t.Errorf("got %v", err)
	}
	if _, err := talk(t.Context(), s, "go"); err != nil || len(b.asked[1].Messages) != 1 {
		t.Errorf("got %v, %+v", err, b.asked[1].Messages)
	}
}

// TestCreate checks the configs with which no session can be created.
func TestCreate(t *testing.T) {
	t.Parallel()
	if _, err := llm.New(llm.Config{MaxTurns: -1}); err == nil || !strings.Contains(err.Error(),
		"field Models is missing") || !strings.Contains(err.Error(), "field MaxTurns is negative") {
		t.Errorf("got %v", err)
	}
	for name, c := range map[string]struct {
		cfg    llm.Config
		config graph.SessionConfig
		want   string
	}{
		"no model":       {llm.Config{}, graph.SessionConfig{}, "an LLM session needs a model"},
		"former session": {llm.Config{Model: "m"}, graph.SessionConfig{Load: "x"}, graph.ErrNoLoad.Error()},
		"no tools at all": {llm.Config{Model: "m"}, graph.SessionConfig{Tools: []string{"look"}},
			`tool "look" is not available: no tools are configured`},
		"unknown tool": {llm.Config{Model: "m", Tools: toolbox{}}, graph.SessionConfig{Tools: []string{"look"}},
			`unknown tool "look"`},
		"unknown option": {llm.Config{Model: "m"}, graph.SessionConfig{Options: map[string]any{"x": 1}},
			`no option "x"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.cfg.Models = replies()
			client, err := llm.New(c.cfg)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := client.CreateSession(t.Context(), c.config); err == nil ||
				!strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}
