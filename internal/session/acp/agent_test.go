//go:build unix

package acp_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/hocket-run/hocket/internal/leaktest"
)

// modeVar is the variable that makes the test binary an agent instead of a test.
const modeVar = "HOCKET_TEST_ACP_MODE"

func TestMain(m *testing.M) {
	switch mode := os.Getenv(modeVar); mode {
	case "":
		leaktest.Main(m)
	case "silent":
		_, _ = io.Copy(io.Discard, os.Stdin)
	case "noise":
		fmt.Println("Welcome to the agent!\n[INFO] {it is} up")
		_, _ = io.Copy(io.Discard, os.Stdin)
	case "die":
		fmt.Fprintln(os.Stderr, "cannot read the licence file", os.Getenv("API_TOKEN"))
		os.Exit(3)
	case "stuck":
		stay() // reads nothing
	case "nonsense":
		answerAll(`{"jsonrpc":"2.0","id":%s,"result":[1,2]}`)
	case "stubborn":
		signal.Ignore(syscall.SIGTERM)
		serve(mode)
		stay()
	default:
		serve(mode)
	}
}

// answerAll sends the same response to every request.
func answerAll(format string) {
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		fmt.Printf(format+"\n", strings.TrimRight(strings.SplitN(strings.SplitN(in.Text(), `"id":`, 2)[1], ",", 2)[0],
			"}"))
	}
}

// serve runs an agent that does what the message says.
func serve(mode string) {
	if mode == "slow" {
		touch("up")
		for !there("go") { // the test says when
			_, _ = os.ReadDir(".")
		}
	}
	a := &agent{mode: mode, cancels: map[sdk.SessionId]context.CancelFunc{}}
	ready := make(chan struct{})
	a.conn = sdk.NewAgentSideConnection(a, os.Stdout, gatedStdin(ready))
	a.conn.SetLogger(slog.New(slog.DiscardHandler))
	close(ready)
	<-a.conn.Done()
}

// gatedStdin keeps the agent's input back until its connection is set.
type gatedStdin chan struct{}

func (h gatedStdin) Read(p []byte) (int, error) {
	<-h
	return os.Stdin.Read(p)
}

// stay keeps the process alive until it is killed. A channel would not: the runtime detects that no
// goroutine is left to write to it.
func stay() { time.Sleep(10 * time.Minute) }

func die() { os.Exit(3) }

func touch(name string)      { _ = os.WriteFile(name, nil, 0o600) }
func there(name string) bool { _, err := os.Stat(name); return err == nil }

type agent struct {
	mode string
	conn *sdk.AgentSideConnection

	mu      sync.Mutex
	cancels map[sdk.SessionId]context.CancelFunc
	model   string
}

func (a *agent) Initialize(_ context.Context, r sdk.InitializeRequest) (sdk.InitializeResponse, error) {
	version := sdk.ProtocolVersion(sdk.ProtocolVersionNumber)
	if a.mode == "future" {
		version = 99
	}
	res := sdk.InitializeResponse{ProtocolVersion: version, AuthMethods: []sdk.AuthMethod{}}
	res.AgentCapabilities.LoadSession = a.mode != "forgetful"
	if a.mode == "login" {
		res.AuthMethods = append(res.AuthMethods,
			sdk.AuthMethod{Agent: &sdk.AuthMethodAgent{Id: "web", Name: "Log in on the web"}})
	}
	return res, os.WriteFile("capabilities", fmt.Appendf(nil, "%v %v %v", r.ClientCapabilities.Fs.ReadTextFile,
		r.ClientCapabilities.Fs.WriteTextFile, r.ClientCapabilities.Terminal), 0o600)
}

