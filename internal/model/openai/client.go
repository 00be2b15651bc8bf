package openai

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/model/adapter"
	"github.com/hocket-run/hocket/internal/sse"
)

// Config holds the settings of a Client.
type Config struct {
	// BaseURL is the part of the address before /chat/completions. Required.
	BaseURL string
	// Key is sent in the Authorization header; if empty, the header is omitted.
	Key string
	// Own reports whether this is OpenAI's own service, which supports parameters that compatible
	// servers mostly do not.
	Own bool
	// HTTP makes the requests. Required, with a transport: internal/outbound creates it.
	HTTP *http.Client
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
		return nil, errors.New("openai: base URL and HTTP client are required")
	}
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
	always := []string{streamField, streamOptions}
	return &Client{cfg: cfg, post: c.Post, omissions: adapter.Omissions{Always: always}}, nil
}

// Call implements model.Client.
func (c *Client) Call(ctx context.Context, req model.Request, onDelta func(model.Delta)) (model.Reply, error) {
	return c.omissions.Call(ctx, req, onDelta, c.call)
}

// call makes one request.
func (c *Client) call(ctx context.Context, req model.Request, onDelta func(model.Delta)) (model.Reply, error) {
	if req.Search {
		if err := model.CanSearch(model.ProtocolOpenAI, c.cfg.Own, req); err != nil {
			return model.Reply{}, err
		}
	}
	watched, x := adapter.Begin(ctx, func() { onDelta(model.Delta{}) })
	watched, cancel := context.WithCancel(watched)
	defer cancel()

	d := dialectOf(c.cfg, req)
	value, err := field(x, req, d)
	if err != nil {
		return model.Reply{}, c.failure(ctx, x, err, nil)
	}
	opts := []option.RequestOption{option.WithJSONSet(messagesField, value),
		option.WithHeader("Accept", "text/event-stream, application/json")}
	if !slices.Contains(req.Omit, streamField) {
		opts = append(opts, option.WithJSONSet(streamField, true))
	}
	if req.IdempotencyKey != "" {
		opts = append(opts, option.WithHeader("Idempotency-Key", req.IdempotencyKey))
	}
	for path, value := range req.Params.ProviderOptions {
		opts = append(opts, option.WithJSONSet(path, value))
	}
	var resp *http.Response
	err = c.post(watched, "chat/completions", c.params(req), &resp, opts...)
	if resp != nil && resp.Body != nil {
		defer resp.Body.Close()
	}
	if err != nil {
		return model.Reply{}, c.failure(ctx, x, err, nil)
	}

	body := bufio.NewReader(resp.Body)
	a := answer{turn: len(req.Messages), dialect: d, tools: len(req.Tools) > 0}
	if adapter.IsJSON(resp.Header) || startsWithBrace(body) {
		err = a.readWhole(body)
	} else {
		err = a.readStream(body, onDelta)
	}
	if err == nil {
		err = a.problem(resp.Header.Get("Content-Type"))
	}
	if err != nil {
		return model.Reply{}, c.failure(ctx, x, err, a.finalUsage())
	}
	a.cite(onDelta)
	adapter.Drain(body, cancel)
	return a.reply(), nil
}

// failure ensures that an error not noticed elsewhere is not lost.
func (c *Client) failure(ctx context.Context, x *adapter.Exchange, err error, used *chat.Usage) error {
	return x.Failure(ctx, err, used, c.cfg.Key)
}

// startsWithBrace reports whether the response looks like JSON although its content type does not
// say so.
func startsWithBrace(r *bufio.Reader) bool {
	for {
		b, err := r.ReadByte()
		if err != nil {
			return false
		}
		if b == ' ' || b == '\n' || b == '\r' || b == '\t' {
			continue
		}
		_ = r.UnreadByte() // a byte was just read
		return b == '{'
	}
}

// readStream reads events until the response is complete.
func (a *answer) readStream(r io.Reader, onDelta func(model.Delta)) error {
	for event, err := range sse.Events(r) {
		if err != nil {
			return err
		}
		if string(event.Data) == "[DONE]" {
			a.done = true
			return nil
		}
		// After an answer that was cut off, OpenRouter reports the limit as a failure.
		if failed := adapter.ReportedFailure(event.Data); failed != nil && !a.cut() {
			return failed
		}
		if event.Name == "error" {
			return adapter.StreamError(event.Data)
		}
		var parsed sdk.ChatCompletionChunk
		if err := json.Unmarshal(event.Data, &parsed); err != nil {
			return fmt.Errorf("event of the stream: %w", err)
		}
		a.add(parsed, onDelta)
		if err := adapter.CheckCalls(len(a.calls)); err != nil {
			return err
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
	var parsed sdk.ChatCompletion
	if err := json.Unmarshal(raw, &parsed); err != nil {
		return err
	}
	a.addWhole(parsed)
	return nil
}
