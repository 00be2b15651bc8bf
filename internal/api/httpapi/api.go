package httpapi

import (
	"cmp"
	"errors"
	"maps"
	"net/http"
	"slices"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/api/hooks"
	"github.com/hocket-run/hocket/internal/api/live"
	"github.com/hocket-run/hocket/internal/service"
)

// Prefix is what the paths of all operations begin with.
const Prefix = "/api/v1"

// SpecPath is where the OpenAPI document is.
const SpecPath = "/openapi.json"

// Config is what an API is made of. The zero Config can be used.
type Config struct {
	// Version is that of the program, as the OpenAPI document tells it; "" is `dev`.
	Version string
	// MaxBody bounds the bytes of a request's body (SEC17); 0: what the largest document needs.
	MaxBody int64
	// Live streams the events of runs; nil: one with its defaults, and without tickets. The caller closes what they give.
	Live *live.Handler
	// Access keeps tokens and the audit log; nil: new ones, in memory.
	Access AccessStore
	// Hooks are the webhooks and notifications that the API manages; nil: some in memory, of this API alone.
	Hooks *hooks.Hooks
	// Sessions begin and end the sessions of browsers; without functions, some in Access.
	Sessions Sessions
}

// bodySlack is what is in a request beside a document, its escapes in JSON among it.
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
		c.Sessions = Sessions{Begin: all.Begin, Code: all.Code, End: all.End, Cookie: http.Cookie{Name: "hocket", Path: "/", HttpOnly: true, Secure: true, SameSite: http.SameSiteStrictMode}}
	}
	return c
}

// API serves the operations below Prefix and the document at SpecPath. Safe for concurrent use.
type API struct {
	cfg        Config
	huma       huma.API
	mux        *http.ServeMux
	streams    *http.ServeMux // what is asked for with Accept: text/event-stream
	operations []Operation
}

// Operation is one operation of the API, as tests of the server list them.
type Operation struct {
	// Method and Path are those of the mux; Path has parameters in braces, such as {id}.
	Method, Path string
	// ID is the operationId of the OpenAPI document.
	ID string
	// Role is what the caller must have.
	Role access.Role
}

// New makes the API.
func New(cfg Config) *API {
	a := &API{cfg: cfg.withDefaults(), mux: http.NewServeMux()}
	hc := huma.Config{OpenAPI: a.document(), Formats: formats(), DefaultFormat: "application/json", Transformers: []huma.Transformer{problems}}
	a.huma = humago.New(a.mux, hc)
	a.registerRuns()
	a.registerRunActs()
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

// formats are huma's, of which JSON is read strictly: what is not UTF-8 would be stored as something else. Views are written as they come.
func formats() map[string]huma.Format {
	out := maps.Clone(huma.DefaultFormats)
	for name, f := range out {
		read := f.Unmarshal
		f.Unmarshal = func(data []byte, v any) error {
			if !utf8.Valid(data) {
				return errors.New("not valid UTF-8")
			}
			return read(data, v)
		}
		out[name] = streamed(f)
	}
	return out
}

// Operations gives all operations by path and method. The slice is the caller's.
func (a *API) Operations() []Operation {
	out := slices.Clone(a.operations)
	slices.SortFunc(out, func(x, y Operation) int { return cmp.Or(cmp.Compare(x.Path, y.Path), cmp.Compare(x.Method, y.Method)) })
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
