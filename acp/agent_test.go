//go:build unix

package acp_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/hocket-run/hocket/internal/leaktest"
)

// agentVar is the environment variable that makes the test binary act as a coding agent.
const agentVar = "HOCKET_TEST_PUBLIC_ACP"

func TestMain(m *testing.M) {
	if os.Getenv(agentVar) == "" {
		leaktest.Main(m)
		return
	}
	a := &agent{}
	ready := make(chan struct{})
	a.conn = sdk.NewAgentSideConnection(a, os.Stdout, gatedInput(ready))
	a.conn.SetLogger(slog.New(slog.DiscardHandler))
	close(ready)
	<-a.conn.Done()
}

// gatedInput blocks the agent's input until its connection is set.
type gatedInput chan struct{}

func (h gatedInput) Read(p []byte) (int, error) {
	<-h
	return os.Stdin.Read(p)
}

// agent is a coding agent that records each message in a file and echoes it. For the message `run
// KIND` it requests permission and answers with the outcome.
type agent struct{ conn *sdk.AgentSideConnection }

func (a *agent) Initialize(context.Context, sdk.InitializeRequest) (sdk.InitializeResponse, error) {
	r := sdk.InitializeResponse{ProtocolVersion: sdk.ProtocolVersion(sdk.ProtocolVersionNumber),
		AuthMethods: []sdk.AuthMethod{}}
	r.AgentCapabilities.LoadSession = true
	return r, nil
}

func (a *agent) NewSession(ctx context.Context, _ sdk.NewSessionRequest) (sdk.NewSessionResponse, error) {
	id := sdk.SessionId(fmt.Sprint("s", os.Getpid()))
	a.update(ctx, id, sdk.SessionUpdate{AvailableCommandsUpdate: &sdk.SessionAvailableCommandsUpdate{
		AvailableCommands: []sdk.AvailableCommand{{Name: "compact", Description: "Makes it short."}},
	}})
	return sdk.NewSessionResponse{SessionId: id}, nil
}

func (a *agent) LoadSession(context.Context, sdk.LoadSessionRequest) (sdk.LoadSessionResponse, error) {
	return sdk.LoadSessionResponse{}, nil
}

func (a *agent) update(ctx context.Context, id sdk.SessionId, u sdk.SessionUpdate) {
	_ = a.conn.SessionUpdate(ctx, sdk.SessionNotification{SessionId: id, Update: u})
}

func (a *agent) Prompt(ctx context.Context, r sdk.PromptRequest) (sdk.PromptResponse, error) {
	message := r.Prompt[len(r.Prompt)-1].Text.Text
	file, err := os.OpenFile("told", os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return sdk.PromptResponse{}, err
	}
	fmt.Fprintln(file, message)
	_ = file.Close()
	used := 900
	switch {
	case message == "/compact":
		used = 100
	case strings.HasPrefix(message, "run "):
		kind := sdk.ToolKind(strings.TrimPrefix(message, "run "))
		res, err := a.conn.RequestPermission(ctx, sdk.RequestPermissionRequest{
			SessionId: r.SessionId, ToolCall: sdk.ToolCallUpdate{ToolCallId: "1", Kind: new(kind),
				Title: new("make all")},
			Options: []sdk.PermissionOption{
				{OptionId: "yes", Kind: sdk.PermissionOptionKindAllowOnce, Name: "Yes"},
				{OptionId: "no", Kind: sdk.PermissionOptionKindRejectOnce, Name: "No"},
			},
		})
		outcome := fmt.Sprint(err)
		if res.Outcome.Selected != nil {
			outcome = string(res.Outcome.Selected.OptionId)
		}
		a.update(ctx, r.SessionId, sdk.UpdateAgentMessageText(outcome))
	default:
		a.update(ctx, r.SessionId, sdk.UpdateAgentMessageText("done: "+message))
	}
	a.update(ctx, r.SessionId, sdk.SessionUpdate{UsageUpdate: &sdk.SessionUsageUpdate{Used: used, Size: 1000}})
	return sdk.PromptResponse{StopReason: sdk.StopReasonEndTurn}, nil
}

func (a *agent) Cancel(context.Context, sdk.CancelNotification) error { return nil }

func (a *agent) SetSessionConfigOption(context.Context, sdk.SetSessionConfigOptionRequest) (
	sdk.SetSessionConfigOptionResponse, error) {
	return sdk.SetSessionConfigOptionResponse{ConfigOptions: []sdk.SessionConfigOption{}}, nil
}

func (a *agent) SetSessionMode(context.Context, sdk.SetSessionModeRequest) (sdk.SetSessionModeResponse, error) {
	return sdk.SetSessionModeResponse{}, nil
}

func (a *agent) Authenticate(context.Context, sdk.AuthenticateRequest) (sdk.AuthenticateResponse, error) {
	return sdk.AuthenticateResponse{}, nil
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
