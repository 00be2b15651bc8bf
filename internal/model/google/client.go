package google

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"runtime"
	"time"

	"google.golang.org/genai"

	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/model/adapter"
)

// graceTime is the maximum wait for the end of a stream whose response is complete.
const graceTime = 250 * time.Millisecond

// noKey is sent if a server needs no key, because the SDK requires one.
const noKey = "none"

// Config holds the settings of a Client.
type Config struct {
	// BaseURL is the part of the address before /v1beta. Required.
	BaseURL string
	// Key is sent in the X-Goog-Api-Key header; if empty, the word none is sent.
	Key string
	// HTTP makes the requests. Required, with a transport: internal/outbound creates it.
	HTTP *http.Client
	// Own reports whether this is Google's own service, which has a web search.
	Own bool
}

// Client is a model.Client. It is safe for concurrent use.
type Client struct {
	key string
	own bool
	// omissions are what this server refused.
	omissions adapter.Omissions
	// generate is a function because a field of the SDK's client type would link all of the SDK's
	// services.
	generate func(ctx context.Context, model string, contents []*genai.Content,
		config *genai.GenerateContentConfig) iter.Seq2[*genai.GenerateContentResponse, error]
}

// New returns a Client. It does not connect.
func New(cfg Config) (*Client, error) {
	if cfg.BaseURL == "" || cfg.HTTP == nil || cfg.HTTP.Transport == nil {
		return nil, errors.New("google: base URL and HTTP client are required")
	}
	if cfg.Key == "" {
		cfg.Key = noKey
	}
	c, err := genai.NewClient(context.Background(), &genai.ClientConfig{ // the context is for Vertex AI credentials
		APIKey:      cfg.Key,
		Backend:     genai.BackendGeminiAPI,
		HTTPClient:  adapter.Client(cfg.HTTP),
		HTTPOptions: genai.HTTPOptions{BaseURL: cfg.BaseURL},
	})
	if err != nil {
		// its errors print the whole configuration
		return nil, errors.New("google: " + model.Scrub(err.Error(), cfg.Key))
	}
	return &Client{key: cfg.Key, own: cfg.Own, generate: c.Models.GenerateContentStream}, nil
}

// Call implements model.Client.
func (c *Client) Call(ctx context.Context, req model.Request, onDelta func(model.Delta)) (model.Reply, error) {
	return c.omissions.Call(ctx, req, onDelta, c.call)
}

// call makes one request.
func (c *Client) call(ctx context.Context, req model.Request, onDelta func(model.Delta)) (_ model.Reply, failed error) {
	if req.Search {
		if err := model.CanSearch(model.ProtocolGoogle, c.own, req); err != nil {
			return model.Reply{}, err
		}
	}
	watched, x := adapter.Begin(ctx, func() { onDelta(model.Delta{}) })
	watched, cancel := context.WithCancel(watched)
	defer cancel()

	defer func() {
		if v := recover(); v != nil {
			err := fmt.Errorf("%v", v)
			if _, ok := v.(runtime.Error); ok { // of the SDK
				err = errors.New("it has null in place of an object")
			}
			failed = x.Failure(ctx, err, nil, c.key)
		}
	}()

	l, err := list(req)
	if err != nil {
		return model.Reply{}, x.Failure(ctx, err, nil, c.key)
	}
	a := answer{turn: len(req.Messages), schemaTool: schemaTool(req)}
	var grace *time.Timer
	for chunk, chunkErr := range c.generate(watched, req.Model, placeholderContents, config(req, x.Splice(l))) {
		if chunkErr != nil {
			err = streamError(chunkErr)
			break
		}
		a.add(chunk, onDelta)
		if a.finish != "" && grace == nil {
			grace = time.AfterFunc(graceTime, cancel)
			defer grace.Stop()
		}
	}
	// A failure after the reply is complete does not affect it.
	if a.finish != "" {
		err = nil
	}
	if err == nil {
		err = a.problem()
	}
	if err != nil {
		return model.Reply{}, x.Failure(ctx, err, a.finalUsage(), c.key)
	}
	a.cite(onDelta)
	return a.reply(), nil
}

// placeholderContents is a conversation that replaces the real one until the body is built: the SDK
// requires one.
var placeholderContents = genai.Text("none")

// streamError converts an error received inside the stream to one of ours; the SDK's other errors
// are left to Exchange.Failure.
func streamError(err error) error {
	var api genai.APIError
	if !errors.As(err, &api) {
		return err
	}
	message := api.Message
	if message == "" {
		message = api.Status
	}
	return &model.Error{Kind: adapter.KindOf(api.Code, api.Status, message), Message: message, Status: api.Code}
}
