package acp

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	sdk "github.com/coder/acp-go-sdk"
)

// peer is our side of the connection, as the agent sees it: it receives updates and answers
// requests. The SDK calls it from its own goroutines: updates one after another, requests
// concurrently. Only Config.Decide may block here, because the SDK drops a connection whose updates
// are not consumed.
type peer struct {
	cfg         Config
	files       *files
	agent, node string
	pace        *pacer

	mu       sync.Mutex
	session  string
	turn     *turn // nil between turns; updates that arrive then belong to no message
	usage    *usage
	commands []string
	calls    map[sdk.ToolCallId]*call // calls of the turn, by ID
	order    []*call                  // calls of the turn, in order
}

// usage is how full the agent reports its context window to be.
type usage struct{ used, size int }

// largestWindow is larger, in tokens, than any context window.
const largestWindow = 1 << 30

// plausibleUsage returns the usage that an agent reports of its context window, or nil if it is
// implausible; the usage is then unknown.
func plausibleUsage(used, size int) *usage {
	if used < 0 || size < 0 || used > largestWindow || size > largestWindow {
		return nil
	}
	return &usage{used, size}
}

// SessionUpdate handles one update.
func (p *peer) SessionUpdate(_ context.Context, n sdk.SessionNotification) error {
	defer p.pace.countConsumed()
	p.mu.Lock()
	defer p.mu.Unlock()
	u := n.Update
	switch {
	case p.session != "" && string(n.SessionId) != p.session:
		// This is a subagent that the agent runs: neither its messages nor its tokens count as the
		// session's (P41).
	case u.UsageUpdate != nil:
		p.usage = plausibleUsage(u.UsageUpdate.Used, u.UsageUpdate.Size)
	case u.AvailableCommandsUpdate != nil:
		p.commands = nil
		for _, c := range u.AvailableCommandsUpdate.AvailableCommands {
			p.commands = append(p.commands, c.Name)
		}
	case p.turn != nil:
		p.turn.push(p.messages(u)...)
	}
	if p.turn != nil {
		p.turn.wakeUp()
	}
	return nil
}

// HandleExtensionMethod handles the notification that the pacer adds to the agent's output. The
// protocol's extensions are not supported.
func (p *peer) HandleExtensionMethod(_ context.Context, method string, _ json.RawMessage) (any, error) {
	if method != endMethod {
		return nil, sdk.NewMethodNotFound(method)
	}
	p.pace.markHandled()
	return nil, nil
}

// RequestPermission answers according to the config's policy.
func (p *peer) RequestPermission(ctx context.Context, r sdk.RequestPermissionRequest) (
	sdk.RequestPermissionResponse, error) {
	t, done := p.busy()
	defer done()
	if t == nil || t.ctx.Err() != nil {
		return cancelled(), nil
	}
	ask := p.permission(r)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(t.ctx, cancel)()
	ok := p.allowed(ctx, ask)
	if t.ctx.Err() != nil {
		return cancelled(), nil
	}
	want := []sdk.PermissionOptionKind{sdk.PermissionOptionKindRejectOnce, sdk.PermissionOptionKindRejectAlways}
	if ok {
		want = []sdk.PermissionOptionKind{sdk.PermissionOptionKindAllowOnce, sdk.PermissionOptionKindAllowAlways}
	}
	for _, kind := range want {
		for _, o := range r.Options {
			if o.Kind == kind {
				p.cfg.Logger.Debug("coding agent asks", "kind", ask.Kind, "tool", ask.Tool, "granted", ok)
				return sdk.RequestPermissionResponse{Outcome: sdk.RequestPermissionOutcome{
					Selected: &sdk.RequestPermissionOutcomeSelected{OptionId: o.OptionId, Outcome: "selected"},
				}}, nil
			}
		}
	}
	return cancelled(), nil // the agent does not offer this answer, and we return no other
}

func cancelled() sdk.RequestPermissionResponse {
	return sdk.RequestPermissionResponse{Outcome: sdk.RequestPermissionOutcome{
		Cancelled: &sdk.RequestPermissionOutcomeCancelled{Outcome: "cancelled"},
	}}
}

// permission collects what is known about a call: the request itself may contain less than the
// updates before it.
func (p *peer) permission(r sdk.RequestPermissionRequest) Permission {
	p.mu.Lock()
	defer p.mu.Unlock()
	ask := Permission{Session: p.session, Agent: p.agent, Node: p.node}
	if c := p.calls[r.ToolCall.ToolCallId]; c != nil {
		ask.Kind, ask.Tool, ask.Arguments = c.kind, c.title, c.args
	}
	if r.ToolCall.Kind != nil {
		ask.Kind = string(*r.ToolCall.Kind)
	}
	if r.ToolCall.Title != nil {
		ask.Tool = *r.ToolCall.Title
	}
	if args := rawJSON(r.ToolCall.RawInput); args != nil {
		ask.Arguments = args
	}
	return ask
}

