package model

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/price"
)

// Endpoint is the address and access data of one provider. It holds the key: it is passed to an
// adapter and never printed or stored.
type Endpoint struct {
	Provider string
	Protocol Protocol
	// BaseURL has no trailing slash.
	BaseURL string
	// Key is empty if none is needed.
	Key string
	// Named reports whether the operator or Hocket itself specified the address, so that it may be
	// private (SEC8, D34).
	Named bool
	// Own reports whether this is the protocol's own service (such as api.openai.com) and not a
	// server that is merely compatible with it.
	Own bool
}

// String returns provider and address, never the key.
func (e Endpoint) String() string { return e.Provider + " at " + shownURL(e.BaseURL) }

// GoString returns String, so that %#v shows no key either.
func (e Endpoint) GoString() string { return e.String() }

// Factory builds the adapter of an endpoint. It must not connect.
type Factory func(Endpoint) (Client, error)

// Factories are the factories of several protocols. It is the type of package hocket's Adapters.
type Factories map[Protocol]Factory

// Protocols returns the sorted names of the protocols.
func (f Factories) Protocols() []string {
	var names []string
	for p := range f {
		names = append(names, string(p))
	}
	slices.Sort(names)
	return names
}

// ProviderDef is a provider that a document or the operator defines (`providers:` of steps
// documents).
type ProviderDef struct {
	// Protocol defaults to openai if empty.
	Protocol Protocol
	// BaseURL defaults to the protocol's own service if empty.
	BaseURL string
	// KeyEnv is the environment variable that holds the key. If empty, the key of the known
	// provider at the same address is used, if any.
	KeyEnv string
	// Key is a reference to the key, which Config.Secret resolves when the provider is used; it
	// takes precedence over KeyEnv. "" means there is none.
	Key string
	// Omit lists parameters that are never sent, as in Request.Omit.
	Omit []string
	// Operator reports whether the operator wrote the definition: omitted fields default to those
	// of the known provider of the same name.
	Operator bool
	// Trusted reports whether the operator vouches for this definition. Otherwise its address must
	// be public and receives only the key that belongs to that address anyway, since a document
	// could name any variable and any address.
	Trusted bool
}

// Def is a model under its own name (`models:` of steps documents). BaseURL and KeyEnv, if
// set, take precedence over the provider's.
type Def struct {
	Provider, Model string
	BaseURL, KeyEnv string
	Trusted         bool
	// Params fill in parameters that a request does not set.
	Params Params
}

// Config holds the settings of a Registry. The zero Config knows the built-in providers and has no
// key and no adapter.
type Config struct {
	// Env is the environment; nil means nothing is set.
	Env Env
	// Providers and Models are definitions by name; a name here takes precedence over a built-in
	// one.
	Providers map[string]ProviderDef
	Models    map[string]Def
	// Secret returns the value of a reference to a key; nil means no reference has a value. Its
	// errors hold no value.
	Secret func(ref string) (string, error)
	// Adapters are the factories by protocol.
	Adapters map[Protocol]Factory
	// Clients are providers implemented by the program itself, by name. They take precedence over
	// definitions and known providers of that name.
	Clients map[string]Client
	// Known are references of existing models, for hints about wrong names.
	Known []string
	// Hints are suggestions for a reference that cannot be resolved; nil means the hints of the
	// command line.
	Hints []string
	// TotalTimeout and IdleTimeout limit each call as described for WithTimeouts.
	TotalTimeout, IdleTimeout time.Duration
}

// Registry finds the provider of a reference. It is a Client whose requests name models by
// reference. Creating one reads nothing and connects to nothing; adapters are built on first use
// and kept. It is safe for concurrent use.
type Registry struct {
	cfg Config

	mu      sync.Mutex
	clients map[Endpoint]Client
}

// NewRegistry returns a Registry for cfg, whose maps must not be modified afterwards.
func NewRegistry(cfg Config) *Registry {
	if cfg.Env == nil {
		cfg.Env = func(string) string { return "" }
	}
	return &Registry{cfg: cfg, clients: map[Endpoint]Client{}}
}

