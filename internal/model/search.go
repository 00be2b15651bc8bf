package model

import (
	"fmt"
	"strings"
)

// CanSearch tells whether a request with Request.Search may go to a server: nil, or an *Error of KindInvalidRequest that says why not. own tells that the server
// is the protocol's own service. It reads Model, Tools and Schema of req.
//
// Known are OpenAI's models for searches (*-search-preview), Gemini from 2.0 and Claude from 3.5; an unknown model counts as one without. The first two
// take no functions beside a search, and no search goes along with a schema: citations do not fit into a structured answer.
func CanSearch(p Protocol, own bool, req Request) error {
	name := strings.TrimPrefix(strings.ToLower(req.Model), "models/")
	begins := func(prefixes ...string) bool {
		for _, prefix := range prefixes {
			if strings.HasPrefix(name, prefix) {
				return true
			}
		}
		return false
	}
	known := false
	switch p {
	case ProtocolOpenAI:
		known = strings.Contains(name, "-search-preview")
	case ProtocolGoogle:
		known = begins("gemini-2", "gemini-3")
	case ProtocolAnthropic:
		known = begins("claude-") && !begins("claude-2", "claude-instant", "claude-3-opus", "claude-3-sonnet", "claude-3-haiku")
	}
	var why string
	switch {
	case !own:
		why = "only the provider's own service has a web search"
	case !known:
		why = fmt.Sprintf("the model %q is not known to have a built-in web search", req.Model)
	case req.Schema != nil:
		why = "the provider's web search cannot be combined with a structured answer"
	case p != ProtocolAnthropic && len(req.Tools) > 0:
		why = fmt.Sprintf("the model %q does not support tools together with its web search", req.Model)
	default:
		return nil
	}
	return &Error{Kind: KindInvalidRequest, Message: why}
}

// CanSearch is the function of that name for the server and the model that req.Model refers to. Unknown references and providers that the program gave
// itself have no search.
func (r *Registry) CanSearch(req Request) error {
	ref := strings.TrimSpace(req.Model)
	if full, err := ParseRef(ref); err == nil && r.cfg.Clients[full.Provider] != nil {
		return &Error{Kind: KindInvalidRequest, Message: fmt.Sprintf("the provider %q is built into the program", full.Provider)}
	}
	full, endpoint, err := r.resolve(ref)
	if err != nil {
		return &Error{Kind: KindInvalidRequest, Message: err.Error(), Err: err}
	}
	req.Model = full.Model
	return CanSearch(endpoint.Protocol, endpoint.Own, req)
}