func (a *agent) NewSession(ctx context.Context, r sdk.NewSessionRequest) (sdk.NewSessionResponse, error) {
	if a.mode == "login" {
		return sdk.NewSessionResponse{}, sdk.NewAuthRequired(nil)
	}
	id := sdk.SessionId(fmt.Sprint("s", os.Getpid()))
	if a.mode != "plain" {
		a.update(ctx, id, sdk.SessionUpdate{AvailableCommandsUpdate: &sdk.SessionAvailableCommandsUpdate{
			AvailableCommands: []sdk.AvailableCommand{{Name: "compact", Description: "x"}},
		}})
	}
	res := sdk.NewSessionResponse{SessionId: id}
	switch a.mode {
	case "plain":
	case "older":
		res.Modes = &sdk.SessionModeState{CurrentModeId: "ask",
			AvailableModes: []sdk.SessionMode{{Id: "ask", Name: "Ask"}, {Id: "code", Name: "Code"}}}
	default:
		category := sdk.SessionConfigOptionCategoryModel
		values := sdk.SessionConfigSelectOptionsUngrouped{{Name: "Small", Value: "small"}, {Name: "Big", Value: "big"}}
		res.ConfigOptions = []sdk.SessionConfigOption{{Select: &sdk.SessionConfigOptionSelect{
			Type: "select", Id: "m", Name: "Model", Category: &category, CurrentValue: "small",
			Options: sdk.SessionConfigSelectOptions{Ungrouped: &values},
		}}}
	}
	return res, nil
}

// LoadSession replays the conversation, as the protocol requires.
func (a *agent) LoadSession(ctx context.Context, r sdk.LoadSessionRequest) (sdk.LoadSessionResponse, error) {
	said, err := os.ReadFile(string(r.SessionId))
	if err != nil {
		return sdk.LoadSessionResponse{}, err
	}
	a.update(ctx, r.SessionId, sdk.UpdateUserMessageText(string(said)))
	a.update(ctx, r.SessionId, sdk.UpdateAgentMessageText("I said that before."))
	return sdk.LoadSessionResponse{}, nil
}

func (a *agent) update(ctx context.Context, id sdk.SessionId, u sdk.SessionUpdate) {
	_ = a.conn.SessionUpdate(ctx, sdk.SessionNotification{SessionId: id, Update: u})
}

