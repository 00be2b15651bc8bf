package acp

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	sdk "github.com/coder/acp-go-sdk"
)

// peer is what the agent sees of us: it takes updates and answers requests. The SDK calls it from its own goroutines: updates one after another, requests side by
// side. Nothing here blocks but Config.Decide, since the SDK gives up a connection whose updates are not taken.
type peer struct {
	cfg         Config
	files       *files
	agent, node string
	pace        *pacer

	mu       sync.Mutex
	session  string
	turn     *turn // nil between turns; what comes then answers no message
	usage    *usage
	commands []string
	calls    map[sdk.ToolCallId]*call // of the turn
	order    []*call                  // the same, in order
}

// usage is how full the agent says its window is.
type usage struct{ used, size int }

// largestWindow is more tokens than any context window has.
const largestWindow = 1 << 30

// possible gives what an agent says of its window, nil where that cannot be: then its usage is unknown.
func possible(used, size int) *usage {
	if used < 0 || size < 0 || used > largestWindow || size > largestWindow {
		return nil
	}
	return &usage{used, size}
}

// SessionUpdate takes one update.
func (p *peer) SessionUpdate(_ context.Context, n sdk.SessionNotification) error {
	defer p.pace.take()
	p.mu.Lock()
	defer p.mu.Unlock()
	u := n.Update
	switch {
	case p.session != "" && string(n.SessionId) != p.session:
		// An agent that the agent runs: neither its words nor its tokens are the session's (P41).
	case u.UsageUpdate != nil:
		p.usage = possible(u.UsageUpdate.Used, u.UsageUpdate.Size)
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

// RequestPermission answers by the policy of the config.
func (p *peer) RequestPermission(ctx context.Context, r sdk.RequestPermissionRequest) (sdk.RequestPermissionResponse, error) {
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
	return cancelled(), nil // the agent offers no such answer, and another one we do not give
}

func cancelled() sdk.RequestPermissionResponse {
	return sdk.RequestPermissionResponse{Outcome: sdk.RequestPermissionOutcome{
		Cancelled: &sdk.RequestPermissionOutcomeCancelled{Outcome: "cancelled"},
	}}
}

// permission puts together what is known of a call: the request itself may say less than the updates before it.
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

// isIn tells whether a list names the kind or the title of what is asked for.
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

// busy marks the turn as one in which the agent waits for us. done ends that.
func (p *peer) busy() (t *turn, done func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	t = p.turn
	if t == nil {
		return nil, func() {}
	}
	t.wait(1)
	t.wakeUp()
	return t, func() {
		t.wait(-1)
		t.wakeUp()
	}
}

// ReadTextFile reads inside of the session's folder, where the config allows it.
func (p *peer) ReadTextFile(_ context.Context, r sdk.ReadTextFileRequest) (sdk.ReadTextFileResponse, error) {
	if !p.files.read {
		return sdk.ReadTextFileResponse{}, sdk.NewMethodNotFound(sdk.ClientMethodFsReadTextFile)
	}
	text, err := p.files.text(r.Path, r.Line, r.Limit)
	return sdk.ReadTextFileResponse{Content: text}, err
}

// WriteTextFile writes inside of the session's folder, where the config allows it.
func (p *peer) WriteTextFile(_ context.Context, r sdk.WriteTextFileRequest) (sdk.WriteTextFileResponse, error) {
	if !p.files.write {
		return sdk.WriteTextFileResponse{}, sdk.NewMethodNotFound(sdk.ClientMethodFsWriteTextFile)
	}
	return sdk.WriteTextFileResponse{}, p.files.put(r.Path, r.Content)
}

// Terminals are not offered: an agent that wants to run a command does so itself, and asks for leave.

// CreateTerminal refuses.
func (p *peer) CreateTerminal(context.Context, sdk.CreateTerminalRequest) (sdk.CreateTerminalResponse, error) {
	return sdk.CreateTerminalResponse{}, sdk.NewMethodNotFound(sdk.ClientMethodTerminalCreate)
}

// KillTerminal refuses.
func (p *peer) KillTerminal(context.Context, sdk.KillTerminalRequest) (sdk.KillTerminalResponse, error) {
	return sdk.KillTerminalResponse{}, sdk.NewMethodNotFound(sdk.ClientMethodTerminalKill)
}

// TerminalOutput refuses.
func (p *peer) TerminalOutput(context.Context, sdk.TerminalOutputRequest) (sdk.TerminalOutputResponse, error) {
	return sdk.TerminalOutputResponse{}, sdk.NewMethodNotFound(sdk.ClientMethodTerminalOutput)
}

// ReleaseTerminal refuses.
func (p *peer) ReleaseTerminal(context.Context, sdk.ReleaseTerminalRequest) (sdk.ReleaseTerminalResponse, error) {
	return sdk.ReleaseTerminalResponse{}, sdk.NewMethodNotFound(sdk.ClientMethodTerminalRelease)
}

// WaitForTerminalExit refuses.
func (p *peer) WaitForTerminalExit(context.Context, sdk.WaitForTerminalExitRequest) (sdk.WaitForTerminalExitResponse, error) {
	return sdk.WaitForTerminalExitResponse{}, sdk.NewMethodNotFound(sdk.ClientMethodTerminalWaitForExit)
}

func (p *peer) begin(t *turn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.turn, p.calls, p.order = t, map[sdk.ToolCallId]*call{}, nil
}

// endTurn gives what the agent said and was not handed on yet.
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

// rawJSON gives a value of the SDK as JSON; nil for nothing and for an empty object.
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
