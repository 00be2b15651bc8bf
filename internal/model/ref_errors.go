package model

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/hocket-run/hocket/diag"
)

// Values of RefError.Reason.
var (
	ErrNoModel         = errors.New("no model")
	ErrAmbiguousRef    = errors.New("ambiguous provider")
	ErrUnknownProvider = errors.New("unknown provider")
	ErrMissingKey      = errors.New("missing key")
	ErrBadProvider     = errors.New("unusable provider")
	ErrUntrusted       = errors.New("not trusted")
)

// RefError explains why calls to a reference have no destination. Its message is complete and meant
// for people: a line with the problem, one with the hint, one with the providers that were found.
type RefError struct {
	// Ref is the reference as written; Provider is empty if it cannot be determined.
	Ref, Provider string
	// Reason is one of the errors above, or ErrBadRef.
	Reason  error
	Message string
}

// Error returns the message.
func (e *RefError) Error() string { return e.Message }

// Unwrap returns the reason.
func (e *RefError) Unwrap() error { return e.Reason }

// Finding is what `hocket doctor` shows for one provider.
type Finding struct {
	Provider string `json:"provider"`
	// KeyEnv names the environment variable that holds the key, or those that may; it is empty if
	// no key is needed.
	KeyEnv string `json:"keyEnv,omitempty"`
	KeySet bool   `json:"keySet"`
	// BaseURL is without user, password and query.
	BaseURL string `json:"baseURL"`
	// Usable reports whether calls have a destination; Problem is the reason if not.
	Usable  bool   `json:"usable"`
	Problem string `json:"problem,omitempty"`
	// Configured reports whether the environment or a definition mentions the provider, whether
	// Usable or not.
	Configured bool `json:"configured"`
}

// Found lists OpenAI, Anthropic, Google and Ollama, then the other known providers whose key is
// set, then the defined ones by name.
func (r *Registry) Found() []Finding {
	var out []Finding
	for _, p := range builtins() {
		if _, redefined := r.cfg.Providers[p.name]; redefined {
			continue
		}
		key, keyName := p.key(r.cfg.Env)
		if keyName == "" {
			keyName = strings.Join(p.keyEnv, " or ")
		}
		base, fromEnv, err := p.base(r.cfg.Env)
		f := Finding{Provider: p.name, KeyEnv: keyName, KeySet: key != "", BaseURL: shownURL(base),
			Configured: fromEnv || key != ""}
		if err != nil {
			f.Problem = err.Error()
		} else if _, err := r.endpoint(p.name+"/", p.name); err == nil {
			f.Usable = true
		} else {
			f.Problem = "set " + keyName
		}
		if p.baseEnv != "" || f.KeySet {
			out = append(out, f)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.cfg.Providers)) {
		def := r.cfg.Providers[name]
		e, err := r.endpoint(name+"/", name)
		f := Finding{Provider: name, KeyEnv: def.KeyEnv, KeySet: e.Key != "", BaseURL: shownURL(e.BaseURL),
			Usable: err == nil, Configured: true}
		if def.Key != "" {
			f.KeyEnv = def.Key
		} else if def.KeyEnv != "" {
			f.KeySet = strings.TrimSpace(r.cfg.Env(def.KeyEnv)) != ""
		}
		if err != nil {
			f.BaseURL = shownURL(def.BaseURL)
			f.Problem = err.Error()
		}
		out = append(out, f)
	}
	return out
}

// problem returns a RefError without the hint, which depends on Found; Found itself needs no hint.
func problem(ref, provider string, reason error, text string) *RefError {
	return &RefError{Ref: ref, Provider: provider, Reason: reason, Message: text}
}

func missingKey(ref, provider, keyEnv string) *RefError {
	return problem(ref, provider, ErrMissingKey, fmt.Sprintf("provider %s needs a key and %s is not set", provider,
		keyEnv))
}

func (r *Registry) unknown(ref, name string) *RefError {
	var names []string
	for _, p := range builtins() {
		names = append(names, p.name)
	}
	names = slices.AppendSeq(names, maps.Keys(r.cfg.Providers))
	names = slices.AppendSeq(names, maps.Keys(r.cfg.Clients))
	slices.Sort(names)
	text := fmt.Sprintf("unknown provider %q", name)
	if hint := diag.DidYouMean(name, names); hint != "" {
		text += ", " + hint
	}
	text += " (known: " + strings.Join(slices.Compact(names), ", ") + ")"
	if r.hasOpenAIServer() {
		text += "; a model of the server at OPENAI_BASE_URL is openai/" + ref
	}
	return problem(ref, name, ErrUnknownProvider, text)
}

// withHints completes the message of a RefError for people: which model, what is wrong, what can be
// done, what was found (S0-17).
func (r *Registry) withHints(err error) error {
	var p *RefError
	if !errors.As(err, &p) {
		return err
	}
	text, choose := p.Message, "choose a model with --model PROVIDER/MODEL or HOCKET_MODEL"
	if p.Ref != "" {
		choose = "choose another model with --model PROVIDER/MODEL"
		if !strings.Contains(text, strconv.Quote(p.Ref)) {
			text = fmt.Sprintf("model %q: %s", p.Ref, text)
		}
	}
	hints := []string{choose, "answer the calls from a reply script with --replies FILE"}
	if r.cfg.Hints != nil {
		hints = slices.Clone(r.cfg.Hints)
	}
	if !r.hasOpenAIServer() {
		hints = append(hints, "point OPENAI_BASE_URL at an OpenAI-compatible server")
	}
	last := len(hints) - 1
	text += "\nhint: " + strings.Join(hints[:last], ", ") + ", or " + hints[last]
	usable := slices.Sorted(maps.Keys(r.cfg.Clients))
	for _, f := range r.Found() {
		if f.Usable && f.Configured && r.cfg.Clients[f.Provider] == nil {
			usable = append(usable, f.Provider)
		}
	}
	if len(usable) == 0 {
		usable = []string{"none"}
	}
	text += "\nproviders found: " + strings.Join(usable, ", ")
	return &RefError{Ref: p.Ref, Provider: p.Provider, Reason: p.Reason, Message: text}
}
