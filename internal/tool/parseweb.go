package tool

import (
	"maps"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/hocket-run/hocket/diag"
	"go.yaml.in/yaml/v4"
)

// apiConfigKeys are the keys of the option api_config of a toolset of type api.
var apiConfigKeys = []string{"name", "instruction", "endpoint", "method", "headers", "args", "required",
	"output_schema"}

// SearchProviders are the providers of web searches that a toolset of type web_search may name.
var SearchProviders = []string{"brave", "searxng", "tavily"}

// APIMethods are the HTTP methods that tools may use.
var APIMethods = []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch,
	http.MethodDelete}

// IsHostEntry reports whether s is a host, or a host with a port, in the form used in host lists:
// ASCII, lower case, no scheme, no path, no pattern.
func IsHostEntry(s string) bool {
	host := s
	if h, port, err := net.SplitHostPort(s); err == nil {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return false
		}
		host = h
	}
	if _, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil {
		return true
	}
	return host != "" && !strings.HasPrefix(host, ".") && !strings.ContainsFunc(host, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '.' && r != '-' && r != '_'
	})
}

// checkWeb checks the options of toolsets that speak HTTP.
func (p *parser) checkWeb(s *Spec, n *yaml.Node, path string, entries []entry) {
	at := map[string]entry{}
	for _, e := range entries {
		at[e.key] = e
	}
	switch s.Type {
	case TypeFetch:
		for _, key := range []string{"allowed_domains", "blocked_domains"} {
			if e, ok := at[key]; ok {
				p.hosts(e)
			}
		}
	case TypeWebSearch:
		p.checkSearch(at)
	case TypeAPI:
		e, ok := at["api_config"]
		if !ok {
			p.list.Errorf(p.span(n), path, "missing-key",
				"an api toolset needs an api_config").Hint = "with name, method and endpoint"
			return
		}
		p.checkAPI(e)
	case TypeOpenAPI:
		p.checkOpenAPI(n, path, at)
	}
}

func (p *parser) hosts(e entry) {
	for _, h := range p.texts(e) {
		if !IsHostEntry(strings.TrimPrefix(strings.ToLower(h), "*.")) {
			p.list.Errorf(p.span(e.value), e.path, "bad-value", "%q is not a host",
				h).Hint = "write example.com, which includes its subdomains, or example.com:8080"
		}
	}
}

func (p *parser) checkSearch(at map[string]entry) {
	if e, ok := at["provider"]; ok {
		if provider := p.text(e); !slices.Contains(SearchProviders, provider) {
			d := p.list.Errorf(p.span(e.value), e.path, "bad-value", "unknown search provider %q", provider)
			if d.Hint = diag.DidYouMean(provider, SearchProviders); d.Hint == "" {
				d.Hint = "known providers: " + strings.Join(SearchProviders, ", ")
			}
		}
	}
	if e, ok := at["api_key"]; ok && !strings.Contains(p.text(e), "$") {
		p.list.Warnf(p.span(e.value), e.path, "secret-in-document",
			"api_key must be a reference to a secret, not the secret itself").Hint = "write ${env.NAME}"
	}
	if e, ok := at["base_url"]; ok {
		p.checkURL(e, p.text(e))
	}
}

