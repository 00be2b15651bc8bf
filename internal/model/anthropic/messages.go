package anthropic

import (
	"strings"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/model/adapter"
	"github.com/hocket-run/hocket/internal/text"
)

const messagesField = "messages"

// field returns the value of the messages field.
func field(x *adapter.Exchange, req model.Request, from string) (any, error) {
	l, err := list(req, from)
	if err != nil {
		return nil, err
	}
	return x.Field(messagesField, l, req.Params.ProviderOptions)
}

// list writes the conversation without its system messages.
func list(req model.Request, from string) (*adapter.List, error) {
	front := adapter.NewParts(true)
	front.Raw("[")
	return adapter.Messages(req.Memo, string(model.ProtocolAnthropic)+" "+from, front, req.Messages,
		func() (adapter.Writer, *adapter.Parts) { return &writer{from: from}, adapter.NewParts(true) })
}

// writer writes the messages of the Messages API. Tool results belong to the user, all those of one
// turn in one message and before any user text, so adjacent messages of one role become one
// message.
type writer struct {
	from string    // the server
	role chat.Role // of the message to which blocks are added; "" means none
}

// Add implements adapter.Writer.
func (w *writer) Add(p *adapter.Parts, m *chat.Message) {
	switch m.Role {
	case chat.RoleSystem:
	case chat.RoleAssistant:
		w.assistant(p, m)
	case chat.RoleTool:
		w.block(p, chat.RoleUser)
		p.Raw(`{"tool_use_id":`)
		p.String(adapter.CallID(m.ToolCallID, validID))
		if m.IsError {
			p.Raw(`,"is_error":true`)
		}
		if !m.Text.IsZero() {
			p.Raw(`,"content":[`)
			said(p, m.Text)
			p.Raw("]")
		}
		p.Raw(`,"type":"tool_result"}`)
	default:
		w.block(p, chat.RoleUser)
		if m.Text.IsBlank() {
			said(p, text.Of(emptyText))
		} else {
			said(p, m.Text)
		}
	}
}

// End implements adapter.Writer.
func (w *writer) End() string {
	if w.role == "" {
		return "]"
	}
	return `],"role":"` + string(w.role) + `"}]`
}

// block starts a block in a message of this role.
func (w *writer) block(p *adapter.Parts, role chat.Role) {
	switch w.role {
	case role:
		p.Raw(",")
		return
	case "":
	default:
		p.Raw(`],"role":"` + string(w.role) + `"},`)
	}
	p.Raw(`{"content":[`)
	w.role = role
}

func said(p *adapter.Parts, t text.Text) {
	p.Raw(`{"text":`)
	p.Text(t)
	p.Raw(`,"type":"text"}`)
}

// assistant writes the blocks of a reply, with thinking in its original positions. A reply without
// text and calls has none.
func (w *writer) assistant(p *adapter.Parts, m *chat.Message) {
	whole, at := m.Text.String(), 0 // a reply is a string
	for _, b := range layoutOf(*m, w.from) {
		if !b.isThinking() && b.Redacted == "" && b.Call == nil && b.Used == nil && b.Found == nil {
			s := whole[at : at+b.Text]
			at += b.Text
			if !b.List && strings.TrimSpace(s) != "" {
				w.block(p, chat.RoleAssistant)
				said(p, text.Of(s))
			}
			continue
		}
		w.block(p, chat.RoleAssistant)
		switch {
		case b.isThinking():
			p.Raw(`{"signature":`)
			p.String(b.Signature)
			p.Raw(`,"thinking":`)
			p.String(b.Thinking)
			p.Raw(`,"type":"thinking"}`)
		case b.Redacted != "":
			p.Raw(`{"data":`)
			p.String(b.Redacted)
			p.Raw(`,"type":"redacted_thinking"}`)
		case b.Call != nil:
			call := m.ToolCalls[*b.Call]
			p.Raw(`{"id":`)
			p.String(adapter.CallID(call.ID, validID))
			p.Raw(`,"input":`)
			p.JSON(adapter.ArgumentsObject(call.Arguments))
			p.Raw(`,"name":`)
			p.String(adapter.CallName(call.Name))
			p.Raw(`,"type":"tool_use"}`)
		case b.Used != nil:
			p.JSON(b.Used)
		default:
			p.JSON(b.Found)
		}
	}
}

// validID reports whether the API accepts an id of a call.
func validID(id string) bool { return id != "" && adapter.IsName(id, "_-") }
