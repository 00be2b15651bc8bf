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

// fallbacks returns the tools that replace web_search: an agent that lists it is offered it, and a
// call searches with the provider that the operator's variables configure, or reports that there is
// none (S0-55). A tool with that name in the operator's tools file takes precedence.
func (op *Opener) fallbacks() []tool.Tool {
	if cfg := op.searchConfig(); search.Configured(cfg) {
		return []tool.Tool{search.Tool(cfg)}
	}
	return []tool.Tool{tool.Unavailable(noSearch(), "no search provider is configured")}
}

// noSearch returns the definition of web_search if no search provider is configured. It differs
// from the definition of the real search tool.
func noSearch() chat.ToolDef {
	return chat.ToolDef{
		Name: search.Name, Description: "Searches the web.",
		Parameters: json.RawMessage(`{"type":"object","properties":{"query":{"type":"string","description":"What to ` +
			`search for."}},"required":["query"]}`),
	}
}

// nativeSearch lets models use their provider's own search in place of noSearch. If can returns an
// error, an agent is offered noSearch as usual.
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