func (p *parser) checkAPI(e entry) {
	if e.value.Kind != yaml.MappingNode {
		p.list.Errorf(p.span(e.value), e.path, "wrong-type", "api_config must be a map, got %s", nodeKind(e.value))
		return
	}
	at := map[string]entry{}
	for _, k := range p.entries(e.value, e.path) {
		if at[k.key] = k; !slices.Contains(apiConfigKeys, k.key) {
			p.list.Errorf(p.span(k.node), k.path, "unknown-key", "unknown key %q in api_config", k.key).UnknownKey(
				k.key, apiConfigKeys)
		}
	}
	for _, key := range []string{"name", "endpoint", "method"} {
		if k, ok := at[key]; !ok || p.text(k) == "" {
			p.list.Errorf(p.span(e.value), e.path, "missing-key", "api_config needs a %s", key)
		}
	}
	if k, ok := at["method"]; ok && k.value.Value != "" &&
		!slices.Contains(APIMethods, strings.ToUpper(k.value.Value)) {
		p.list.Errorf(p.span(k.value), k.path, "bad-value", "method must be one of %s, got %q",
			strings.Join(APIMethods, ", "), k.value.Value)
	}
	if k, ok := at["endpoint"]; ok && k.value.Value != "" {
		if text := strings.ToLower(p.text(k)); !strings.HasPrefix(text, "http://") &&
			!strings.HasPrefix(text, "https://") && !strings.HasPrefix(text, "$") {
			p.list.Errorf(p.span(k.value), k.path, "bad-value",
				"endpoint must be an absolute http or https URL, got %q", k.value.Value)
		}
	}
	if k, ok := at["headers"]; ok {
		p.textMap(k)
	}
	names := []string{}
	if k, ok := at["args"]; ok {
		for _, arg := range p.entries(k.value, k.path) {
			if names = append(names, arg.key); arg.value.Kind != yaml.MappingNode {
				p.list.Errorf(p.span(arg.value), arg.path, "wrong-type",
					"an argument must be a map with a type, got %s", nodeKind(arg.value))
			}
		}
	}
	if k, ok := at["required"]; ok {
		for _, name := range p.texts(k) {
			if !slices.Contains(names, name) {
				p.list.Errorf(p.span(k.value), k.path, "unknown-name", "required argument %q is not in args",
					name).Hint = diag.DidYouMean(name, names)
			}
		}
	}
}

// authKeys holds the methods of authenticating to an API, of which `auth` has one, with their keys.
var authKeys = map[string][]string{"bearer": nil, "basic": {"username", "password"}, "api_key": {"name", "in", "value"}}

func (p *parser) checkOpenAPI(n *yaml.Node, path string, at map[string]entry) {
	_, hasURL := at["url"]
	_, hasFile := at["file"]
	switch {
	case !hasURL && !hasFile:
		p.list.Errorf(p.span(n), path, "missing-key",
			"an openapi toolset needs the url or the file of an OpenAPI document")
	case hasURL && hasFile:
		p.list.Errorf(p.span(n), path, "conflicting-keys", "an openapi toolset has one of url and file, not both")
	}
	for _, key := range []string{"url", "server"} {
		if e, ok := at[key]; ok {
			p.checkURL(e, p.text(e))
		}
	}
	if e, ok := at["headers"]; ok {
		p.textMap(e)
	}
	e, ok := at["auth"]
	if !ok {
		return
	}
	found := p.entries(e.value, e.path)
	if len(found) != 1 {
		p.list.Errorf(p.span(e.value), e.path, "bad-value", "auth must have exactly one of %s",
			strings.Join(slices.Sorted(maps.Keys(authKeys)), ", "))
	}
	for _, k := range found {
		keys, known := authKeys[k.key]
		switch {
		case !known:
			p.list.Errorf(p.span(k.node), k.path, "unknown-key", "unknown key %q in auth", k.key).UnknownKey(k.key,
				slices.Sorted(maps.Keys(authKeys)))
		case keys == nil:
			p.text(k)
		default:
			p.checkAuth(k, keys)
		}
	}
}

func (p *parser) checkAuth(e entry, keys []string) {
	at := map[string]entry{}
	for _, k := range p.entries(e.value, e.path) {
		if at[k.key] = k; !slices.Contains(keys, k.key) {
			p.list.Errorf(p.span(k.node), k.path, "unknown-key", "unknown key %q in %s", k.key, e.key).UnknownKey(k.key,
				keys)
		}
	}
	for _, key := range keys {
		if _, ok := at[key]; !ok && key != "in" {
			p.list.Errorf(p.span(e.value), e.path, "missing-key", "%s needs a %s", e.key, key)
		}
	}
	if k, ok := at["in"]; ok && !slices.Contains([]string{"header", "query", "cookie"}, p.text(k)) {
		p.list.Errorf(p.span(k.value), k.path, "bad-value", "in must be header, query or cookie, got %q", k.value.Value)
	}
}
