// Package providers combines the registry, the adapters and the HTTP client: everything that a
// command needs to call models.
//
// It holds no state and makes no decisions: it is the one place that imports every adapter, so that
// neither the port nor the driver depends on an SDK.
package providers

import (
	"fmt"
	"net/http"
	"net/url"

	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/model/adapter"
	"github.com/hocket-run/hocket/internal/model/anthropic"
	"github.com/hocket-run/hocket/internal/model/google"
	"github.com/hocket-run/hocket/internal/model/openai"
	"github.com/hocket-run/hocket/internal/outbound"
)

// New returns a registry with an adapter for every protocol; cfg.Adapters, if set, takes
// precedence. proxy chooses the proxy of a request; nil uses the process environment. Each endpoint
// gets its own HTTP client, which may reach that endpoint and no other private address (SEC8).
// Nothing is connected or built before the first call.
func New(cfg model.Config, proxy func(*http.Request) (*url.URL, error)) *model.Registry {
	if cfg.Adapters == nil {
		cfg.Adapters = Adapters(proxy)
	}
	return model.NewRegistry(cfg)
}

// Adapters returns the factory of each protocol. proxy chooses the proxy of a request; nil uses the
// process environment.
func Adapters(proxy func(*http.Request) (*url.URL, error)) map[model.Protocol]model.Factory {
	return AdaptersWith(func(e model.Endpoint) *http.Client { return Client(e, proxy) })
}

// Client returns the HTTP client for calls of an endpoint.
func Client(e model.Endpoint, proxy func(*http.Request) (*url.URL, error)) *http.Client {
	cfg := outbound.Config{Proxy: proxy, Trace: true}
	if e.Named {
		cfg.Allow = []string{e.BaseURL}
	}
	return outbound.New(cfg)
}

// AdaptersWith returns the factory of each protocol. Its adapters use the HTTP clients that client
// returns.
func AdaptersWith(client func(model.Endpoint) *http.Client) map[model.Protocol]model.Factory {
	return map[model.Protocol]model.Factory{
		model.ProtocolOpenAI: func(e model.Endpoint) (model.Client, error) {
			return wrap(openai.New(openai.Config{BaseURL: e.BaseURL, Key: e.Key, Own: e.Own, HTTP: client(e)}))
		},
		model.ProtocolAnthropic: func(e model.Endpoint) (model.Client, error) {
			return wrap(anthropic.New(anthropic.Config{BaseURL: e.BaseURL, Key: e.Key, Own: e.Own, HTTP: client(e)}))
		},
		model.ProtocolGoogle: func(e model.Endpoint) (model.Client, error) {
			return wrap(google.New(google.Config{BaseURL: e.BaseURL, Key: e.Key, Own: e.Own, HTTP: client(e)}))
		},
	}
}

// Expected returns the responses that the adapter of a protocol expects. ok is false for an unknown
// protocol.
func Expected(p model.Protocol) (expected adapter.Answers, ok bool) {
	switch p {
	case model.ProtocolOpenAI:
		return openai.Expected(), true
	case model.ProtocolAnthropic:
		return anthropic.Expected(), true
	case model.ProtocolGoogle:
		return google.Expected(), true
	}
	return adapter.Answers{}, false
}

// wrap adds what all adapters do, and prevents a nil adapter from becoming a non-nil Client.
func wrap[C model.Client](c C, err error) (model.Client, error) {
	if err != nil {
		return nil, fmt.Errorf("make the adapter: %w", err)
	}
	return adapter.WithoutRefusedTools(c), nil
}
