package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// composer builds the requests of one operation.
type composer struct {
	template *template
	params   []param
	inPath   map[string]bool
	// bodyMediaType is the media type of the argument `body`; "" means that there is none.
	bodyMediaType string
	bodySchema    any
	bodyNeeded    bool
}

// param is one parameter of the document.
type param struct {
	// arg is the argument's name, name the parameter's.
	arg, name, in string
	style         string
	explode       bool
	required      bool
	schema        any
	description   string
}

// ignoredHeaders are parameters that the toolset sets itself or that have no meaning (OpenAPI 3.1,
// 4.8.12.1).
var ignoredHeaders = map[string]bool{"accept": true, "content-type": true, "authorization": true, "cookie": true,
	"idempotency-key": true, "user-agent": true, "accept-encoding": true}

// parameters reads the parameters of the path and of the operation; the latter take precedence.
func (c *composer) parameters(in *inliner, lists ...any) error {
	found := map[string]param{}
	for _, list := range lists {
		items, _ := list.([]any)
		for _, item := range items {
			m, err := in.doc.deref(item)
			if err != nil {
				return fmt.Errorf("parameter: %w", err)
			}
			p, ok := readParam(in, m)
			if ok {
				found[p.in+" "+p.name] = p
			}
		}
	}
	taken := map[string]bool{"body": true}
	c.inPath = map[string]bool{}
	for _, key := range slices.Sorted(maps.Keys(found)) {
		p := found[key]
		if p.arg = p.name; taken[p.arg] {
			p.arg = p.name + "_" + p.in
		}
		if taken[p.arg] || !isArgName(p.name) {
			if p.required || p.in == "path" {
				return fmt.Errorf("parameter %q cannot be given a name", truncate(p.name, 100))
			}
			continue
		}
		taken[p.arg] = true
		if p.in == "path" {
			c.inPath[p.name] = true
		}
		c.params = append(c.params, p)
	}
	return nil
}

func readParam(in *inliner, m map[string]any) (param, bool) {
	p := param{name: text(m, "name"), in: text(m, "in"), style: text(m, "style"), required: flag(m, "required"),
		description: truncate(text(m, "description"), maxDescription)}
	switch {
	case p.name == "":
		return p, false
	case p.in == "header" && (ignoredHeaders[strings.ToLower(p.name)] || reserved[strings.ToLower(p.name)] ||
		!isHeaderName(p.name)):
		return p, false
	case p.in == "path":
		p.required = true
	case p.in != "query" && p.in != "header" && p.in != "cookie":
		return p, false
	}
	if e, ok := m["explode"].(bool); ok {
		p.explode = e
	} else {
		p.explode = p.style == "" || p.style == "form"
	}
	s, ok := m["schema"]
	if content, has := m["content"].(map[string]any); !ok && has {
		for _, media := range slices.Sorted(maps.Keys(content)) {
			if mt, ok := content[media].(map[string]any); ok {
				s, p.style = mt["schema"], "json"
			}
		}
	}
	p.schema = in.schema(s)
	return p, true
}

// body chooses the encoding of the request body: JSON if the operation accepts it, else a form,
// else text.
func (c *composer) body(in *inliner, v any) error {
	if v == nil {
		return nil
	}
	m, err := in.doc.deref(v)
	if err != nil {
		return fmt.Errorf("requestBody: %w", err)
	}
	content, _ := m["content"].(map[string]any)
	rank := func(media string) int {
		base, _, _ := strings.Cut(strings.ToLower(media), ";")
		switch base = strings.TrimSpace(base); {
		case base == "application/json":
			return 4
		case strings.HasSuffix(base, "+json"):
			return 3
		case base == "application/x-www-form-urlencoded":
			return 2
		case base == "text/plain":
			return 1
		case base == "*/*", base == "application/*":
			return 1
		}
		return 0
	}
	best := ""
	for _, media := range slices.Sorted(maps.Keys(content)) {
		if rank(media) > rank(best) {
			best = media
		}
	}
	if best == "" {
		if flag(m, "required") && len(content) > 0 {
			return fmt.Errorf("its body can be sent as %s only, which is not supported",
				truncate(strings.Join(slices.Sorted(maps.Keys(content)), ", "), 200))
		}
		return nil
	}
	if strings.Contains(best, "*") {
		c.bodyMediaType = "application/json"
	} else if c.bodyMediaType = best; !isHeaderValue(best) {
		return errors.New("the media type of its body cannot be sent")
	}
	media, _ := content[best].(map[string]any)
	c.bodySchema, c.bodyNeeded = in.schema(media["schema"]), flag(m, "required")
	return nil
}

