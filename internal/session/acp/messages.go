package acp

import (
	"encoding/json"
	"fmt"
	"strings"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/hocket-run/hocket/graph"
)

// call is the known state of a tool call of the agent. Its arguments arrive in pieces while it is
// pending, so it is reported when it is in progress or has ended, or before anything else is
// reported; and a second time when it has ended.
type call struct {
	id          sdk.ToolCallId
	title, kind string
	args        json.RawMessage
	content     []sdk.ToolCallContent
	output      any
	told, ended bool
}

// messages converts an update to messages. p.mu is held.
func (p *peer) messages(u sdk.SessionUpdate) []graph.AgentMessage {
	switch {
	case u.AgentMessageChunk != nil:
		return append(p.flush(), says(graph.MessageText, blockText(u.AgentMessageChunk.Content)))
	case u.AgentThoughtChunk != nil:
		return append(p.flush(), says(graph.MessageThinking, blockText(u.AgentThoughtChunk.Content)))
	case u.Plan != nil:
		return append(p.flush(), says(graph.MessageThinking, planText(u.Plan.Entries)))
	case u.ToolCall != nil:
		t := u.ToolCall
		return p.update(t.ToolCallId, &t.Title, &t.Kind, &t.Status, t.RawInput, t.RawOutput, t.Content)
	case u.ToolCallUpdate != nil:
		t := u.ToolCallUpdate
		return p.update(t.ToolCallId, t.Title, t.Kind, t.Status, t.RawInput, t.RawOutput, t.Content)
	}
	return nil // a change in the agent's settings is not a message
}

func says(kind, text string) graph.AgentMessage {
	return graph.AgentMessage{Type: kind, Role: "assistant", Content: text}
}

// update applies the parts of a call that an update contains; the rest is unchanged.
func (p *peer) update(id sdk.ToolCallId, title *string, kind *sdk.ToolKind, status *sdk.ToolCallStatus, in, out any,
	content []sdk.ToolCallContent) []graph.AgentMessage {
	c := p.calls[id]
	if c == nil {
		c = &call{id: id}
		p.calls[id] = c
		p.order = append(p.order, c)
	}
	if title != nil && *title != "" {
		c.title = *title
	}
	if kind != nil && *kind != "" {
		c.kind = string(*kind)
	}
	if args := rawJSON(in); args != nil {
		c.args = args
	}
	if out != nil {
		c.output = out
	}
	if content != nil {
		c.content = content
	}
	var list []graph.AgentMessage
	is := func(s sdk.ToolCallStatus) bool { return status != nil && *status == s }
	ended := is(sdk.ToolCallStatusCompleted) || is(sdk.ToolCallStatusFailed)
	if !c.told && (ended || is(sdk.ToolCallStatusInProgress)) {
		list = append(list, c.begin())
	}
	if ended && !c.ended {
		c.ended = true
		list = append(list, c.result(is(sdk.ToolCallStatusFailed)))
	}
	return list
}

// flush reports calls that are still pending, before anything else is reported.
func (p *peer) flush() []graph.AgentMessage {
	var list []graph.AgentMessage
	for _, c := range p.order {
		if !c.told {
			list = append(list, c.begin())
		}
	}
	return list
}

func (c *call) begin() graph.AgentMessage {
	c.told = true
	m := says(graph.MessageToolUse, c.title)
	m.Tool, m.ToolCallID, m.Arguments = c.name(), string(c.id), c.args
	return m
}

// name returns the name of the tool: the kind if the agent sends a meaningful one, since titles are
// made for people and differ from call to call.
func (c *call) name() string {
	if c.kind != "" && c.kind != string(sdk.ToolKindOther) {
		return c.kind
	}
	return c.title
}

func (c *call) result(failed bool) graph.AgentMessage {
	var parts []string
	for _, t := range c.content {
		switch {
		case t.Content != nil:
			parts = append(parts, blockText(t.Content.Content))
		case t.Diff != nil:
			parts = append(parts, fmt.Sprintf("[change of %s]\n%s", t.Diff.Path, t.Diff.NewText))
		}
	}
	if len(parts) == 0 && c.output != nil {
		if text, ok := c.output.(string); ok {
			parts = append(parts, text)
		} else if raw := rawJSON(c.output); raw != nil {
			parts = append(parts, string(raw))
		}
	}
	return graph.AgentMessage{
		Type: graph.MessageToolResult, Role: "tool", Tool: c.name(), ToolCallID: string(c.id),
		Content: strings.Join(parts, "\n"), IsError: failed,
	}
}

// blockText returns a block of content as text: a block that is not text is replaced by its name.
func blockText(b sdk.ContentBlock) string {
	switch {
	case b.Text != nil:
		return b.Text.Text
	case b.Image != nil:
		return "[image " + b.Image.MimeType + "]"
	case b.Audio != nil:
		return "[audio " + b.Audio.MimeType + "]"
	case b.ResourceLink != nil:
		return "[resource " + b.ResourceLink.Uri + "]"
	case b.Resource != nil && b.Resource.Resource.TextResourceContents != nil:
		return b.Resource.Resource.TextResourceContents.Text
	}
	return "[non-text content]"
}

func planText(entries []sdk.PlanEntry) string {
	var b strings.Builder
	b.WriteString("Plan:\n")
	for _, e := range entries {
		fmt.Fprintf(&b, "- [%s] %s\n", e.Status, e.Content)
	}
	return b.String()
}
