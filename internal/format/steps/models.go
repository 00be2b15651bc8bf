package steps

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/format/source"
	"github.com/hocket-run/hocket/workflow"
)

var (
	modelKeys     = append([]string{"provider", "model", "base_url", "token_key"}, paramKeys...)
	idleModelKeys = []string{"routing", "type"}
	providerKeys  = append([]string{"provider", "api_type", "base_url", "token_key", "omit"}, paramKeys...)
	paramKeys     = []string{"temperature", "max_tokens", "top_p", "frequency_penalty", "presence_penalty",
		"provider_opts", "thinking_budget", "parallel_tool_calls", "track_usage"}
	protocols = []string{"openai", "anthropic", "google"}
)

// model is an entry of `models:`: the reference that agents receive, and its parameters.
type model struct {
	ref    string
	params workflow.ModelParams
	// own is the name of the provider that the model defines itself, or "" if it defines none; it
	// becomes a provider of the workflow when the model is used.
	own string
}

// use returns the entry that an agent names, or nil if there is none.
func (r *reader) use(name string) *model {
	m := r.models[name]
	if m != nil && m.own != "" {
		r.addProvider(m.own, r.modelProviders[m.own])
	}
	return m
}

// modelsSection reads `models:`. Providers are read first.
func (r *reader) modelsSection(f field) {
	for _, g := range r.fieldsOf(f) {
		if s, ok := stringOf(g.value); ok && s != "" {
			m := &model{}
			m.ref, m.params = r.reference(s)
			r.models[g.key] = m
			r.checkProvider(m.ref, g)
			continue
		}
		if g.value.Kind != source.Map {
			r.wrongType(g, "a map with provider and model")
			r.models[g.key] = &model{}
			continue
		}
		r.models[g.key] = r.model(g)
	}
}

func (r *reader) model(at field) *model {
	m := &model{}
	p := &m.params
	var provider, name, baseURL, key string
	for _, f := range r.fields(at.value) {
		switch f.key {
		case "provider":
			provider = r.text(f)
		case "model":
			name = r.text(f)
		case "base_url":
			baseURL = r.text(f)
		case "token_key":
			key = r.text(f)
		default:
			if r.param(p, f) {
				continue
			}
			if slices.Contains(idleModelKeys, f.key) {
				r.reportUnsupported(f, "model "+strconv.Quote(at.key))
				continue
			}
			r.unknown(f, diag.Warning, "model "+strconv.Quote(at.key), slices.Concat(modelKeys, idleModelKeys))
		}
	}
	inherit(p, r.defaults[provider])
	if alias := r.aliases[provider]; alias != "" {
		provider = alias
	}
	if baseURL != "" || key != "" {
		provider = r.ownProvider(at.key, provider, baseURL, key)
		m.own = provider
	}
	m.ref = name
	if provider != "" {
		m.ref = provider + "/" + name
		r.checkProvider(m.ref, at)
	}
	if provider != "" && name == "" {
		r.diags.Errorf(at.span, at.path, codeMissingKey, "model %q names a provider but no model", at.key)
		m.ref = ""
	}
	return m
}

// param reads a key of a model's parameters, and reports whether f is one.
func (r *reader) param(p *workflow.ModelParams, f field) bool {
	switch f.key {
	case "temperature":
		p.Temperature = r.floatRef(f)
	case "top_p":
		p.TopP = r.floatRef(f)
	case "frequency_penalty":
		p.FrequencyPenalty = r.floatRef(f)
	case "presence_penalty":
		p.PresencePenalty = r.floatRef(f)
	case "max_tokens":
		p.MaxTokens = r.countRef(f)
	case "thinking_budget":
		r.thinking(p, f)
	case "provider_opts":
		for _, g := range r.fieldsOf(f) {
			r.option(p, g.key, r.json(g))
		}
	case "parallel_tool_calls":
		r.option(p, f.key, r.json(f))
	case "track_usage": // usage is always recorded
	default:
		return false
	}
	return true
}

