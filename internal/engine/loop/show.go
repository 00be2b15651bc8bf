package loop

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/engine/event"
)

// NoInput is the input of an agent if neither the run nor the workflow provides one (S1-3).
const NoInput = "Execute your task."

// noResult answers a call whose result never arrived: it was not made, or was cut off while it ran.
const noResult = "There is no result: a person took over before this call ended."

// continuePrompt asks an agent for another message if the last one was its own.
const continuePrompt = "Go on."

// Show returns the shared conversation as the agent with that title sees it (D30): its own messages
// unchanged, those of others as text under their names. A call of its own that was never answered,
// because a person took over, is answered here, since no provider accepts a call without a result.
// Providers do not accept empty messages either: an empty input is shown as NoInput, an empty
// answer of a person as continuePrompt. The result starts with message from, which must be the
// first message or a reply.
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
						out = append(out, chat.Message{Role: chat.RoleTool, Text: chat.NewText(noResult),
							ToolCallID: tc.ID, ToolName: tc.Name, IsError: true})
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
			out = append(out,
				chat.Message{Role: chat.RoleUser, Text: chat.NewText("[" + m.ToolName + " returned] ").Append(m.Text)})
		default:
			switch {
			case !m.Text.IsBlank():
			case i == 0:
				m.Text = chat.NewText(NoInput)
			default:
				m.Text = chat.NewText(continuePrompt)
			}
			out = append(out, m)
		}
	}
	if len(out) > 0 && out[len(out)-1].Role == chat.RoleAssistant {
		out = append(out, chat.Message{Role: chat.RoleUser, Text: chat.NewText(continuePrompt)})
	}
	return out
}

// answeredLater reports whether the results that follow a reply include one for the call id.
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

// Routed parses a reply that is a JSON object: `next` (S3-10) and `content`, which is the step's
// output, like the content of the routing tool. content is nil if it is missing or null, or if
// there is no `next`: then the output is the reply itself.
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

// Brief shortens a value for display.
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
