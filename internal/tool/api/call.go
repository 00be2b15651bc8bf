package api

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/tool"
	"github.com/hocket-run/hocket/internal/tool/exchange"
)

// operation is one tool: a method and a function that builds a request from arguments.
type operation struct {
	base   *base
	def    chat.ToolDef
	method string
	build  func(args map[string]any) (request, error)
}

// request is built from arguments. A nil body means that there is none.
type request struct {
	url         *url.URL
	header      http.Header
	body        []byte
	contentType string
}

func (o *operation) Def() chat.ToolDef { return o.def }

// Policy returns retry for the methods that HTTP defines as idempotent, and ask for the others
// (P12).
func (o *operation) Policy() tool.Policy {
	switch o.method {
	case http.MethodGet, http.MethodHead, http.MethodPut, http.MethodDelete, http.MethodOptions:
		return tool.PolicyRetry
	}
	return tool.PolicyAsk
}

// Concurrent implements tool.Concurrent: the methods that HTTP defines as safe change nothing.
func (o *operation) Concurrent() bool {
	return o.method == http.MethodGet || o.method == http.MethodHead || o.method == http.MethodOptions
}

// urlArgument is the name that permissions use for the address of a request.
const urlArgument = "url"

// Resources returns the address of the request that a call makes.
func (o *operation) Resources(ctx context.Context, c tool.Call) ([]tool.Resource, error) {
	r, err := o.request(c)
	if err != nil {
		return []tool.Resource{{Argument: urlArgument}}, nil //nolint:nilerr // the call itself says what is wrong
	}
	guessed, err := tool.Guess(ctx, "", o.def.Name, c.Arguments)
	return append(guessed, o.base.address(r.url)), err
}

// address returns an address as permissions compare it, without the toolset's secrets, because it
// is stored and shown.
func (b *base) address(u *url.URL) tool.Resource {
	r := tool.AddressOf(urlArgument, u)
	for _, names := range append(r.Names, r.Also) {
		for i := range names {
			names[i] = b.red.Text(names[i])
		}
	}
	return r
}

// request returns the request of a call.
func (o *operation) request(c tool.Call) (request, error) {
	dec := json.NewDecoder(bytes.NewReader(c.Arguments))
	dec.UseNumber()
	args := map[string]any{}
	if err := dec.Decode(&args); err != nil && len(bytes.TrimSpace(c.Arguments)) > 0 {
		return request{}, fmt.Errorf("read arguments: %w", err)
	}
	return o.build(args)
}

func (o *operation) Call(ctx context.Context, c tool.Call) (tool.Result, error) {
	r, err := o.request(c)
	if err != nil {
		return tool.Result{}, tool.Errorf(tool.KindInvalidArguments, c.Name, "tool %q was not called: %w", c.Name, err)
	}
	req, err := http.NewRequestWithContext(ctx, o.method, r.url.String(), bytes.NewReader(r.body))
	if err != nil {
		return tool.Result{}, tool.Errorf(tool.KindInvalidArguments, c.Name,
			"tool %q was not called: its request cannot be encoded", c.Name)
	}
	o.setHeaders(req, r, c.Key)
	a, err := o.base.client.Do(exchange.Hiding(ctx, func(u *url.URL) bool { return c.Scope.Hides(o.base.address(u)) }),
		req)
	if err != nil {
		return tool.Result{}, err
	}
	return o.base.result(a), nil
}

// setHeaders sets the headers of a request. The toolset's headers take precedence over those from
// arguments.
func (o *operation) setHeaders(req *http.Request, r request, key string) {
	req.Header = r.header
	if req.Header == nil {
		req.Header = http.Header{}
	}
	req.Header.Set("Accept", "application/json, text/*;q=0.8, */*;q=0.5")
	req.Header.Set("User-Agent", "hocket-api")
	if r.body == nil {
		req.Body, req.GetBody, req.ContentLength = http.NoBody, nil, 0
	} else {
		req.Header.Set("Content-Type", r.contentType)
	}
	if writes(o.method) && key != "" && isHeaderValue(key) {
		req.Header.Set("Idempotency-Key", key)
	}
	if originOf(req.URL) != o.base.origin {
		return
	}
	for name, values := range o.base.headers {
		if name == "Cookie" && req.Header.Get(name) != "" {
			values = []string{req.Header.Get(name) + "; " + strings.Join(values, "; ")}
		}
		req.Header[name] = values
	}
	for _, q := range o.base.query {
		kept := slices.DeleteFunc(strings.Split(req.URL.RawQuery, "&"), func(p string) bool {
			key, _, _ := strings.Cut(p, "=")
			return p == "" || key == q.key
		})
		req.URL.RawQuery = strings.Join(append(kept, q.key+"="+q.value[0].text), "&")
	}
}

func writes(method string) bool {
	switch method {
	case http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete:
		return true
	}
	return false
}

// text returns the body of an answer as UTF-8, without a byte order mark.
func (b *base) text(a *exchange.Answer) string {
	if b.decode != nil {
		return b.decode(a.Body, a.Header.Get("Content-Type"))
	}
	return strings.ToValidUTF8(strings.TrimPrefix(string(a.Body), "\uFEFF"), "\uFFFD")
}

// result converts a server's response to a result for the model: the status, then the body. An
// unsuccessful status is an error of the tool.
func (b *base) result(a *exchange.Answer) tool.Result {
	res := tool.Result{IsError: !a.OK()}
	limit := maxTextBytes
	if res.IsError {
		limit = maxErrorBytes
	}
	media := a.Media()
	head := "HTTP " + a.StatusText()
	switch {
	case len(a.Body) == 0:
		res.Text = head + " (no body)"
	case !exchange.IsText(media):
		res.Text = fmt.Sprintf("%s\n[not shown: %s, %s]", head, media, a.Size())
	default:
		body := b.text(a)
		if exchange.IsJSON(media) && !a.Cut && len(body) <= maxStructured && json.Valid([]byte(body)) {
			res.Structured = fmt.Appendf(nil, `{"status":%d,"body":%s}`, a.Status, body)
		}
		text, cut := exchange.Cut(body, limit)
		if cut || a.Cut {
			head += fmt.Sprintf(" (truncated: the response has %s, the first %d are shown)", a.Size(), len(text))
		}
		res.Text = head + "\n" + text
	}
	res.Text, res.Structured = b.red.Text(res.Text), b.red.JSON(res.Structured)
	return res
}