// inherit sets the parameters that p does not have to those of from.
func inherit(p *workflow.ModelParams, from workflow.ModelParams) {
	p.Temperature, p.TopP = cmp.Or(p.Temperature, from.Temperature), cmp.Or(p.TopP, from.TopP)
	p.FrequencyPenalty = cmp.Or(p.FrequencyPenalty, from.FrequencyPenalty)
	p.PresencePenalty = cmp.Or(p.PresencePenalty, from.PresencePenalty)
	p.MaxTokens = cmp.Or(p.MaxTokens, from.MaxTokens)
	if p.ThinkingBudget == nil && p.ReasoningEffort == "" {
		p.ThinkingBudget, p.ReasoningEffort = from.ThinkingBudget, from.ReasoningEffort
	}
	if len(from.Provider) > 0 {
		opts := maps.Clone(from.Provider)
		maps.Copy(opts, p.Provider)
		p.Provider = opts
	}
}

// reference returns the reference that a document's provider/model stands for, and the parameters
// that the provider has for its models.
func (r *reader) reference(ref string) (string, workflow.ModelParams) {
	provider, name, _ := strings.Cut(ref, "/")
	if alias := r.aliases[provider]; alias != "" {
		ref = alias + "/" + name
	}
	var p workflow.ModelParams
	if name != "" {
		inherit(&p, r.defaults[provider])
	}
	return ref, p
}

func (r *reader) option(p *workflow.ModelParams, key string, v json.RawMessage) {
	if p.Provider == nil {
		p.Provider = map[string]json.RawMessage{}
	}
	if v != nil {
		p.Provider[key] = v
	}
}

// thinking reads `thinking_budget:`: a level, or a number of tokens.
func (r *reader) thinking(p *workflow.ModelParams, f field) {
	n, whole := wholeNumber(f.value)
	switch {
	case whole && n >= -1:
		v := int64(n)
		p.ThinkingBudget = &v
	case whole:
		r.diags.Errorf(f.value.Span, f.path, codeBadValue,
			"%s is a number of tokens, 0 for none or -1 to let the model decide, got %d", f.path, n)
	default:
		p.ReasoningEffort = r.text(f)
	}
}

// ownProvider returns the name of a provider with the address or key that a model specifies itself.
// Models that specify the same values share one provider.
func (r *reader) ownProvider(entry, provider, baseURL, key string) string {
	p := workflow.Provider{Kind: "openai", BaseURL: baseURL, KeyEnv: key}
	if base, ok := r.w.Providers[provider]; ok {
		p.Kind = base.Kind
		if p.BaseURL == "" {
			p.BaseURL = base.BaseURL
		}
		if p.KeyEnv == "" {
			p.KeyEnv = base.KeyEnv
		}
		p.Omit = base.Omit
	} else if slices.Contains(protocols, provider) {
		p.Kind = provider
	}
	shared := fmt.Sprintf("%q", p)
	if name, ok := r.shares[shared]; ok {
		return name
	}
	clean := strings.ReplaceAll(entry, "/", "_")
	name := clean
	for n := 2; name == provider || r.hasProvider(name) || slices.Contains(namedProviders, name); n++ {
		name = clean + "_" + strconv.Itoa(n)
	}
	r.modelProviders[name], r.shares[shared] = p, name
	return name
}

// hasProvider reports whether the document defines a provider of this name, by itself or by a
// model.
func (r *reader) hasProvider(name string) bool {
	_, ok := r.w.Providers[name]
	_, own := r.modelProviders[name]
	return ok || own
}

// namedProviders are names that a provider defined by a single model never takes, so that other
// models can use them.
var namedProviders = []string{"openai", "anthropic", "google", "ollama"}

func (r *reader) addProvider(name string, p workflow.Provider) {
	if r.w.Providers == nil {
		r.w.Providers = map[string]workflow.Provider{}
	}
	r.w.Providers[name] = p
}

