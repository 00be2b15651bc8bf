package telemetry

import (
	"encoding/json"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/engine/event"
)

// message and part are the JSON form of gen_ai.input.messages and gen_ai.output.messages.
type message struct {
	Role   string `json:"role"`
	Parts  []part `json:"parts"`
	Finish string `json:"finish_reason,omitempty"`
}

type part struct {
	Type      string          `json:"type"`
	Content   string          `json:"content,omitempty"`
	ID        string          `json:"id,omitempty"`
	Name      string          `json:"name,omitempty"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Response  string          `json:"response,omitempty"`
}

func messages(list []chat.Message) string {
	out := make([]message, len(list))
	for i := range list {
		out[i] = written(list[i])
	}
	return text(out)
}

func reply(m chat.Message, stop string) string {
	w := written(m)
	w.Finish = stop
	return text([]message{w})
}

func written(m chat.Message) message {
	w := message{Role: string(m.Role), Parts: []part{}}
	switch {
	case m.Role == chat.RoleTool:
		w.Parts = append(w.Parts, part{Type: "tool_call_response", ID: m.ToolCallID, Response: m.Text.String()})
	case !m.Text.IsZero():
		w.Parts = append(w.Parts, part{Type: "text", Content: m.Text.String()})
	}
	for _, c := range m.ToolCalls {
		w.Parts = append(w.Parts, part{Type: "tool_call", ID: c.ID, Name: c.Name, Arguments: c.Arguments})
	}
	return w
}

// parts returns the JSON form of gen_ai.system_instructions.
func parts(s string) string { return text([]part{{Type: "text", Content: s}}) }

// text encodes v as JSON; arguments from a model may not be valid JSON, and are then omitted with
// the rest.
func text(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return string(b)
}

// plain returns a value as text: a JSON string without its quotes.
func plain(v event.Value) string {
	var s string
	if json.Unmarshal(v, &s) == nil {
		return s
	}
	return string(v)
}