// schema returns the schema of the tool's arguments: one for each parameter, and `body`.
func (c *composer) schema() map[string]any {
	props, required := map[string]any{}, []string{}
	for _, p := range c.params {
		props[p.arg] = p.schema
		if m, ok := p.schema.(map[string]any); ok && p.description != "" && m["description"] == nil {
			m = maps.Clone(m)
			m["description"] = p.description
			props[p.arg] = m
		}
		if p.required {
			required = append(required, p.arg)
		}
	}
	if c.bodyMediaType != "" {
		props["body"] = c.bodySchema
		if c.bodyNeeded {
			required = append(required, "body")
		}
	}
	return map[string]any{"type": "object", "properties": props, "required": required, "additionalProperties": false}
}

// build builds a request from arguments.
func (c *composer) build(args map[string]any) (request, error) {
	places := map[string]any{}
	for _, p := range c.params {
		if p.in == "path" {
			places[p.name] = args[p.arg]
		}
	}
	u, err := c.template.fill(places)
	if err != nil {
		return request{}, err
	}
	r := request{url: u, header: http.Header{}}
	var cookies []string
	for _, p := range c.params {
		v, ok := args[p.arg]
		if !ok || v == nil {
			if p.required {
				return request{}, fmt.Errorf("%s is missing", p.arg)
			}
			continue
		}
		switch p.in {
		case "query":
			if err := p.query(u, v); err != nil {
				return request{}, err
			}
		case "header":
			value := scalar(v)
			if !isHeaderValue(value) {
				return request{},
					fmt.Errorf("%s must not hold line breaks or control characters: it is sent in a header", p.arg)
			}
			r.header.Set(p.name, value)
		case "cookie":
			cookies = append(cookies, encode(p.name, ".")+"="+encode(scalar(v), "."))
		}
	}
	if len(cookies) > 0 {
		r.header.Set("Cookie", strings.Join(cookies, "; "))
	}
	return r, c.fillBody(&r, args["body"])
}

// query writes a value in the style of its parameter. An object that is written as separate
// parameters uses the names that the document declares.
func (p param) query(u *url.URL, v any) error {
	list, isList := v.([]any)
	object, isObject := v.(map[string]any)
	switch {
	case p.style == "json":
		addQuery(u, p.name, asJSON(v))
	case isList && p.explode:
		for _, item := range list {
			addQuery(u, p.name, scalar(item))
		}
	case isList:
		items := make([]string, len(list))
		for i, item := range list {
			items[i] = scalar(item)
		}
		comma, ok := map[string]string{"spaceDelimited": " ", "pipeDelimited": "|"}[p.style]
		if !ok {
			comma = ","
		}
		addQuery(u, p.name, strings.Join(items, comma))
	case isObject && p.style == "deepObject":
		for _, key := range slices.Sorted(maps.Keys(object)) {
			addQuery(u, p.name+"["+key+"]", scalar(object[key]))
		}
	case isObject:
		schema, _ := p.schema.(map[string]any)
		declared, _ := schema["properties"].(map[string]any)
		for _, key := range slices.Sorted(maps.Keys(object)) {
			if _, ok := declared[key]; !ok {
				return fmt.Errorf("%s has no property %q", p.arg, truncate(key, 100))
			}
			addQuery(u, key, scalar(object[key]))
		}
	default:
		addQuery(u, p.name, scalar(v))
	}
	return nil
}

func asJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return "null"
	}
	return string(b)
}

func (c *composer) fillBody(r *request, body any) error {
	if c.bodyMediaType == "" {
		return nil
	}
	if body == nil {
		if c.bodyNeeded {
			return errors.New("body is missing")
		}
		return nil
	}
	r.contentType = c.bodyMediaType
	switch base, _, _ := strings.Cut(strings.ToLower(c.bodyMediaType), ";"); {
	case strings.HasPrefix(base, "application/x-www-form-urlencoded"):
		m, ok := body.(map[string]any)
		if !ok {
			return errors.New("body must be an object: it is sent as a form")
		}
		form := url.Values{}
		for name, v := range m {
			form.Set(name, scalar(v))
		}
		r.body = []byte(form.Encode())
	case strings.HasPrefix(base, "text/"):
		r.body = []byte(scalar(body))
	default:
		r.body = []byte(asJSON(body))
	}
	return nil
}
