package telemetry

import (
	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/compact"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/project"
)

// content puts what people wrote and models returned into spans, if content is exported; otherwise
// it stores and does nothing. Conversations are reconstructed from the journal: the inputs of steps
// and sub-agents, replies, and results of tool calls. If agents share a conversation, each has its
// own part of it.
type content struct {
	wanted bool
	talks  map[loop]*conversation
	// folder provides the inputs of steps; nil if content is not exported.
	folder *project.Folder
}

// newContent returns the content of a run.
func newContent(run string, cfg TracerConfig) content {
	if !cfg.Content {
		return content{}
	}
	return content{wanted: true, talks: map[loop]*conversation{}, folder: project.NewFolder(run, cfg.Workflow)}
}

// add processes an event, after its span was created.
func (c *content) add(e event.Event) {
	if c.wanted {
		c.folder.Add(e)
	}
}

// loop identifies an agent loop: the step, and the frame of a sub-agent, 0 for the step's own loop.
type loop struct{ step, frame int }

type conversation struct {
	messages []chat.Message
	summary  string // the last requested summary
	// parentLoop and answers identify the loop and the tool call that a sub-agent executes.
	parentLoop loop
	answers    string
}

// at returns the conversation of a frame. Frames without a sub-agent belong to the step itself,
// which starts a new conversation when it is retried.
func (c *content) at(step, frame int) *conversation {
	if t := c.talks[loop{step, frame}]; t != nil {
		return t
	}
	return c.talks[loop{step, 0}]
}

// input returns the input of a step.
func (c *content) input(e event.Event) string {
	if !c.wanted {
		return ""
	}
	d, ok := c.folder.ExpandAll(e).Data.(*event.StepStarted)
	if !ok {
		return ""
	}
	return plain(d.Input)
}

// began records the start of an agent loop.
func (c *content) began(o *openSpan, step, frame int, system, input string) {
	if !c.wanted {
		return
	}
	if system != "" {
		o.set(Attr{SystemInstructions, parts(system)})
	}
	t := &conversation{}
	if input != "" {
		t.messages = []chat.Message{{Role: chat.RoleUser, Text: chat.NewText(input)}}
		o.set(Attr{InputMessages, messages(t.messages)})
	}
	c.talks[loop{step, frame}] = t
}

// handed records the prompt of an agent that continues another agent's conversation.
func (c *content) handed(o *openSpan, system string) {
	if c.wanted && system != "" {
		o.set(Attr{SystemInstructions, parts(system)})
	}
}

// startSubagent records the tool call that a sub-agent executes.
func (c *content) startSubagent(step int, d *event.SubagentStarted) {
	if t := c.talks[loop{step, d.Frame}]; t != nil {
		t.parentLoop, t.answers = loop{step, d.Parent}, d.ToolCallID
	}
}

// endSubagent answers the tool call that a sub-agent executed.
func (c *content) endSubagent(e event.Event, frame int) {
	t := c.talks[loop{e.Step, frame}]
	if t == nil || frame == 0 {
		return
	}
	said := ""
	switch d := c.folder.Expand(e).Data.(type) {
	case *event.SubagentCompleted:
		said = plain(d.Output)
	case *event.SubagentFailed:
		said = d.Error.Message
	}
	delete(c.talks, loop{e.Step, frame})
	c.addToolResult(e.Step, t.parentLoop.frame, t.answers, said)
}

// forget removes the conversations of a step.
func (c *content) forget(step int) {
	for k := range c.talks {
		if k.step == step {
			delete(c.talks, k)
		}
	}
}

func (c *content) asks(o *openSpan, step int, d *event.ModelCalled) {
	t := c.at(step, d.Frame)
	if t == nil {
		return
	}
	t.messages = append(t.messages, d.Added...)
	o.set(Attr{InputMessages, messages(t.messages)})
}

func (c *content) replied(o *openSpan, step, frame int, d *event.ModelReplied) {
	if !c.wanted {
		return
	}
	o.set(Attr{OutputMessages, reply(d.Message, d.Stop)})
	switch t := c.at(step, frame); {
	case t == nil || d.Late:
	case d.Compaction:
		t.summary = d.Message.Text.String()
	default:
		t.messages = append(t.messages, d.Message)
	}
}

// compacted replaces the summarized part of a conversation with the summary.
func (c *content) compacted(step int, d *event.AgentCompacted) {
	if t := c.at(step, d.Frame); t != nil && d.Error == nil && len(t.messages) == d.Before &&
		compact.Check(t.messages, d.Left) == "" {
		t.messages = compact.Replace(t.messages, d.Left, compact.Summary(t.summary))
	}
}

// calls sets the arguments of a tool call, which may only be in the reply that requested it.
func (c *content) calls(o *openSpan, step int, d *event.ToolCalled) {
	if !c.wanted {
		return
	}
	if whole, ok := c.folder.Expand(event.Event{Step: step, Data: d}).Data.(*event.ToolCalled); ok {
		o.set(Attr{ToolArguments, string(whole.Arguments)})
	}
}

func (c *content) result(o *openSpan, d *event.ToolReturned) {
	if !c.wanted {
		return
	}
	said := d.Text
	if d = d.Whole(event.JSONOf); d.Structured != nil {
		said = string(d.Structured)
	}
	o.set(Attr{ToolResult, said})
}

// addToolResult adds the result of a tool call.
func (c *content) addToolResult(step, frame int, wish, said string) {
	if t := c.at(step, frame); t != nil && wish != "" {
		t.messages = append(t.messages, chat.Message{Role: chat.RoleTool, ToolCallID: wish, Text: chat.NewText(said)})
	}
}
