package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/tool"
	"github.com/hocket-run/hocket/internal/tool/exchange"
	"github.com/hocket-run/hocket/internal/tool/refs"
)

// options are the keys of a toolset of type api.
type options struct {
	Config struct {
		Name        string                     `json:"name"`
		Instruction string                     `json:"instruction"`
		Endpoint    string                     `json:"endpoint"`
		Method      string                     `json:"method"`
		Headers     map[string]string          `json:"headers"`
		Args        map[string]json.RawMessage `json:"args"`
		Required    []string                   `json:"required"`
		Output      json.RawMessage            `json:"output_schema"`
	} `json:"api_config"`
}

// Toolset is the single tool of an api_config. It implements [tool.Toolset].
type Toolset struct {
	base
	tool tool.Tool
}

// New returns the toolset that spec describes. It makes no request. It returns a *tool.Error of
// kind failed for options that are invalid or refer to something without a value.
func New(cfg Config, spec tool.Spec) (*Toolset, error) {
	name := spec.Title()
	t, err := newAPI(cfg, spec)
	if err != nil {
		return nil, tool.Errorf(tool.KindFailed, name, "toolset %q: %w", name, err)
	}
	return t, nil
}

func newAPI(cfg Config, spec tool.Spec) (*Toolset, error) {
	var o options
	if err := json.Unmarshal(spec.Options, &o); err != nil {
		return nil, fmt.Errorf("api_config cannot be read: %w", err)
	}
	c := o.Config
	if c.Name == "" {
		return nil, errors.New("api_config needs a name")
	}
	c.Method = strings.ToUpper(c.Method)
	if !slices.Contains(tool.APIMethods, c.Method) {
		return nil, fmt.Errorf("method must be one of %s, got %q", strings.Join(tool.APIMethods, ", "), c.Method)
	}
	exp := cfg.expander(spec)
	endpoint, err := expandEndpoint(exp, c.Endpoint)
	if err != nil {
		return nil, err
	}
	tmpl, err := parseTemplate(endpoint)
	if err != nil {
		return nil, fmt.Errorf("endpoint %w", err)
	}
	for _, place := range slices.Sorted(maps.Keys(tmpl.names())) {
		if _, ok := c.Args[place]; !ok {
			return nil, fmt.Errorf("endpoint has a placeholder for %q, which is not in args", place)
		}
	}
	headers, err := readHeaders(exp, c.Headers)
	if err != nil {
		return nil, err
	}
	params, err := json.Marshal(map[string]any{"type": "object", "properties": orEmpty(c.Args),
		"required": append([]string{}, c.Required...), "additionalProperties": false})
	if err != nil {
		return nil, fmt.Errorf("args cannot be read: %w", err)
	}
	t := &Toolset{base: base{name: spec.Title(), headers: headers, red: exp.Redactor(), decode: cfg.Decode,
		origin: originOf(&url.URL{Scheme: tmpl.scheme, Host: tmpl.host})}}
	t.client = exchange.New(exchange.Config{HTTP: cfg.HTTP(spec), Total: spec.Timeout, Idle: spec.IdleTimeout,
		MaxBytes: maxAnswerBytes, Redactor: t.red})
	t.tool = &operation{
		base: &t.base, method: c.Method, build: builder(tmpl, c.Method),
		def: chat.ToolDef{Name: c.Name, Description: describe(c.Instruction, c.Output), Parameters: params},
	}
	return t, nil
}

func orEmpty(args map[string]json.RawMessage) map[string]json.RawMessage {
	if args == nil {
		return map[string]json.RawMessage{}
	}
	return args
}

// describe adds the schema of responses to a tool's description: a model that knows it makes better
// requests.
func describe(instruction string, output json.RawMessage) string {
	if len(output) == 0 || len(output) > maxDescription || string(output) == "null" {
		return instruction
	}
	return strings.TrimSpace(instruction + "\nResponses have this JSON Schema: " + string(output))
}

// envReference matches a variable in an endpoint; `${name}` without env is a placeholder for an
// argument there.
var envReference = regexp.MustCompile(`\$\{\s*env\.[A-Za-z_]\w*\s*\}`)

// expandEndpoint replaces references to the environment. Their values are literal text of the
// address, never placeholders.
func expandEndpoint(exp *refs.Expander, text string) (string, error) {
	var failed error
	out := envReference.ReplaceAllStringFunc(text, func(ref string) string {
		value, err := exp.Expand(ref, true)
		if err == nil && strings.ContainsAny(value, "{}$") {
			err = fmt.Errorf("%s has a value that cannot be used in a URL", ref)
		}
		failed = errors.Join(failed, err)
		return value
	})
	if failed != nil {
		return "", fmt.Errorf("endpoint: %w", failed)
	}
	return out, nil
}

// builder returns a function that puts arguments into their placeholders; arguments without one go
// into the body of writing requests, and into the query of reading ones.
func builder(t *template, method string) func(map[string]any) (request, error) {
	placed := t.names()
	return func(args map[string]any) (request, error) {
		u, err := t.fill(args)
		if err != nil {
			return request{}, err
		}
		rest := map[string]any{}
		for name, v := range args {
			if !placed[name] && v != nil {
				rest[name] = v
			}
		}
		r := request{url: u}
		if method == http.MethodPost || method == http.MethodPut || method == http.MethodPatch {
			r.contentType = "application/json"
			r.body, err = json.Marshal(rest)
			return r, err
		}
		for _, name := range slices.Sorted(maps.Keys(rest)) {
			addQuery(u, name, scalar(rest[name]))
		}
		return r, nil
	}
}

func addQuery(u *url.URL, key, value string) {
	if u.RawQuery != "" {
		u.RawQuery += "&"
	}
	u.RawQuery += encode(key, "[].") + "=" + encode(value, ".")
}

// Tools implements tool.Toolset.
func (t *Toolset) Tools(ctx context.Context) ([]tool.Tool, error) {
	if err := t.checkOpen(ctx); err != nil {
		return nil, err
	}
	return []tool.Tool{t.tool}, nil
}
