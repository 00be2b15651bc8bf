package chat

import (
	"encoding/json"
	"strings"
)

// JSONIn finds the JSON value in a text reply: the whole text, or else the only fenced block in it
// (“```json” or a bare fence, with or without prose around it). Two fenced blocks are ambiguous and
// yield false, as does text without JSON.
func JSONIn(text string) (json.RawMessage, bool) {
	whole := strings.TrimSpace(text)
	if json.Valid([]byte(whole)) {
		return json.RawMessage(whole), true
	}
	block, found, inside := "", false, false
	var body []string
	for line := range strings.Lines(text) {
		fence := strings.TrimLeft(line, " ")
		switch isFence := strings.HasPrefix(fence, "```"); {
		case isFence && inside:
			block, found, inside = strings.Join(body, ""), true, false
		case isFence && found:
			return nil, false
		case isFence:
			inside = true
		case inside:
			body = append(body, line)
		}
	}
	block = strings.TrimSpace(block)
	if !found || inside || !json.Valid([]byte(block)) {
		return nil, false
	}
	return json.RawMessage(block), true
}
