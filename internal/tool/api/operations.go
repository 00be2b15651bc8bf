package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/hocket-run/hocket/internal/chat"
)

var documentMethods = []string{"get", "head", "put", "post", "patch", "delete", "options"}

// listing is the set of operations that a document offers.
type listing struct {
	doc *document
	// documentURL is where the document came from, to resolve relative servers; nil for a file.
	documentURL *url.URL
	// server replaces the document's servers; if nil, the document's own apply.
	server *url.URL
	base   *base
	// wanted are the tools to include; empty means all.
	wanted []string
	// problem is called with operations that are left out.
	problem func(op string, err error)
}

// operations makes a tool from each operation, sorted by path and method. An operation from which
// no tool can be made is left out.
func (l *listing) operations() ([]*operation, error) {
	paths, _ := l.doc.root["paths"].(map[string]any)
	var out []*operation
	taken := map[string]bool{}
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		item, err := l.doc.deref(paths[path])
		if err != nil {
			l.problem(path, err)
			continue
		}
		for _, method := range documentMethods {
			raw, ok := item[method].(map[string]any)
			if !ok {
				continue
			}
			name := unique(toolName(text(raw, "operationId"), method, path), taken)
			if len(l.wanted) > 0 && !slices.Contains(l.wanted, name) {
				continue
			}
			op, err := l.operation(name, strings.ToUpper(method), path, item, raw)
			if err != nil {
				l.problem(name, err)
				continue
			}
			if out = append(out, op); len(out) > maxOperations {
				return nil,
					fmt.Errorf("the document has more than %d operations (max_operations); select some with `tools`",
						maxOperations)
			}
		}
	}
	if len(out) == 0 {
		return nil, errors.New("the document has no operation that can be called")
	}
	return out, nil
}

// toolName returns a name that providers accept.
func toolName(id, method, path string) string {
	if id == "" {
		id = method + "_" + strings.Trim(path, "/")
	}
	name := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-':
			return r
		}
		return '_'
	}, id)
	if name = strings.Trim(name, "_"); name == "" {
		name = method
	}
	return name[:min(len(name), maxNameLen)]
}

func unique(name string, taken map[string]bool) string {
	out := name
	for n := 2; taken[out]; n++ {
		suffix := "_" + strconv.Itoa(n)
		out = name[:min(len(name), maxNameLen-len(suffix))] + suffix
	}
	taken[out] = true
	return out
}

func (l *listing) operation(name, method, path string, item, raw map[string]any) (*operation, error) {
	server, err := l.serverOf(raw, item)
	if err != nil {
		return nil, err
	}
	tmpl, err := parseTemplate(strings.TrimSuffix(server.String(), "/") + "/" + strings.TrimPrefix(path, "/"))
	if err != nil {
		return nil, fmt.Errorf("path %s %w", truncate(path, 200), err)
	}
	c := &composer{template: tmpl}
	in := &inliner{doc: l.doc, left: maxSchemaNodes}
	if err := c.parameters(in, item["parameters"], raw["parameters"]); err != nil {
		return nil, err
	}
	if writes(method) {
		if err := c.body(in, raw["requestBody"]); err != nil {
			return nil, err
		}
	}
	for place := range tmpl.names() {
		if !c.inPath[place] {
			return nil, fmt.Errorf("the path has a placeholder for %q, which is not a parameter", place)
		}
	}
	params, err := json.Marshal(c.schema())
	if err != nil {
		return nil, fmt.Errorf("write parameters: %w", err)
	}
	if len(params) > maxSchemaBytes {
		return nil, fmt.Errorf("its parameters have %d bytes, more than the limit of %d (max_schema_bytes)",
			len(params), maxSchemaBytes)
	}
	return &operation{
		base: l.base, method: method, build: c.build,
		def: chat.ToolDef{Name: name, Description: about(raw, method, path), Parameters: params},
	}, nil
}

func about(raw map[string]any, method, path string) string {
	parts := []string{}
	for _, key := range []string{"summary", "description"} {
		if s := strings.TrimSpace(text(raw, key)); s != "" && !slices.Contains(parts, s) {
			parts = append(parts, s)
		}
	}
	if flag(raw, "deprecated") {
		parts = append(parts, "(deprecated)")
	}
	parts = append(parts, method+" "+truncate(path, 200))
	return truncate(strings.Join(parts, "\n"), maxDescription)
}

// serverOf returns the server of an operation: the toolset's own, else the nearest in the document.
func (l *listing) serverOf(levels ...map[string]any) (*url.URL, error) {
	if l.server != nil {
		return l.server, nil
	}
	address := "/"
	for _, level := range append(levels, l.doc.root) {
		servers, _ := level["servers"].([]any)
		if len(servers) == 0 {
			continue
		}
		first, err := l.doc.deref(servers[0])
		if err != nil {
			return nil, fmt.Errorf("servers: %w", err)
		}
		address = text(first, "url")
		vars, _ := first["variables"].(map[string]any)
		for name, v := range vars {
			if m, ok := v.(map[string]any); ok {
				address = strings.ReplaceAll(address, "{"+name+"}", fmt.Sprint(m["default"]))
			}
		}
		break
	}
	u, err := url.Parse(address)
	if err != nil {
		return nil, errors.New("the document's server is not a URL")
	}
	if l.documentURL != nil {
		u = l.documentURL.ResolveReference(u)
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("the document's server %q is not an absolute http or https URL; name one by `server`",
			truncate(address, 200))
	}
	u.RawQuery, u.Fragment = "", ""
	return u, nil
}
