package google

import (
	"strings"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/model/adapter"
)

// list writes the conversation without its system messages.
func list(req model.Request) (*adapter.List, error) {
	front := adapter.NewParts(true)
	front.Raw("[")
	form, signs := string(model.ProtocolGoogle), needsSignatures(req.Model)
	if signs {
		form += " signed"
	}
	return adapter.Messages(req.Memo, form, front, req.Messages,
		func() (adapter.Writer, *adapter.Parts) {
			return &writer{signs: signs, names: map[string]string{}}, adapter.NewParts(true)
		})
}

// writer writes the contents of generateContent; adjacent messages of one role become one content,
// so that all results of a turn are together.
type writer struct {
	signs bool              // the model rejects a reply whose first call has no signature
	role  string            // of the content to which parts are added; "" means none
	names map[string]string // names of the called functions, by call id
}

const roleUser, roleModel = "user", "model"

// Add implements adapter.Writer.
func (w *writer) Add(p *adapter.Parts, m *chat.Message) {
	switch m.Role {
	case chat.RoleSystem:
	case chat.RoleAssistant:
		w.assistant(p, m)
	case chat.RoleTool:
		w.part(p, roleUser)
		w.result(p, m)
	default:
		w.part(p, roleUser)
		p.Raw(`{"text":`)
		if m.Text.IsZero() {
			p.String(emptyText)
		} else {
			p.Text(m.Text)
		}
		p.Raw("}")
	}
}

// End implements adapter.Writer.
func (w *writer) End() string {
	if w.role == "" {
		return "]"
	}
	return `],"role":"` + w.role + `"}]`
}

// part starts a part in a content of this role.
func (w *writer) part(p *adapter.Parts, role string) {
	switch w.role {
	case role:
		p.Raw(",")
		return
	case "":
	default:
		p.Raw(`],"role":"` + w.role + `"},`)
	}
	p.Raw(`{"parts":[`)
	w.role = role
}

func (w *writer) result(p *adapter.Parts, m *chat.Message) {
	name := m.ToolName
	if name == "" {
		name = w.names[m.ToolCallID]
	}
	p.Raw(`{"functionResponse":{`)
	field(p, "id", m.ToolCallID)
	field(p, "name", adapter.CallName(name))
	if m.IsError {
		p.Raw(`"response":{"error":`)
	} else {
		p.Raw(`"response":{"output":`)
	}
	p.Text(m.Text)
	p.Raw(`}}}`)
}

// field writes an object member and the separator after it, unless value is empty.
func field(p *adapter.Parts, name, value string) {
	if value != "" {
		p.Raw(`"` + name + `":`)
		p.String(value)
		p.Raw(",")
	}
}

func (w *writer) assistant(p *adapter.Parts, m *chat.Message) {
	if !m.Text.IsZero() {
		w.part(p, roleModel)
		p.Raw(`{"text":`)
		p.Text(m.Text)
		signature(p, m.Extra)
		p.Raw("}")
	}
	for i, c := range m.ToolCalls {
		w.names[c.ID] = c.Name
		w.part(p, roleModel)
		p.Raw(`{"functionCall":`)
		call := map[string]any{}
		if args := adapter.Object(adapter.ArgumentsObject(c.Arguments)); len(args) > 0 {
			call["args"] = args
		}
		if c.ID != "" {
			call["id"] = c.ID
		}
		call["name"] = adapter.CallName(c.Name)
		p.JSON(call)
		if w.signs && i == 0 && len(signatureOf(c.Extra)) == 0 {
			p.Raw(`,"thoughtSignature":"skip_thought_signature_validator"`)
		}
		signature(p, c.Extra)
		p.Raw("}")
	}
}

// signature writes the signature that follows a part's content, if there is one.
func signature(p *adapter.Parts, extra []byte) {
	if s := signatureOf(extra); len(s) > 0 {
		p.Raw(`,"thoughtSignature":`)
		p.JSON(s)
	}
}

// needsSignatures reports whether a model rejects calls without a signature. For those that another
// model made, Google documents a value that skips the check:
// https://ai.google.dev/gemini-api/docs/thought-signatures.
func needsSignatures(name string) bool {
	name = strings.TrimPrefix(strings.ToLower(name), "models/")
	return !strings.HasPrefix(name, "gemini-1") && !strings.HasPrefix(name, "gemini-2") &&
		strings.HasPrefix(name, "gemini-")
}
