package loop

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/engine/event"
)

// NoInput is what an agent is given where neither the run nor the workflow says anything (S1-3).
const NoInput = "Execute your task."

// noResult answers a call whose result never came: it was not made, or cut off while it ran.
const noResult = "There is no result: a person took over before this call ended."

// goOn asks an agent for another message where the last one was its own.
const goOn = "Go on."

// Show shows the shared conversation to the agent with that title (D30): its own messages as they are, those of others as text under their names. A call of
// its own that was never answered, because a person took over, is answered here: no provider takes a call without a result. Nor does one take a
// message without text: an empty input is shown as NoInput, an empty answer of a person as goOn. It begins with the message from, which is the first or a reply.
func Show(msgs []chat.Message, from int, title string) []chat.Message {
	out := make([]chat.Message, 0, len(msgs)-from+1)
	mine := false
	for i := from; i < len(msgs); i++ {
		m := msgs[i]
		switch m.Role {
		case chat.RoleAssistant:
			mine = m.Name == title
			if mine {
				m.Name = ""
				out = append(out, m)
				for _, tc := range m.ToolCalls {
					if !answeredLater(msgs[i+1:], tc.ID) {
						out = append(out, chat.Message{Role: chat.RoleTool, Text: chat.NewText(noResult), ToolCallID: tc.ID, ToolName: tc.Name, IsError: true})
					}
				}
				continue
			}
			said := chat.NewText(m.Name + ": ").Append(m.Text)
			for _, tc := range m.ToolCalls {
				said = said.AppendString(fmt.Sprintf("\n[calls %s %s]", tc.Name, Brief(tc.Arguments)))
			}
			out = append(out, chat.Message{Role: chat.RoleUser, Text: said})
		case chat.RoleTool:
			if mine {
				out = append(out, m)
				continue
			}
			out = append(out, chat.Message{Role: chat.RoleUser, Text: chat.NewText("[" + m.ToolName + " returned] ").Append(m.Text)})
		default:
			switch {
			case !m.Text.IsBlank():
			case i == 0:
				m.Text = chat.NewText(NoInput)
			default:
				m.Text = chat.NewText(goOn)
			}
			out = append(out, m)
		}
	}
	if len(out) > 0 && out[len(out)-1].Role == chat.RoleAssistant {
		out = append(out, chat.Message{Role: chat.RoleUser, Text: chat.NewText(goOn)})
	}
	return out
}

// answeredLater tells whether the results that follow a reply hold one for the call id.
func answeredLater(msgs []chat.Message, id string) bool {
	for _, m := range msgs {
		if m.Role != chat.RoleTool {
			return false
		}
		if m.ToolCallID == id {
			return true
		}
	}
	return false
}

// Routed reads a reply that is a JSON object: `next` (S3-10) and `content`, which is the step's output, like the content of the routing tool. Content is nil where it is
// missing or null, or where there is no `next`: then the output is the reply itself.
func Routed(text string) (next string, content json.RawMessage) {
	v, ok := chat.JSONIn(text)
	if !ok {
		return "", nil
	}
	if next = Member(v, "next"); next == "" {
		return "", nil
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(v, &members) != nil || len(members["content"]) == 0 || string(members["content"]) == "null" {
		return next, nil
	}
	return next, event.Compact(members["content"])
}

// Brief shortens a value for a text that people read.
func Brief(v json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, v) != nil {
		return "no arguments"
	}
	if s := []rune(b.String()); len(s) > 400 {
		return string(s[:400]) + "…"
	}
	return b.String()
}
