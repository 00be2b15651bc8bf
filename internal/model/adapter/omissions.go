package adapter

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/hocket-run/hocket/internal/model"
)

// Omissions are the parameters that a server refused, by model: they are left out of later calls.
// The zero value knows none. It is safe for concurrent use.
type Omissions struct {
	// Always are the parameters that the adapter adds to every request.
	Always []string

	mu      sync.Mutex
	refused map[string][]string
}

// Call makes a call without the parameters of req.Omit and those that the server has refused. If it
// refuses another one before it answers, the call is made again without that one, at most once for
// each. The reply to the first call that succeeds without a parameter has a warning.
func (o *Omissions) Call(ctx context.Context, req model.Request, onDelta func(model.Delta),
	call func(context.Context, model.Request, func(model.Delta)) (model.Reply, error)) (model.Reply, error) {
	o.mu.Lock()
	req.Omit = slices.Concat(req.Omit, o.refused[req.Model])
	o.mu.Unlock()
	var found, reasons []string
	for {
		watched, started := watch(onDelta)
		reply, err := call(ctx, without(req), watched)
		failed := refusal(err, *started)
		name := o.refusedIn(req, failed)
		if name == "" {
			if err == nil && o.add(req.Model, found) {
				reply.Warning = fmt.Sprintf("the server refused %s, which is left out of calls to this model; "+
					"list it under omit of the provider to save the refused call: %s", strings.Join(found, ", "),
					strings.Join(reasons, "; "))
			}
			return reply, err
		}
		req.Omit, found = append(slices.Clip(req.Omit), name), append(found, name)
		if reason := failed.Message; !slices.Contains(reasons, reason) {
			reasons = append(reasons, reason)
		}
		if req.IdempotencyKey != "" { // the refusal may be stored under the former key
			req.IdempotencyKey += "/without/" + name
		}
	}
}

// add remembers that a model's server refused parameters. It reports whether one of them is new.
func (o *Omissions) add(name string, found []string) (isNew bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, f := range found {
		if slices.Contains(o.refused[name], f) {
			continue
		}
		if isNew = true; o.refused == nil {
			o.refused = map[string][]string{}
		}
		o.refused[name] = append(slices.Clip(o.refused[name]), f)
	}
	return isNew
}

// watch returns a function that calls onDelta, which may be nil, and a variable that is true once
// the function was called with content.
func watch(onDelta func(model.Delta)) (watched func(model.Delta), started *bool) {
	started = new(bool)
	return func(d model.Delta) {
		if !d.IsEmpty() {
			*started = true
		}
		if onDelta != nil {
			onDelta(d)
		}
	}, started
}

// refusal returns the error of a request that the server refused before it answered, or nil. A call
// that sent content, or that counts, is not made again.
func refusal(err error, started bool) *model.Error {
	if failed, ok := errors.AsType[*model.Error](err); ok && !started && failed.Usage == nil {
		return failed
	}
	return nil
}

// words matches a word of any of the forms.
func words(forms ...string) *regexp.Regexp {
	return regexp.MustCompile(`(?:^|[^a-z0-9_-])(?:` + strings.Join(forms, "|") + `)(?:$|[^a-z0-9_-])`)
}

// parameters are the ways in which servers name a parameter, in lower case.
var parameters = map[string]*regexp.Regexp{
	"frequency_penalty":     words(`frequency_?penalty`, `penalty`),
	"max_completion_tokens": words(`max_completion_tokens`),
	"max_tokens":            words(`max_tokens`),
	"parallel_tool_calls":   words(`parallel_tool_calls`, `parallel tool calls?`),
	"presence_penalty":      words(`presence_?penalty`, `penalty`),
	"reasoning_effort": words(`reasoning[_ .]?effort`, `effort`, `output_config(?:\.effort|:)`,
		`thinking[_ ]?level`, `support thinking`),
	"response_format": words(`response[_ ]format(?:\.[a-z_.]+)?`, `json_schema`, `structured outputs?`, `json mode`,
		`output_config(?:\.format[a-z_.]*|:)`, `output[_ ]format`, `response_?json_?schema`, `response_?schema`,
		`response[_ ]?mime[_ ]?type`),
	"stop": words("[`'\"(]stop[`'\")]", `stop[_ ]?sequences?`, `stop(?::| is| parameter| argument| field)`,
		`(?:model|parameter|argument|supplied|field|name):? stop`),
	"stream": words("[`'\"(]stream[`'\")]", `to stream this model`, `support streaming`,
		`streaming(?: is| are| mode is| responses are| not)`),
	"stream_options":  words(`stream[_ ]options(?:\.[a-z_]+)?`, `include_usage`),
	"temperature":     words(`temperature`),
	"thinking_budget": words(`thinking[_ ]?budget`, `thinking(?:\.[a-z_.]+)?`, `thinking_?config`),
	"top_p":           words(`top[_-]?p`),
}

