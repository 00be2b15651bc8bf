package openai

import (
	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/model/adapter"
	"github.com/hocket-run/hocket/internal/text"
)

const messagesField = "messages"

// field returns the value of the messages field.
func field(x *adapter.Exchange, req model.Request) (any, error) {
	l, err := list(req)
	if err != nil {
		return nil, err
	}
	return x.Field(messagesField, l, req.Params.ProviderOptions)
}

// list writes the conversation, with the system prompt as its first message.
func list(req model.Request) (*adapter.List, error) {
	front := adapter.NewParts(false)
	front.Raw("[")
	if req.System != "" {
		(&writer{}).text(front, chat.RoleSystem, text.Of(req.System))
		if len(req.Messages) > 0 {
			front.Raw(",")
		}
	}
	return adapter.Messages(req.Memo, model.ProtocolOpenAI, front, req.Messages,
		func() (adapter.Writer, *adapter.Parts) { return &writer{}, adapter.NewParts(false) })
}

// writer writes the messages of Chat Completions. chat.Message.Name is not sent: names with spaces
// are rejected, and the engine writes speakers into the text if they matter (D30).
type writer struct{ any bool }

// Add implements adapter.Writer.
func (w *writer) Add(p *adapter.Parts, m *chat.Message) {
	if w.any {
		p.Raw(",")
	}
	w.any = true
	switch {
	case m.Role == chat.RoleSystem, m.Role == chat.RoleAssistant && len(m.ToolCalls) == 0:
		w.text(p, m.Role, m.Text)
	case m.Role == chat.RoleAssistant:
		w.calls(p, m)
	case m.Role == chat.RoleTool:
		p.Raw(`{"content":`)
		p.Text(m.Text)
		p.Raw(`,"tool_call_id":`)
		p.String(m.ToolCallID)
		p.Raw(`,"role":"tool"}`)
	default:
		w.text(p, chat.RoleUser, m.Text)
	}
}

// End implements adapter.Writer.
func (w *writer) End() string { return "]" }

func (w *writer) text(p *adapter.Parts, role chat.Role, said text.Text) {
	p.Raw(`{"content":`)
	p.Text(said)
	p.Raw(`,"role":"` + string(role) + `"}`)
}

func (w *writer) calls(p *adapter.Parts, m *chat.Message) {
	p.Raw("{")
	if !m.Text.IsZero() {
		p.Raw(`"content":`)
		p.Text(m.Text)
		p.Raw(",")
	}
	p.Raw(`"tool_calls":[`)
	for i, c := range m.ToolCalls {
		if i > 0 {
			p.Raw(",")
		}
		p.Raw(`{"id":`)
		p.String(c.ID)
		p.Raw(`,"function":{"arguments":`)
		p.String(adapter.ArgumentsText(c.Arguments))
		p.Raw(`,"name":`)
		p.String(c.Name)
		p.Raw(`},"type":"function"}`)
	}
	p.Raw(`],"role":"assistant"}`)
}
