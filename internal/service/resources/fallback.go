package resources

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/tool"
	"github.com/hocket-run/hocket/internal/tool/search"
)

// fallbacks replace web_search: an agent that asks for it is offered it, and a call searches with the provider that the operator's variables name, or says
// that there is none (S0-55). A tool of that name in the operator's tools file wins.
func (op *Opener) fallbacks() []tool.Tool {
	if cfg := op.searchConfig(); search.Configured(cfg) {
		return []tool.Tool{search.Tool(cfg)}
	}
	return []tool.Tool{tool.Unavailable(noSearch(), "no search provider is configured")}
}

// noSearch is web_search where no provider of searches is configured. It differs from the tool that searches.
func noSearch() chat.ToolDef {
	return chat.ToolDef{
		Name: search.Name, Description: "Searches the web.",
		Parameters: json.RawMessage(`{"type":"object","properties":{"query":{"type":"string","description":"What to search for."}},"required":["query"]}`),
	}
}

// nativeSearch lets models search by their provider's own means in place of noSearch. Where can says no, an agent is offered noSearch as without it.
type nativeSearch struct {
	model.Client
	can func(model.Request) error
}

// Call implements model.Client.
func (n nativeSearch) Call(ctx context.Context, req model.Request, onDelta func(model.Delta)) (model.Reply, error) {
	isNoSearch := func(d chat.ToolDef) bool {
		none := noSearch()
		return d.Name == none.Name && d.Description == none.Description && bytes.Equal(d.Parameters, none.Parameters)
	}
	if slices.ContainsFunc(req.Tools, isNoSearch) {
		own := req
		own.Tools, own.Search = slices.DeleteFunc(slices.Clone(req.Tools), isNoSearch), true
		if n.can(own) == nil {
			req = own
		}
	}
	return n.Client.Call(ctx, req, onDelta)
}