func (a *agent) Prompt(ctx context.Context, r sdk.PromptRequest) (sdk.PromptResponse, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	a.mu.Lock()
	a.cancels[r.SessionId] = cancel
	a.mu.Unlock()
	var texts []string
	for _, b := range r.Prompt {
		texts = append(texts, b.Text.Text)
	}
	message := strings.Join(texts, " | ")
	file, err := os.OpenFile(string(r.SessionId), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return sdk.PromptResponse{}, err
	}
	fmt.Fprintln(file, message)
	_ = file.Close()

	say := func(format string, args ...any) {
		a.update(ctx, r.SessionId, sdk.UpdateAgentMessageText(fmt.Sprintf(format, args...)))
	}
	verb, rest, _ := strings.Cut(texts[len(texts)-1], " ")
	reason := sdk.StopReasonEndTurn
	switch verb {
	case "work":
		a.work(ctx, r.SessionId)
	case "tool":
		a.tool(ctx, r.SessionId, rest)
	case "once": // offers no single-use grants
		res, err := a.conn.RequestPermission(ctx, sdk.RequestPermissionRequest{
			SessionId: r.SessionId, ToolCall: sdk.ToolCallUpdate{ToolCallId: "x", Kind: new(sdk.ToolKindEdit)},
			Options: []sdk.PermissionOption{{OptionId: "1", Kind: sdk.PermissionOptionKindAllowAlways, Name: "Always"}},
		})
		say("%v %v", res.Outcome.Selected != nil, err)
	case "said":
		said, err := os.ReadFile(string(r.SessionId))
		say("%s%v", said, err)
	case "read":
		res, err := a.conn.ReadTextFile(ctx, sdk.ReadTextFileRequest{SessionId: r.SessionId, Path: rest, Line: new(2),
			Limit: new(1)})
		say("%q %v", res.Content, err)
	case "write":
		_, err := a.conn.WriteTextFile(ctx, sdk.WriteTextFileRequest{SessionId: r.SessionId, Path: rest,
			Content: "new"})
		say("%v", err)
	case "terminal":
		_, err := a.conn.CreateTerminal(ctx, sdk.CreateTerminalRequest{SessionId: r.SessionId, Command: "ls"})
		say("%v", err)
	case "env":
		v, ok := os.LookupEnv(rest)
		say("%s %v", v, ok)
	case "model":
		say("%s", a.model)
	case "stop":
		reason = sdk.StopReason(rest)
	case "/compact":
		a.update(ctx, r.SessionId, sdk.SessionUpdate{UsageUpdate: &sdk.SessionUsageUpdate{Used: 10, Size: 1000}})
	case "fail":
		return sdk.PromptResponse{}, errors.New("no luck with " + os.Getenv("API_TOKEN"))
	case "crash":
		say("I begin.")
		fmt.Fprintln(os.Stderr, "out of luck", os.Getenv("API_TOKEN"))
		die()
	case "noise":
		fmt.Print("DEBUG {x}\n")
		say("Sorry.")
	case "flood":
		for range 3000 {
			say("x")
		}
	case "big":
		say("I begin.")
		for !there("go") { // the test reads nothing more
			_, _ = os.ReadDir(".")
		}
		for range 20 {
			say("%s", strings.Repeat("x", 1<<20))
		}
		a.update(ctx, r.SessionId, sdk.SessionUpdate{UsageUpdate: &sdk.SessionUsageUpdate{Used: 20, Size: 1000}})
	case "hang":
		say("I begin.")
		<-ctx.Done()
		touch("cancelled")
		reason = sdk.StopReasonCancelled
	case "deaf": // ignores cancellation, and has a child
		child := exec.Command("sleep", "600")
		if err := child.Start(); err != nil {
			return sdk.PromptResponse{}, err
		}
		say("%d %d", os.Getpid(), child.Process.Pid)
		stay()
	}
	return sdk.PromptResponse{StopReason: reason}, nil
}

// work sends everything that an agent may send unprompted.
func (a *agent) work(ctx context.Context, id sdk.SessionId) {
	a.update(ctx, id, sdk.UpdateAgentThoughtText("hm"))
	a.update(ctx, id, sdk.UpdatePlan(sdk.PlanEntry{Content: "look", Status: "pending", Priority: "high"}))
	a.update(ctx, id, sdk.UpdateAgentMessageText("I "))
	a.update(ctx, id, sdk.UpdateAgentMessageText("look."))
	a.update(ctx, id, sdk.StartToolCall("1", "a.txt", sdk.WithStartKind(sdk.ToolKindRead),
		sdk.WithStartStatus(sdk.ToolCallStatusPending)))
	a.update(ctx, id, sdk.UpdateToolCall("1", sdk.WithUpdateStatus(sdk.ToolCallStatusInProgress),
		sdk.WithUpdateRawInput(map[string]any{"path": "a.txt"})))
	a.update(ctx, id, sdk.UpdateToolCall("1", sdk.WithUpdateStatus(sdk.ToolCallStatusCompleted),
		sdk.WithUpdateContent([]sdk.ToolCallContent{
			sdk.ToolContent(sdk.TextBlock("inside")), sdk.ToolDiffContent("/b.txt", "new"),
		})))
	a.update(ctx, id, sdk.StartToolCall("2", "search", sdk.WithStartKind(sdk.ToolKindOther),
		sdk.WithStartStatus(sdk.ToolCallStatusPending)))
	a.update(ctx, id, sdk.UpdateAgentMessage(sdk.ImageBlock("aGk=", "image/png")))
	a.update(ctx, id, sdk.UpdateToolCall("2", sdk.WithUpdateStatus(sdk.ToolCallStatusFailed),
		sdk.WithUpdateRawOutput(map[string]any{"error": "none"})))
	a.update(ctx, id, sdk.SessionUpdate{UsageUpdate: &sdk.SessionUsageUpdate{Used: 450, Size: 1000}})
	// A separate agent, with its own session.
	a.update(ctx, "child", sdk.UpdateAgentMessageText("I am another."))
	a.update(ctx, "child", sdk.SessionUpdate{UsageUpdate: &sdk.SessionUsageUpdate{Used: 999, Size: 1000}})
}