// providersSection reads `providers:`.
func (r *reader) providersSection(f field) {
	for _, g := range r.fieldsOf(f) {
		if g.value.Kind != source.Map {
			r.wrongType(g, "a map with a base_url")
			continue
		}
		p := workflow.Provider{Kind: "openai"}
		var params workflow.ModelParams
		var kind field
		for _, h := range r.fields(g.value) {
			switch h.key {
			case "provider":
				kind = h
			case "base_url":
				p.BaseURL = r.text(h)
			case "token_key":
				p.KeyEnv = r.text(h)
			case "omit":
				p.Omit = r.omit(h)
			case "api_type":
				switch word := r.text(h); word {
				case "", "openai_chatcompletions":
				case "openai_responses":
					r.diags.Warnf(h.value.Span, h.path, codeUnsupported,
						"provider %q: api_type openai_responses is not supported yet; Chat Completions is used", g.key)
				default:
					d := r.diags.Errorf(h.value.Span, h.path, codeBadValue, "provider %q: unknown api_type %q", g.key,
						word)
					d.Hint = diag.DidYouMean(word, []string{"openai_chatcompletions", "openai_responses"})
				}
			default:
				if !r.param(&params, h) {
					r.unknown(h, diag.Warning, "provider "+strconv.Quote(g.key), providerKeys)
				}
			}
		}
		if strings.Contains(g.key, "/") {
			r.diags.Errorf(g.span, g.path, codeBadValue, "the name of provider %q holds a slash", g.key)
		}
		r.defaults[g.key] = params
		if r.protocol(g, kind, &p) {
			r.addProvider(g.key, p)
		}
	}
}

// omit reads `omit:` of a provider: the parameters that it is never sent.
func (r *reader) omit(f field) []string {
	omit := r.texts(f)
	if i, problem, hint := workflow.CheckOmit(omit); i >= 0 {
		at := f.value
		if len(f.value.Items) == len(omit) {
			at = f.value.Items[i]
		}
		r.diags.Errorf(at.Span, at.Path(), codeBadValue, "%q %s", omit[i], problem).Hint = hint
		return nil
	}
	return omit
}

// protocol sets the protocol of the provider at, whose key `provider` is kind, and checks its
// address. It reports whether the provider is one of its own; otherwise its models are those of the
// provider that kind names.
func (r *reader) protocol(at, kind field, p *workflow.Provider) bool {
	word := ""
	if kind.value != nil {
		word = r.text(kind)
	}
	switch {
	case slices.Contains(protocols, word):
		p.Kind = word
		return true
	case word == "":
	case r.opts.Providers != nil && !slices.Contains(r.opts.Providers, word):
		// the protocol is unknown, so no address may be asked; a model that is used has no provider
		r.checkProvider(word+"/", kind)
		return false
	case p.BaseURL == "" && p.KeyEnv == "":
		r.aliases[at.key] = word
		return false
	}
	if p.BaseURL == "" {
		r.diags.Errorf(at.span, at.path, codeMissingKey, "provider %q needs a base_url", at.key)
	}
	return true
}

// useModel sets a's model to the one that f names: an entry of `models:`, otherwise a reference.
func (r *reader) useModel(a *workflow.Agent, f field) {
	ref := r.text(f)
	if m := r.use(ref); m != nil {
		a.Model, a.Params = m.ref, m.params
		return
	}
	if first, _, several := strings.Cut(ref, ","); several {
		first = strings.TrimSpace(first)
		r.diags.Warnf(f.value.Span, f.path, codeUnsupported,
			"changing between the models %q is not supported yet; %q is used", ref, first)
		ref = first
		if m := r.use(ref); m != nil {
			a.Model, a.Params = m.ref, m.params
			return
		}
	}
	if ref == "auto" { // any available model, which is what an unset model means
		return
	}
	a.Model, a.Params = r.reference(ref)
	r.checkProvider(a.Model, f)
}

func (r *reader) fallbackModel(name string, e field) string {
	m := r.use(name)
	if m == nil {
		m = &model{}
		m.ref, m.params = r.reference(name)
	}
	if !isZero(m.params) {
		r.diags.Warnf(e.value.Span, e.path, codeUnsupported,
			"the parameters of model %q as a fallback are not supported yet", name).Hint =
			"those of the agent's own model are used"
	}
	return m.ref
}

func isZero(p workflow.ModelParams) bool {
	b, err := json.Marshal(p)
	return err == nil && string(b) == "{}"
}

// checkProvider warns about a provider that the program does not know.
func (r *reader) checkProvider(ref string, f field) {
	provider, _, found := strings.Cut(ref, "/")
	if !found || r.opts.Providers == nil || slices.Contains(r.opts.Providers, provider) {
		return
	}
	if r.hasProvider(provider) || r.warnedProviders[provider] {
		return
	}
	r.warnedProviders[provider] = true
	d := r.diags.Warnf(f.value.Span, f.path, codeUnsupported, "the model provider %q is not supported yet", provider)
	if d.Hint = diag.DidYouMean(provider, r.opts.Providers); d.Hint == "" {
		d.Advise(diag.DefineProvider)
	}
}
