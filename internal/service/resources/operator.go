package resources

import (
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/config"
	"github.com/hocket-run/hocket/internal/errcode"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/outbound"
	"github.com/hocket-run/hocket/internal/secret"
	"github.com/hocket-run/hocket/internal/service/failure"
	"github.com/hocket-run/hocket/internal/tool"
)

// operatorProviders adds the operator's providers to those of a document, over which they take
// precedence.
func operatorProviders(c *config.Config, into map[string]model.ProviderDef) {
	for name, p := range c.Providers {
		into[name] = model.ProviderDef{Protocol: model.Protocol(p.Protocol), BaseURL: p.BaseURL, Key: p.Key,
			Omit: p.Omit, Trusted: true, Operator: true}
	}
}

func operatorModels(c *config.Config) map[string]model.Def {
	out := map[string]model.Def{}
	for name, m := range c.Models {
		out[name] = model.Def{Provider: m.Provider, Model: m.Model, Trusted: true, Params: model.Params{
			Temperature: m.Params.Temperature, TopP: m.Params.TopP, MaxTokens: m.Params.MaxTokens,
			ReasoningEffort: m.Params.ReasoningEffort,
			ThinkingBudget:  m.Params.ThinkingBudget, ProviderOptions: m.Params.ProviderOptions,
		}}
	}
	return out
}

// operatorSpec completes a document's toolset that refers to one of the operator's servers, which
// needs no further trust (SEC5). The document may set the name of the toolset and select its tools,
// but not change what is started, sent or offered; ok is false if the toolset refers to no server.
func operatorSpec(c *config.Config, s tool.Spec) (def tool.Spec, ok bool, err error) {
	if s.Ref == "" || s.Type != tool.TypeMCP || s.Command != "" || s.Remote != nil {
		return tool.Spec{}, false, nil
	}
	if def, ok = c.MCPs[s.Ref]; !ok {
		return tool.Spec{}, false, nil
	}
	if len(s.Args) > 0 || len(s.Env) > 0 || s.Dir != "" || s.Policy != "" {
		return tool.Spec{}, false,
			failure.Refuse(errcode.ServerFixed, errcode.Fields{"server": s.Ref, "file": config.Name}, nil)
	}
	def.Span, def.Name = s.Span, s.Name
	if s.Name == "" {
		def.Name = s.Ref
	}
	if len(s.Tools) > 0 {
		for _, name := range s.Tools {
			if len(def.Tools) > 0 && !slices.Contains(def.Tools, name) {
				return tool.Spec{}, false, failure.Refuse(errcode.ToolNotOffered,
					errcode.Fields{"server": s.Ref, "file": config.Name, "tool": name}, nil)
			}
		}
		def.Tools = s.Tools
	}
	if s.Instruction != "" {
		def.Instruction = s.Instruction
	}
	if s.Timeout > 0 && (def.Timeout == 0 || s.Timeout < def.Timeout) {
		def.Timeout = s.Timeout
	}
	def.Shared = def.Shared || s.Shared
	return def, true, nil
}

// CheckRef returns an error before the first call if a toolset refers to a server that is not
// defined, or changes one of the operator's (D25).
func CheckRef(c *config.Config, s tool.Spec) error {
	_, ok, err := operatorSpec(c, s)
	if err == nil && !ok && s.Type == tool.TypeMCP && s.Ref != "" && s.Command == "" && s.Remote == nil &&
		!strings.HasPrefix(s.Ref, "docker:") {
		meant := diag.DidYouMean(s.Ref, slices.Sorted(maps.Keys(c.MCPs)))
		return failure.Refuse(errcode.ServerNotFound, errcode.Fields{"toolset": s.Title(), "file": config.Name,
			"server": s.Ref, "meant": meant}, nil)
	}
	return err
}

// CheckNames rejects a toolset that a document defines under the name of one of the operator's:
// permissions go by names, and what the operator allows for a server of their own is not meant for
// another one with the same name (SEC12, SEC14).
func CheckNames(c *config.Config, s tool.Spec) error {
	if _, ok, err := operatorSpec(c, s); ok || err != nil {
		return err
	}
	_, taken := c.MCPs[s.Name]
	if taken = taken || slices.ContainsFunc(c.Toolsets, func(o tool.Spec) bool {
		return o.Name == s.Name
	}); s.Name == "" || !taken {
		return nil
	}
	return failure.Refuse(errcode.ToolsetNameTaken, errcode.Fields{"toolset": s.Name, "file": config.Name}, nil)
}

// operatorSpecs completes the toolsets in grants that refer to the operator's servers.
func operatorSpecs(c *config.Config, agents map[string]tool.Grant) error {
	for id, g := range agents {
		for i, s := range g.Toolsets {
			def, ok, err := operatorSpec(c, s)
			if err != nil {
				return err
			}
			if ok {
				g.Toolsets[i] = def
			} else if err := CheckNames(c, s); err != nil {
				return err
			}
		}
		agents[id] = g
	}
	return nil
}

// client returns an HTTP client that may connect to the public internet, if the operator allows it,
// and to the addresses in allow. Its requests carry their trace context.
func (op *Opener) client(allow ...string) *http.Client {
	return outbound.New(outbound.Config{Allow: slices.Concat(allow, op.cfg.Operator.Outbound.Allow), Trace: true,
		Logger: op.cfg.Logger})
}

// extraToolsets returns the operator's toolsets, and those of the operator's servers that some
// agent lists by name, alone or as the prefix of a tool.
func extraToolsets(c *config.Config, agents map[string]tool.Grant) []tool.Spec {
	out := slices.Clone(c.Toolsets)
	for _, name := range slices.Sorted(maps.Keys(c.MCPs)) {
		listed := func(g tool.Grant) bool {
			return slices.ContainsFunc(g.Names, func(n string) bool {
				return n == name || strings.HasPrefix(n, name+"_")
			})
		}
		if slices.ContainsFunc(slices.Collect(maps.Values(agents)), listed) {
			s := c.MCPs[name]
			s.Name = name
			out = append(out, s)
		}
	}
	return out
}

// secretOf returns the resolver for references in trusted definitions.
func (op *Opener) secretOf() secret.Resolver {
	return secret.Resolver{Env: op.cfg.Env, Keeper: op.cfg.Keeper}
}

// fileReference matches a file secret in the text of a toolset.
var fileReference = regexp.MustCompile(`\$\{\s*file:[^}]+\}`)

// checkFiles returns why a file that a trusted toolset refers to cannot be read; opening would only
// report that it has no value.
func (op *Opener) checkFiles(s tool.Spec) error {
	texts := slices.Collect(maps.Values(s.Env))
	if s.Remote != nil {
		texts = append(texts, s.Remote.URL)
		texts = slices.AppendSeq(texts, maps.Values(s.Remote.Headers))
	}
	slices.Sort(texts)
	for _, text := range texts {
		for _, ref := range fileReference.FindAllString(text, -1) {
			if _, err := op.secretOf().Value(ref); err != nil {
				return tool.Errorf(tool.KindFailed, s.Title(), "toolset %q: %w", s.Title(), err)
			}
		}
	}
	return nil
}

// lookup returns the value of a reference in a trusted toolset.
func (op *Opener) lookup(name string) (string, bool) {
	v, err := op.secretOf().Value("${" + name + "}")
	return v, err == nil
}
