package model

import (
	"fmt"
	"strings"
)

// CanSearch checks whether a request with Request.Search may be sent to a server: it returns nil,
// or an *Error of KindInvalidRequest with the reason. own reports whether the server is the
// protocol's own service. It reads Model, Tools and Schema of req.
//
// Supported models are OpenAI's search models (*-search-preview), Gemini from 2.0 and Claude from
// 3.5; an unknown model counts as unsupported. The first two do not accept functions along with a
// search, and no search can be combined with a schema: citations do not fit into a structured
// reply.
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
		known = begins("claude-") && !begins("claude-2", "claude-instant", "claude-3-opus", "claude-3-sonnet",
			"claude-3-haiku")
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

// CanSearch calls the function CanSearch for the server and the model to which req.Model refers.
// Unknown references and the program's own providers have no search.
func (r *Registry) CanSearch(req Request) error {
	ref := strings.TrimSpace(req.Model)
	if full, err := ParseRef(ref); err == nil && r.cfg.Clients[full.Provider] != nil {
		return &Error{Kind: KindInvalidRequest, Message: fmt.Sprintf("the provider %q is built into the program",
			full.Provider)}
	}
	full, endpoint, err := r.resolve(ref)
	if err != nil {
		return &Error{Kind: KindInvalidRequest, Message: err.Error(), Err: err}
	}
	req.Model = full.Model
	return CanSearch(endpoint.Protocol, endpoint.Own, req)
}
