package httpapi

import (
	"bytes"
	"cmp"
	"errors"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/api/hooks"
	"github.com/hocket-run/hocket/internal/api/live"
	"github.com/hocket-run/hocket/internal/op"
	"github.com/hocket-run/hocket/internal/service"
)

// Prefix is the path prefix of all operations.
const Prefix = op.Prefix

// SpecPath is the path of the OpenAPI document.
const SpecPath = "/openapi.json"

// Config configures an API. The zero Config is ready to use.
type Config struct {
	// Version is the version of the program as reported in the OpenAPI document; "" means `dev`.
	Version string
	// MaxBody is the maximum size of a request body in bytes (SEC17); 0 means the size that the
	// largest document needs.
	MaxBody int64
	// Live streams the events of runs. If nil, the API uses a handler with default settings and
	// without tickets. The caller closes Live.
	Live *live.Handler
	// Access stores tokens and the audit log. If nil, the API uses a new in-memory store.
	Access AccessStore
	// Hooks are the webhooks and notifications that the API manages. If nil, the API uses its own
	// in-memory hooks.
	Hooks *hooks.Hooks
	// Sessions starts and ends browser sessions. If its functions are nil, sessions are kept in
	// Access.
	Sessions Sessions
}

// bodySlack is the room in a request body for everything but the document, including the JSON
// escapes of the document.
const bodySlack = 1 << 20

func (c Config) withDefaults() Config {
	c.Version = cmp.Or(c.Version, "dev")
	if c.Live == nil {
		c.Live = live.New(live.Config{})
	}
	c.MaxBody = cmp.Or(c.MaxBody, service.MaxDocumentBytes+bodySlack)
	if c.Access == nil {
		c.Access = &access.Memory{}
	}
	if c.Sessions.Begin == nil {
		all := &access.Sessions{Store: c.Access, Tokens: access.NewTokens(access.Config{Store: c.Access})}
		c.Sessions = Sessions{Begin: all.Begin, Code: all.Code, End: all.End, Cookie: http.Cookie{Name: "hocket",
			Path: "/", HttpOnly: true, Secure: true, SameSite: http.SameSiteStrictMode}}
	}
	return c
}

// API serves the operations under Prefix and the document at SpecPath. It is safe for concurrent
// use.
type API struct {
	cfg        Config
	huma       huma.API
	mux        *http.ServeMux
	streams    *http.ServeMux // requests with Accept: text/event-stream
	operations []Operation
}

// Operation describes one operation of the API, for tests of the server that list them.
type Operation struct {
	// Method and Path are the mux pattern; Path has parameters in braces, such as {id}.
	Method, Path string
	// ID is the operationId of the OpenAPI document.
	ID string
	// Role is the role that the caller must have.
	Role access.Role
}

// New returns an API with the configuration cfg.
func New(cfg Config) *API {
	a := &API{cfg: cfg.withDefaults(), mux: http.NewServeMux()}
	hc := huma.Config{OpenAPI: a.document(), Formats: formats(), DefaultFormat: "application/json",
		Transformers: []huma.Transformer{problems}}
	hc.Components.Schemas.RegisterTypeAlias(reflect.TypeFor[op.Language](), reflect.TypeFor[Language]())
	a.huma = humago.New(a.mux, hc)
	a.registerRuns()
	a.registerRunActs()
	a.registerOperations()
	a.registerRunViews()
	a.registerRunDefinition()
	a.registerRunCalls()
	a.registerWaits()
	a.registerWorkflows()
	a.registerWorkflowEdits()
	a.registerApply()
	a.registerDocuments()
	a.registerGraphs()
	a.registerLayouts()
	a.registerAgents()
	a.registerLive()
	a.registerOffers()
	a.registerSession()
	a.registerSystem()
	a.registerTokens()
	a.registerAudit()
	a.registerHooks()
	a.finish()
	return a
}

// formats returns huma's formats with a strict JSON decoder, since input that is not UTF-8 would be
// stored as something else. It ignores a byte order mark. Views are written as they are produced.
func formats() map[string]huma.Format {
	out := maps.Clone(huma.DefaultFormats)
	for name, f := range out {
		read := f.Unmarshal
		f.Unmarshal = func(data []byte, v any) error {
			if !utf8.Valid(data) {
				return errors.New("not valid UTF-8")
			}
			return read(bytes.TrimPrefix(data, []byte("\uFEFF")), v)
		}
		out[name] = streamed(f)
	}
	return out
}

// Operations returns all operations, sorted by path and method. The caller owns the slice.
func (a *API) Operations() []Operation {
	out := slices.Clone(a.operations)
	slices.SortStableFunc(out, func(x, y Operation) int {
		return cmp.Or(cmp.Compare(x.Path, y.Path), cmp.Compare(x.Method, y.Method))
	})
	return out
}

// ServeHTTP implements http.Handler.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if a.stream(w, r) {
		return
	}
	h, pattern := a.mux.Handler(r)
	if pattern == "" {
		writeRefusal(w, h, r)
		return
	}
	a.mux.ServeHTTP(w, r)
}
