package service

import (
	"encoding/json"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/tool"
	"github.com/hocket-run/hocket/internal/tool/search"
)

// fallbacks stand in for missingTools: an agent that asks for one is offered it, and a call searches with the
// provider that the operator's variables name, or says that there is none (S0-55). A tool of that name in the operator's tools file wins.
func (k *kits) fallbacks() []tool.Tool {
	if cfg := k.searchConfig(); search.Configured(cfg) {
		return []tool.Tool{search.Tool(cfg)}
	}
	def := chat.ToolDef{
		Name: "web_search", Description: "Searches the web.",
		Parameters: json.RawMessage(`{"type":"object","properties":{"query":{"type":"string","description":"What to search for."}},"required":["query"]}`),
	}
	return []tool.Tool{tool.Unavailable(def, "no search provider is configured")}
}