// Call implements Client. Reply.Model is the reference in its full form.
func (r *Registry) Call(ctx context.Context, req Request, onDelta func(Delta)) (Reply, error) {
	client, ref, endpoint, err := r.client(strings.TrimSpace(req.Model))
	if err != nil {
		err = r.withHints(err)
		kind := KindInvalidRequest
		if errors.Is(err, ErrMissingKey) {
			kind = KindAuth
		}
		return Reply{}, &Error{Kind: kind, Message: err.Error(), Err: err}
	}
	if def, ok := r.cfg.Models[strings.TrimSpace(req.Model)]; ok {
		req.Params = req.Params.withDefaults(def.Params)
	}
	req.Model, req.Omit = ref.Model, r.cfg.Providers[ref.Provider].Omit
	details := detailsOf(req, endpoint)
	reply, err := client.Call(ctx, req, details.watch(onDelta))
	if err != nil {
		return Reply{}, details.attach(r.withNameHint(err, ref))
	}
	details.ID, details.Model = reply.ID, reply.Model
	reply.Details = &details.CallDetails
	reply.Model = ref.String()
	return reply, nil
}

// withNameHint adds a suggested name to the failure of a call whose model the provider does not
// know: one of Config.Known, or of the table of models.
func (r *Registry) withNameHint(err error, ref Ref) error {
	failed, ok := errors.AsType[*Error](err)
	if !ok || failed.Kind != KindInvalidRequest && failed.Kind != KindNotFound || !unknownModel(failed) {
		return err
	}
	var names []string
	for _, known := range slices.Concat(price.Default().Models(), r.cfg.Known) {
		if name, found := strings.CutPrefix(known, ref.Provider+"/"); found && name != ref.Model {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	with := *failed
	with.Message += fmt.Sprintf(" (the model is %s)", ref)
	if s := diag.Suggest(ref.Model, slices.Compact(names)); s != "" {
		with.Message += fmt.Sprintf("; did you mean %s/%s?", ref.Provider, s)
	}
	return &with
}

// unknownModel reports whether the provider's error means that the model does not exist.
func unknownModel(e *Error) bool {
	text := strings.ToLower(e.Message)
	if !strings.Contains(text, "model") {
		return false
	}
	return e.Status == http.StatusNotFound ||
		slices.ContainsFunc([]string{"unknown model", "invalid model", "not a valid model"}, func(p string) bool {
			return strings.Contains(text, p)
		}) ||
		slices.ContainsFunc([]string{"not found", "does not exist", "not exist", "not supported"}, func(p string) bool {
			// a parameter that a model does not support is named before that model
			before, _, ok := strings.Cut(text, p)
			return ok && strings.Contains(before, "model")
		})
}

// Check reports, before a run starts, whether calls to ref have a destination: it returns nil, or a
// *RefError that names the provider, what is missing and the hints (S0-17). It connects to nothing,
// so a wrong key or an unknown model is found only by the first call.
func (r *Registry) Check(ref string) error {
	_, _, err := r.Client(ref)
	return err
}

// Client returns the client of ref, limited by the configured timeouts, and ref in its full form.
// Errors: *RefError.
func (r *Registry) Client(ref string) (Client, Ref, error) {
	c, full, _, err := r.client(strings.TrimSpace(ref))
	if err != nil {
		return nil, Ref{}, r.withHints(err)
	}
	return c, full, nil
}

// client is Client with the endpoint, which is empty for the program's own clients.
func (r *Registry) client(ref string) (Client, Ref, Endpoint, error) {
	if full, err := ParseRef(ref); err == nil && r.cfg.Clients[full.Provider] != nil {
		return WithTimeouts(r.cfg.Clients[full.Provider], r.cfg.TotalTimeout, r.cfg.IdleTimeout), full, Endpoint{}, nil
	}
	full, endpoint, err := r.resolve(ref)
	if err != nil {
		return nil, Ref{}, endpoint, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if c, ok := r.clients[endpoint]; ok {
		return c, full, endpoint, nil
	}
	factory := r.cfg.Adapters[endpoint.Protocol]
	if factory == nil {
		return nil, Ref{}, endpoint,
			problem(ref, full.Provider, ErrBadProvider, fmt.Sprintf("protocol %q is not supported", endpoint.Protocol))
	}
	adapter, err := factory(endpoint)
	if err != nil {
		return nil, Ref{}, endpoint, problem(ref, full.Provider, ErrBadProvider, Scrub(err.Error(), endpoint.Key))
	}
	c := WithTimeouts(adapter, r.cfg.TotalTimeout, r.cfg.IdleTimeout)
	r.clients[endpoint] = c
	return c, full, endpoint, nil
}

// resolve finds the target of ref: a model that a definition names, otherwise provider and model.
func (r *Registry) resolve(ref string) (Ref, Endpoint, error) {
	if ref == "" {
		return Ref{}, Endpoint{}, problem("", "", ErrNoModel, "no model is configured")
	}
	if def, ok := r.cfg.Models[ref]; ok {
		full := Ref{Provider: def.Provider, Model: def.Model}
		e, err := r.endpointOfModel(ref, def)
		return full, e, err
	}
	full, err := ParseRef(ref)
	if err != nil {
		return Ref{}, Endpoint{}, problem(ref, "", ErrBadRef, err.Error())
	}
	if strings.Contains(ref, "/") {
		e, err := r.endpoint(ref, full.Provider)
		return full, e, err
	}

	// A bare name: the provider implied by its prefix, if usable; otherwise the server named by
	// OPENAI_BASE_URL (D26).
	if full.Provider != "" {
		e, err := r.endpoint(ref, full.Provider)
		if err == nil || !r.hasOpenAIServer() {
			return full, e, err
		}
	}
	if r.hasOpenAIServer() {
		full.Provider = "openai"
		e, err := r.endpoint(ref, full.Provider)
		return full, e, err
	}
	return Ref{}, Endpoint{},
		problem(ref, "", ErrAmbiguousRef, fmt.Sprintf("model %q has no provider; write provider/%s", ref, ref))
}

// Key returns a key shared by all references whose calls use the same provider address and API key,
// without revealing either (SEC11). full is ref in its full form. Errors: *RefError.
func (r *Registry) Key(ref string) (key string, full Ref, err error) {
	ref = strings.TrimSpace(ref)
	if full, err := ParseRef(ref); err == nil && r.cfg.Clients[full.Provider] != nil {
		return "client " + full.Provider, full, nil
	}
	full, e, err := r.resolve(ref)
	if err != nil {
		return "", Ref{}, err
	}
	sum := sha256.Sum256([]byte(e.BaseURL + "\x00" + e.Key))
	return hex.EncodeToString(sum[:]), full, nil
}

func (r *Registry) hasOpenAIServer() bool {
	return strings.TrimSpace(r.cfg.Env("OPENAI_BASE_URL")) != ""
}

// endpoint finds a provider by name.
func (r *Registry) endpoint(ref, name string) (Endpoint, error) {
	if def, ok := r.cfg.Providers[name]; ok {
		return r.defined(ref, name, def)
	}
	p, ok := builtin(name)
	if !ok {
		return Endpoint{}, r.unknown(ref, name)
	}
	base, fromEnv, err := p.base(r.cfg.Env)
	if err != nil {
		return Endpoint{}, problem(ref, name, ErrBadProvider, err.Error())
	}
	key, _ := p.key(r.cfg.Env)
	if key == "" && len(p.keyEnv) > 0 && !fromEnv {
		return Endpoint{}, missingKey(ref, name, strings.Join(p.keyEnv, " or "))
	}
	return Endpoint{Provider: name, Protocol: p.protocol, BaseURL: base, Key: key, Named: true,
		Own: base == p.baseURL && name == string(p.protocol)}, nil
}

// endpointOfModel applies a model's own address and key, which take precedence over its provider's.
func (r *Registry) endpointOfModel(ref string, m Def) (Endpoint, error) {
	if m.Model == "" || m.Provider == "" {
		return Endpoint{},
			problem(ref, m.Provider, ErrBadRef, fmt.Sprintf("the definition of %q has no provider or no model", ref))
	}
	if m.BaseURL == "" && m.KeyEnv == "" {
		return r.endpoint(ref, m.Provider)
	}
	def, ok := r.cfg.Providers[m.Provider]
	if !ok {
		p, ok := builtin(m.Provider)
		if !ok {
			return Endpoint{}, r.unknown(ref, m.Provider)
		}
		base, fromEnv, err := p.base(r.cfg.Env)
		if err != nil {
			return Endpoint{}, problem(ref, m.Provider, ErrBadProvider, err.Error())
		}
		def = ProviderDef{Protocol: p.protocol, BaseURL: base, Trusted: fromEnv || m.Trusted || m.BaseURL == ""}
	}
	if m.BaseURL != "" {
		def.BaseURL, def.Trusted = m.BaseURL, m.Trusted
	}
	if m.KeyEnv != "" {
		def.KeyEnv = m.KeyEnv
	}
	return r.defined(ref, m.Provider, def)
}

// defined returns the endpoint of a definition.
func (r *Registry) defined(ref, name string, def ProviderDef) (Endpoint, error) {
	if p, ok := builtin(name); ok && def.Operator {
		if def.Protocol == "" {
			def.Protocol = p.protocol
		}
		if def.BaseURL == "" {
			base, _, err := p.base(r.cfg.Env)
			if err != nil {
				return Endpoint{}, problem(ref, name, ErrBadProvider, err.Error())
			}
			def.BaseURL = base
		}
	}
	if def.Protocol == "" {
		def.Protocol = ProtocolOpenAI
	}
	own, ok := ownProvider(def.Protocol)
	if !ok {
		return Endpoint{},
			problem(ref, name, ErrBadProvider, fmt.Sprintf("provider %q has the unknown kind %q", name, def.Protocol))
	}
	e := Endpoint{Provider: name, Protocol: def.Protocol, Named: def.Trusted}
	if def.BaseURL == "" {
		base, _, err := own.base(r.cfg.Env)
		if err != nil {
			return Endpoint{}, problem(ref, name, ErrBadProvider, err.Error())
		}
		def.BaseURL = base
	}
	text, err := r.address(ref, name, def)
	if err != nil {
		return Endpoint{}, err
	}
	base, err := cleanURL(strings.TrimSpace(text))
	if err != nil {
		return Endpoint{}, problem(ref, name, ErrBadProvider, fmt.Sprintf("provider %q: base URL: %s", name, err))
	}
	e.BaseURL, e.Own = base, base == own.baseURL

	known, isKnown := r.knownAt(base)
	e.Named = e.Named || isKnown
	switch {
	case def.Key != "" && r.cfg.Secret != nil && def.Trusted:
		if e.Key, err = r.cfg.Secret(def.Key); err != nil {
			return Endpoint{}, problem(ref, name, ErrMissingKey, fmt.Sprintf("the key of provider %q: %s", name, err))
		}
	case def.Key != "":
		return Endpoint{},
			problem(ref, name, ErrUntrusted, fmt.Sprintf("the key of provider %q is not available here", name))
	case def.KeyEnv != "":
		if !def.Trusted && !isKnown {
			return Endpoint{}, problem(ref, name, ErrUntrusted,
				fmt.Sprintf("the document is not allowed to send %s to %s; to allow it, use --trust", def.KeyEnv,
					shownURL(base)))
		}
		if e.Key = strings.TrimSpace(r.cfg.Env(def.KeyEnv)); e.Key == "" {
			return Endpoint{}, missingKey(ref, name, def.KeyEnv)
		}
	case isKnown:
		if e.Key, _ = known.key(r.cfg.Env); e.Key == "" && len(known.keyEnv) > 0 && base == known.baseURL {
			return Endpoint{}, missingKey(ref, name, strings.Join(known.keyEnv, " or "))
		}
	case def.Trusted && name == own.name:
		// `provider: openai` with its own address, for which the operator vouches: its usual key,
		// if there is one.
		e.Key, _ = own.key(r.cfg.Env)
	}
	return e, nil
}

// address returns the address of a definition with the values of the variables in it, `${NAME}` or
// `${env.NAME}`. A document that is not trusted must not have any: it could send any variable
// anywhere.
func (r *Registry) address(ref, name string, def ProviderDef) (string, error) {
	if !strings.Contains(def.BaseURL, "${") {
		return def.BaseURL, nil
	}
	if !def.Trusted {
		return "", problem(ref, name, ErrUntrusted, fmt.Sprintf(
			"the document is not allowed to use variables in the address %s; to allow it, use --trust", def.BaseURL))
	}
	var err error
	text := os.Expand(def.BaseURL, func(variable string) string {
		variable = strings.TrimPrefix(variable, "env.")
		v := strings.TrimSpace(r.cfg.Env(variable))
		if v == "" {
			err = problem(ref, name, ErrBadProvider,
				fmt.Sprintf("provider %q: base URL %s: %s is not set", name, def.BaseURL, variable))
		}
		return v
	})
	return text, err
}

// knownAt returns the known provider whose address is base, by default or from the environment.
func (r *Registry) knownAt(base string) (provider, bool) {
	for _, p := range builtins() {
		if at, _, err := p.base(r.cfg.Env); err == nil && (at == base || p.baseURL == base) {
			return p, true
		}
	}
	return provider{}, false
}

// Window returns the size of a model's context window in tokens, or 0 if the table of models does
// not contain it. ref is a reference as accepted by ParseRef.
func Window(ref string) int {
	r, err := ParseRef(ref)
	if err != nil {
		return 0
	}
	return price.Window(r.String())
}