// isIn reports whether list contains the kind or the title of the call that needs permission.
func (ask Permission) isIn(list []string) bool {
	return slices.ContainsFunc(list, func(word string) bool {
		return word == "*" || word != "" && (word == ask.Kind || word == ask.Tool)
	})
}

func (p *peer) allowed(ctx context.Context, ask Permission) (ok bool) {
	switch {
	case ask.isIn(p.cfg.Deny):
		return false
	case ask.isIn(p.cfg.Allow):
		return true
	case p.cfg.Decide == nil:
		return false
	}
	defer func() {
		if v := recover(); v != nil {
			p.cfg.Logger.Error("Decide panicked", "panic", v)
			ok = false
		}
	}()
	ok, err := p.cfg.Decide(ctx, ask)
	if err != nil {
		p.cfg.Logger.Warn("permission could not be decided", "error", err)
		return false
	}
	return ok
}

// busy marks the turn as waiting for us. The caller must call done when the wait ends.
func (p *peer) busy() (t *turn, done func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	t = p.turn
	if t == nil {
		return nil, func() {}
	}
	t.addBusy(1)
	t.wakeUp()
	return t, func() {
		t.addBusy(-1)
		t.wakeUp()
	}
}

// ReadTextFile reads a file inside the session's folder, if the config allows it.
func (p *peer) ReadTextFile(_ context.Context, r sdk.ReadTextFileRequest) (sdk.ReadTextFileResponse, error) {
	if !p.files.read {
		return sdk.ReadTextFileResponse{}, sdk.NewMethodNotFound(sdk.ClientMethodFsReadTextFile)
	}
	text, err := p.files.text(r.Path, r.Line, r.Limit)
	return sdk.ReadTextFileResponse{Content: text}, err
}

// WriteTextFile writes a file inside the session's folder, if the config allows it.
func (p *peer) WriteTextFile(_ context.Context, r sdk.WriteTextFileRequest) (sdk.WriteTextFileResponse, error) {
	if !p.files.write {
		return sdk.WriteTextFileResponse{}, sdk.NewMethodNotFound(sdk.ClientMethodFsWriteTextFile)
	}
	return sdk.WriteTextFileResponse{}, p.files.put(r.Path, r.Content)
}

// Terminals are not offered: an agent that wants to run a command runs it itself and requests
// permission.

// CreateTerminal always returns an error.
func (p *peer) CreateTerminal(context.Context, sdk.CreateTerminalRequest) (sdk.CreateTerminalResponse, error) {
	return sdk.CreateTerminalResponse{}, sdk.NewMethodNotFound(sdk.ClientMethodTerminalCreate)
}

// KillTerminal always returns an error.
func (p *peer) KillTerminal(context.Context, sdk.KillTerminalRequest) (sdk.KillTerminalResponse, error) {
	return sdk.KillTerminalResponse{}, sdk.NewMethodNotFound(sdk.ClientMethodTerminalKill)
}

// TerminalOutput always returns an error.
func (p *peer) TerminalOutput(context.Context, sdk.TerminalOutputRequest) (sdk.TerminalOutputResponse, error) {
	return sdk.TerminalOutputResponse{}, sdk.NewMethodNotFound(sdk.ClientMethodTerminalOutput)
}

// ReleaseTerminal always returns an error.
func (p *peer) ReleaseTerminal(context.Context, sdk.ReleaseTerminalRequest) (sdk.ReleaseTerminalResponse, error) {
	return sdk.ReleaseTerminalResponse{}, sdk.NewMethodNotFound(sdk.ClientMethodTerminalRelease)
}

// WaitForTerminalExit always returns an error.
func (p *peer) WaitForTerminalExit(context.Context, sdk.WaitForTerminalExitRequest) (
	sdk.WaitForTerminalExitResponse, error) {
	return sdk.WaitForTerminalExitResponse{}, sdk.NewMethodNotFound(sdk.ClientMethodTerminalWaitForExit)
}

func (p *peer) begin(t *turn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.turn, p.calls, p.order = t, map[sdk.ToolCallId]*call{}, nil
}

// endTurn ends the turn after queueing the agent's output that has not been passed on yet.
func (p *peer) endTurn() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.turn != nil {
		p.turn.push(p.flush()...)
	}
	p.turn = nil
}

func (p *peer) knows(command string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Contains(p.commands, command)
}

// rawJSON encodes a value of the SDK as JSON. It returns nil for no value and for an empty object.
func rawJSON(v any) json.RawMessage {
	if v == nil {
		return nil
	}
	if m, ok := v.(map[string]any); ok && len(m) == 0 {
		return nil
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return json.RawMessage(fmt.Sprintf("%q", fmt.Sprint(v)))
	}
	return raw
}
