package openai

import (
	"fmt"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/model/adapter"
	"github.com/hocket-run/hocket/internal/text"
)

const messagesField = "messages"

// field returns the value of the messages field.
func field(x *adapter.Exchange, req model.Request, d dialect) (any, error) {
	l, err := list(req, d)
	if err != nil {
		return nil, err
	}
	return x.Field(messagesField, l, req.Params.ProviderOptions)
}

// list writes the conversation, with the system prompt as its first message.
func list(req model.Request, d dialect) (*adapter.List, error) {
	front := adapter.NewParts(false)
	front.Raw("[")
	if req.System != "" {
		(&writer{}).text(front, chat.RoleSystem, text.Of(req.System))
		if len(req.Messages) > 0 {
			front.Raw(",")
		}
	}
	form := fmt.Sprintf("%s %s %t", model.ProtocolOpenAI, d.from, d.reasoned)
	return adapter.Messages(req.Memo, form, front, req.Messages,
		func() (adapter.Writer, *adapter.Parts) { return &writer{dialect: d}, adapter.NewParts(false) })
}

// writer writes the messages of Chat Completions. chat.Message.Name is not sent: names with spaces
// are rejected, and the engine writes speakers into the text if they matter (D30).
type writer struct {
	dialect
	any bool
}

// Add implements adapter.Writer.
func (w *writer) Add(p *adapter.Parts, m *chat.Message) {
	if w.any {
		p.Raw(",")
	}
	w.any = true
	switch m.Role {
	case chat.RoleSystem:
		w.text(p, m.Role, m.Text)
	case chat.RoleAssistant:
		w.assistant(p, m)
	case chat.RoleTool:
		p.Raw(`{"content":`)
		p.Text(m.Text)
		p.Raw(`,"tool_call_id":`)
		p.String(adapter.CallID(m.ToolCallID, w.validID))
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

// assistant writes a reply. Its content is always there: some servers reject a message without it,
// and others an empty string next to calls.
func (w *writer) assistant(p *adapter.Parts, m *chat.Message) {
	p.Raw(`{"content":`)
	if m.Text.IsZero() && len(m.ToolCalls) > 0 {
		p.Raw("null")
	} else {
		p.Text(m.Text)
	}
	p.Raw(",")
	if w.reasoned && w.kept(m.Extra)[reasoningContent] == nil {
		p.Raw(`"` + reasoningContent + `":"",`)
	}
	w.write(p, m.Extra)
	if len(m.ToolCalls) > 0 {
		p.Raw(`"tool_calls":[`)
		for i, c := range m.ToolCalls {
			if i > 0 {
				p.Raw(",")
			}
			w.call(p, c)
		}
		p.Raw("],")
	}
	p.Raw(`"role":"assistant"}`)
}

func (w *writer) call(p *adapter.Parts, c chat.ToolCall) {
	p.Raw(`{"id":`)
	p.String(adapter.CallID(c.ID, w.validID))
	p.Raw(`,"function":{"arguments":`)
	p.String(string(adapter.ArgumentsObject(c.Arguments)))
	p.Raw(`,"name":`)
	p.String(adapter.CallName(c.Name))
	p.Raw(`},`)
	w.write(p, c.Extra)
	p.Raw(`"type":"function"}`)
}
