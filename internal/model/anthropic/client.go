package anthropic

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/model/adapter"
	"github.com/hocket-run/hocket/internal/sse"
)

// Config holds the settings of a Client.
type Config struct {
	// BaseURL is the part of the address before /v1/messages. Required.
	BaseURL string
	// Key is sent in the X-Api-Key header; if empty, the header is omitted.
	Key string
	// HTTP makes the requests. Required, with a transport: internal/outbound creates it.
	HTTP *http.Client
	// Own reports whether this is Anthropic's own service, which has a web search.
	Own bool
}

// Client is a model.Client. It is safe for concurrent use.
type Client struct {
	cfg Config
	// omissions are what this server refused.
	omissions adapter.Omissions
	// post makes a request. It is a function because a field of the SDK's client type would link
	// all of the SDK's services.
	post func(ctx context.Context, path string, params, res any, opts ...option.RequestOption) error
}

// New returns a Client. It does not connect.
func New(cfg Config) (*Client, error) {
	if cfg.BaseURL == "" || cfg.HTTP == nil || cfg.HTTP.Transport == nil {
		return nil, errors.New("anthropic: base URL and HTTP client are required")
	}
	cfg.BaseURL = strings.TrimSuffix(strings.TrimRight(cfg.BaseURL, "/"), "/v1")
	opts := []option.RequestOption{
		option.WithBaseURL(cfg.BaseURL),
		option.WithHTTPClient(adapter.Client(cfg.HTTP)),
		option.WithMaxRetries(0),
	}
	if cfg.Key != "" {
		opts = append(opts, option.WithAPIKey(cfg.Key))
	}
	// Not sdk.NewClient, which reads the environment.
	c := sdk.Client{Options: opts}
	return &Client{cfg: cfg, post: c.Post}, nil
}

// host names the server. Signatures are sent back to no other, which would reject them.
func (cfg Config) host() string {
	if u, err := url.Parse(cfg.BaseURL); err == nil {
		return u.Hostname()
	}
	return cfg.BaseURL
}

// Call implements model.Client.
func (c *Client) Call(ctx context.Context, req model.Request, onDelta func(model.Delta)) (model.Reply, error) {
	return c.omissions.Call(ctx, req, onDelta, c.call)
}

// call makes one request.
func (c *Client) call(ctx context.Context, req model.Request, onDelta func(model.Delta)) (model.Reply, error) {
	if req.Search {
		if err := model.CanSearch(model.ProtocolAnthropic, c.cfg.Own, req); err != nil {
			return model.Reply{}, err
		}
	}
	watched, x := adapter.Begin(ctx, func() { onDelta(model.Delta{}) })
	watched, cancel := context.WithCancel(watched)
	defer cancel()

	from := c.cfg.host()
	value, err := field(x, req, from)
	if err != nil {
		return model.Reply{}, x.Failure(ctx, err, nil, c.cfg.Key)
	}
	opts := []option.RequestOption{option.WithJSONSet(messagesField, value), option.WithJSONSet("stream", true)}
	if req.IdempotencyKey != "" {
		opts = append(opts, option.WithHeader("Idempotency-Key", req.IdempotencyKey))
	}
	for path, value := range req.Params.ProviderOptions {
		opts = append(opts, option.WithJSONSet(path, value))
	}
	var resp *http.Response
	err = c.post(watched, "v1/messages", params(req, from), &resp, opts...)
	if resp != nil && resp.Body != nil {
		defer resp.Body.Close()
	}
	if err != nil {
		return model.Reply{}, x.Failure(ctx, err, nil, c.cfg.Key)
	}

	body := bufio.NewReader(resp.Body)
	a := answer{turn: len(req.Messages), schemaTool: schemaTool(req), from: from, own: c.cfg.Own}
	if adapter.IsJSON(resp.Header) {
		err = a.readWhole(body)
	} else {
		err = a.readStream(body, onDelta)
	}
	if err == nil {
		err = a.problem()
	}
	if err != nil {
		return model.Reply{}, x.Failure(ctx, err, a.finalUsage(), c.cfg.Key)
	}
	a.cite(onDelta)
	adapter.Drain(body, cancel)
	return a.reply(), nil
}

// readStream reads events until the response is complete.
func (a *answer) readStream(r io.Reader, onDelta func(model.Delta)) error {
	for event, err := range sse.Events(r) {
		if err != nil {
			return err
		}
		if failed := adapter.ReportedFailure(event.Data); failed != nil {
			return failed
		}
		if event.Name == "error" {
			return adapter.StreamError(event.Data)
		}
		var e sdk.MessageStreamEventUnion
		if err := json.Unmarshal(event.Data, &e); err != nil {
			return fmt.Errorf("event of the stream: %w", err)
		}
		a.add(e, onDelta)
		if a.done {
			return nil
		}
	}
	return nil
}

// readWhole reads a response that is one JSON value.
func (a *answer) readWhole(r io.Reader) error {
	raw, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	if failed := adapter.ReportedFailure(raw); failed != nil {
		return failed
	}
	var m sdk.Message
	if err := json.Unmarshal(raw, &m); err != nil {
		return err
	}
	if m.Type != "message" {
		return cmp.Or(adapter.UnmarkedFailure(raw), errors.New("not a message"))
	}
	a.addWhole(m)
	return nil
}