// Words of servers in a clause about a parameter, in lower case.
var (
	// refuses matches what servers say of a parameter that they do not accept at all, or not with
	// this value.
	refuses = regexp.MustCompile(`not (?:yet |currently )?(?:supported|implemented|permitted|allowed|available|` +
		`enabled|accepted|compatible)|unsupported|incompatible|unavailable|deprecated|no longer supported|` +
		`(?:does|do)(?: not|n't) (?:currently |yet )?(?:support|accept)|isn't supported|` +
		`only [^.;:]{1,40} (?:is|are) (?:allowed|supported)|may only be set|` +
		`cannot (?:both )?be (?:combined|specified|used)|must be verified|` + unknown.String())
	// unknown matches what they say of a parameter that they do not know.
	unknown = regexp.MustCompile(`unsupported parameter|unrecogni[sz]ed|extra (?:inputs|fields|parameters)|` +
		`unknown (?:parameter|field|name|argument|key|property)|` +
		`unexpected (?:keyword|parameter|field|argument|property)`)
	// choices matches what they say behind the name of a parameter of which they know other values.
	choices = regexp.MustCompile(`must be one of|input should be '`)
	// bounds matches what they say of a value out of its range, which is no refusal.
	bounds = regexp.MustCompile(`(?:greater|larger|higher|lower|less|smaller|more|fewer|longer|shorter) than|` +
		`at (?:most|least)|up to|exceed|maximum|minimum|too (?:large|small|high|low|big|long|many)|out of range|` +
		`between|above|below|_tokens\W{1,3}(?:of )?\d`)

	clauseEnd = regexp.MustCompile(`[;.!?]\s+|\n`)
	// paramEnd matches the name that ErrorObject adds to a message.
	paramEnd = regexp.MustCompile(` \([a-z0-9_.[\]]+\)$`)
)

// refusedIn returns the parameter of a request that the server refused, or "" if the call did not
// fail so. The refusal and the name must be in one clause. A schema that is wrong is not a
// parameter that is refused.
func (o *Omissions) refusedIn(req model.Request, failed *model.Error) string {
	if failed == nil || failed.Kind != model.KindInvalidRequest &&
		failed.Status != http.StatusInternalServerError && failed.Status != http.StatusNotImplemented {
		return ""
	}
	text := strings.ToLower(failed.Message)
	if strings.Contains(text, "invalid schema") {
		return ""
	}
	param := paramEnd.FindString(text)
	for _, clause := range clauseEnd.Split(strings.TrimSuffix(text, param), -1) {
		if name := o.refusedBy(req, clause+param, text); name != "" {
			return name
		}
	}
	return ""
}

// refusedBy is refusedIn for one clause of a text.
func (o *Omissions) refusedBy(req model.Request, clause, text string) string {
	if bounds.MatchString(clause) {
		return ""
	}
	end := len(clause) // of the part in which the name must begin
	if !refuses.MatchString(clause) {
		at := choices.FindStringIndex(clause)
		if at == nil {
			return ""
		}
		end = at[0]
	}
	name := ""
	for _, p := range slices.Sorted(maps.Keys(parameters)) {
		at := parameters[p].FindStringIndex(clause)
		if at == nil || at[0] >= end || !o.has(req, p) {
			continue
		}
		// A limit that is sent under a name that the server ignores is none.
		other := map[string]string{"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}[p]
		if other != "" && (bounds.MatchString(text) ||
			!unknown.MatchString(clause) && !parameters[other].MatchString(text)) {
			continue
		}
		end, name = at[0], p
	}
	return name
}

// has reports whether a request has a parameter that can be left out of it.
func (o *Omissions) has(req model.Request, name string) bool {
	if slices.Contains(req.Omit, name) {
		return false
	}
	for path := range req.Params.ProviderOptions {
		if option(path) == name {
			return true
		}
	}
	p := req.Params
	switch name {
	case "frequency_penalty":
		return p.FrequencyPenalty != nil
	case "max_completion_tokens":
		return p.MaxTokens != nil && !slices.Contains(req.Omit, "max_tokens")
	case "max_tokens":
		return p.MaxTokens != nil && !slices.Contains(req.Omit, "max_completion_tokens")
	case "presence_penalty":
		return p.PresencePenalty != nil
	case "reasoning_effort":
		return p.ReasoningEffort != ""
	case "response_format":
		return req.Schema != nil
	case "stop":
		return len(p.Stop) > 0
	case "temperature":
		return p.Temperature != nil
	case "thinking_budget":
		return p.ThinkingBudget != nil
	case "top_p":
		return p.TopP != nil
	}
	return slices.Contains(o.Always, name)
}

// option returns the top-level name of a path of Params.ProviderOptions.
func option(path string) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(path, ":"), ".")
	return name
}

// without returns a request without the parameters of its Omit. Those that only an adapter knows
// are left to it. Without response_format, the schema is part of the system prompt.
func without(req model.Request) model.Request {
	p := &req.Params
	if len(req.Omit) > 0 && len(p.ProviderOptions) > 0 {
		p.ProviderOptions = maps.Clone(p.ProviderOptions)
		for path := range p.ProviderOptions {
			if slices.Contains(req.Omit, option(path)) {
				delete(p.ProviderOptions, path)
			}
		}
	}
	for _, name := range req.Omit {
		switch name {
		case "frequency_penalty":
			p.FrequencyPenalty = nil
		case "presence_penalty":
			p.PresencePenalty = nil
		case "reasoning_effort":
			p.ReasoningEffort = ""
		case "response_format":
			if req.Schema != nil {
				req.System = strings.TrimPrefix(req.System+"\n\n"+schemaPrompt+string(req.Schema.JSON), "\n\n")
				req.Schema = nil
			}
		case "stop":
			p.Stop = nil
		case "temperature":
			p.Temperature = nil
		case "thinking_budget":
			p.ThinkingBudget = nil
		case "top_p":
			p.TopP = nil
		}
	}
	return req
}

// schemaPrompt precedes the schema of a reply in a system prompt.
const schemaPrompt = "When you give your final answer, reply with one JSON value that matches this JSON Schema, and " +
	"with nothing else: no explanation and no Markdown.\n"