// tool requests permission, and does what is granted.
func (a *agent) tool(ctx context.Context, id sdk.SessionId, kind string) {
	a.update(ctx, id, sdk.StartToolCall("1", "touch done", sdk.WithStartKind(sdk.ToolKind(kind)),
		sdk.WithStartRawInput(map[string]any{"command": "touch done"})))
	// the questions of a cancelled turn are answered, too
	res, err := a.conn.RequestPermission(context.WithoutCancel(ctx), sdk.RequestPermissionRequest{
		SessionId: id, ToolCall: sdk.ToolCallUpdate{ToolCallId: "1", Kind: new(sdk.ToolKind(kind)),
			Title: new("touch done"), RawInput: map[string]any{"command": "touch done"}},
		Options: []sdk.PermissionOption{
			{OptionId: "always", Kind: sdk.PermissionOptionKindAllowAlways, Name: "Always"},
			{OptionId: "yes", Kind: sdk.PermissionOptionKindAllowOnce, Name: "Yes"},
			{OptionId: "no", Kind: sdk.PermissionOptionKindRejectOnce, Name: "No"},
		},
	})
	outcome := fmt.Sprint(err)
	switch {
	case res.Outcome.Selected != nil:
		outcome = string(res.Outcome.Selected.OptionId)
	case res.Outcome.Cancelled != nil:
		outcome = "cancelled"
	}
	status := sdk.ToolCallStatusFailed
	if outcome == "yes" {
		touch("done")
		status = sdk.ToolCallStatusCompleted
	}
	_ = os.WriteFile("outcome", []byte(outcome), 0o600)
	a.update(ctx, id, sdk.UpdateToolCall("1", sdk.WithUpdateStatus(status), sdk.WithUpdateRawOutput(outcome)))
}

func (a *agent) Cancel(_ context.Context, n sdk.CancelNotification) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if cancel := a.cancels[n.SessionId]; cancel != nil {
		cancel()
	}
	return nil
}

func (a *agent) SetSessionConfigOption(_ context.Context, r sdk.SetSessionConfigOptionRequest) (
	sdk.SetSessionConfigOptionResponse, error) {
	a.model = string(r.ValueId.Value)
	return sdk.SetSessionConfigOptionResponse{ConfigOptions: []sdk.SessionConfigOption{}}, nil
}

func (a *agent) SetSessionMode(_ context.Context, r sdk.SetSessionModeRequest) (sdk.SetSessionModeResponse, error) {
	a.model = "mode " + string(r.ModeId)
	return sdk.SetSessionModeResponse{}, nil
}

func (a *agent) Authenticate(context.Context, sdk.AuthenticateRequest) (sdk.AuthenticateResponse, error) {
	return sdk.AuthenticateResponse{}, errors.New("not here")
}

func (a *agent) CloseSession(context.Context, sdk.CloseSessionRequest) (sdk.CloseSessionResponse, error) {
	return sdk.CloseSessionResponse{}, nil
}

func (a *agent) ListSessions(context.Context, sdk.ListSessionsRequest) (sdk.ListSessionsResponse, error) {
	return sdk.ListSessionsResponse{}, nil
}

func (a *agent) ResumeSession(context.Context, sdk.ResumeSessionRequest) (sdk.ResumeSessionResponse, error) {
	return sdk.ResumeSessionResponse{}, nil
}

// command returns the command that starts this binary, which modeVar makes an agent.
func command(t *testing.T) []string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return []string{exe}
}

func read(t *testing.T, dir, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
