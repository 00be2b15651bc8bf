package service

import (
	"encoding/json"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/tool"
)

// fallbacks stand in for missingTools: an agent that asks for one is offered it, and a call says that nothing here answers it, unless the
// operator's tools file has a tool of that name (S0-55).
func fallbacks() []tool.Tool {
	search := chat.ToolDef{
		Name: "web_search", Description: "Searches the web.",
		Parameters: json.RawMessage(`{"type":"object","properties":{"query":{"type":"string","description":"What to search for."}},"required":["query"]}`),
	}
	return []tool.Tool{tool.Unavailable(search, "no search provider is configured")}
}
