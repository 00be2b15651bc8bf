package tool

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/tool/kinds"
)

// maxTimeout is the largest timeout that a document may ask for, since no call may run forever
// (P11).
const maxTimeout = 24 * time.Hour

// Place specifies the location of a YAML node: the file, and the path of the node in the document.
type Place struct {
	File string
	Path string
}

// ParseToolsFile parses the file of --tools: a `toolsets:` list and, optionally, `mcps:`,
// definitions that a toolset's `ref` may name. The file is YAML or JSON. ParseToolsFile returns
// what it could parse even if the list holds errors.
func ParseToolsFile(file string, data []byte) ([]Spec, diag.List) {
	var list diag.List
	var doc yaml.Node
	if err := yaml.Load(joinSurrogates(data), &doc); err != nil {
		addLoadError(&list, file, err)
		return nil, list
	}
	p := parser{file: file, list: &list}
	var specs []Spec
	var mcps map[string]Spec
	seen := false
	for _, e := range p.entries(&doc, "") {
		switch e.key {
		case "toolsets":
			seen = true
			specs = p.specs(e.value, e.path)
		case "mcps":
			mcps = ParseMCPs(e.value, Place{File: file, Path: e.path}, &list)
		case "$schema": // for editors
		default:
			list.Errorf(p.span(e.node), e.path, "unknown-key", "unknown key %q in a tools file", e.key).UnknownKey(
				e.key, []string{"toolsets", "mcps"})
		}
	}
	if !seen {
		list.Errorf(p.span(&doc), "", "missing-key", "a tools file needs a list `toolsets`")
	}
	ResolveRefs(specs, mcps, Place{File: file}, &list)
	p.checkNames(specs)
	return specs, list
}

// ResolveRefs completes, in place, the specs whose Ref names a definition in `mcps:`. A Ref without
// a definition is an error.
func ResolveRefs(specs []Spec, mcps map[string]Spec, at Place, list *diag.List) {
	var names []string
	for i, s := range specs {
		_, ok := mcps[s.Ref]
		switch {
		case s.Ref == "" || s.Type != TypeMCP:
		case ok:
			specs[i] = s.Resolve(mcps)
		case !strings.HasPrefix(s.Ref, "docker:"):
			d := list.Errorf(s.Span, at.Path, "unknown-ref", "ref %q is not defined in mcps", s.Ref)
			if names == nil {
				names = slices.Sorted(maps.Keys(mcps))
			}
			d.Hint = diag.DidYouMean(s.Ref, names)
		}
	}
}

// ParseSpecs parses the list of a `toolsets:` key. It appends problems to list and leaves out
// entries that cannot be parsed.
func ParseSpecs(n *yaml.Node, at Place, list *diag.List) []Spec {
	p := parser{file: at.File, list: list}
	specs := p.specs(n, at.Path)
	p.checkNames(specs)
	return specs
}

// ParseSpec parses one entry of a `toolsets:` list; false means that the entry is not a toolset at
// all.
func ParseSpec(n *yaml.Node, at Place, list *diag.List) (Spec, bool) {
	p := parser{file: at.File, list: list}
	return p.spec(n, at.Path, "")
}

// ParseMCPs parses the map of an `mcps:` key, which holds definitions by name, for [Spec.Resolve].
func ParseMCPs(n *yaml.Node, at Place, list *diag.List) map[string]Spec {
	p := parser{file: at.File, list: list}
	out := map[string]Spec{}
	for _, e := range p.entries(n, at.Path) {
		if e.key == "" {
			p.list.Errorf(p.span(e.value), e.path, "bad-value", "an MCP server has an empty name")
		}
		if s, ok := p.spec(e.value, e.path, TypeMCP); ok {
			out[e.key] = s
		}
	}
	return out
}

// checks holds the functions that check the entries of a type beyond the names of their keys. A
// type without one needs no further checks here. checkMCP and checkWeb need more than the entries.
var checks = map[string]func(p *parser, entries []entry){
	TypeFilesystem: (*parser).checkFilesystem, TypeMemory: (*parser).checkMemory, TypeShell: (*parser).checkShell,
	TypeScript: (*parser).checkScript,
}

// commonKeys are the keys of toolsets of every type; mcpKeys are those of type mcp only.
var (
	commonKeys = []string{"type", "name", "tools", "instruction", "timeout", "shared", "required", "readonly",
		"policy", "toon", "model", "defer"}
	mcpKeys = []string{"command", "args", "env", "working_dir", "cwd", "remote", "ref", "config", "version",
		"idle_timeout", "connect_timeout", "lifecycle"}
)

func (p *parser) specs(n *yaml.Node, path string) []Spec {
	n = follow(n)
	if n == nil || isNull(n) {
		return nil
	}
	if n.Kind != yaml.SequenceNode {
		p.list.Errorf(p.span(n), path, "wrong-type", "toolsets must be a list, got %s", nodeKind(n))
		return nil
	}
	var out []Spec
	for i, item := range n.Content {
		if s, ok := p.spec(item, fmt.Sprintf("%s[%d]", path, i), ""); ok {
			out = append(out, s)
		}
	}
	return out
}

func (p *parser) checkNames(specs []Spec) {
	first := map[string]Spec{}
	for _, s := range specs {
		if s.Name == "" {
			continue
		}
		if f, ok := first[s.Name]; ok {
			d := p.list.Errorf(s.Span, "", "duplicate-name", "duplicate toolset %q", s.Name)
			d.Related = []diag.Related{{Span: f.Span, Message: "the first one"}}
			continue
		}
		first[s.Name] = s
	}
}

// spec parses one entry; implied is the type of entries that may omit it.
func (p *parser) spec(n *yaml.Node, path, implied string) (Spec, bool) {
	n = follow(n)
	if n == nil || n.Kind != yaml.MappingNode {
		p.list.Errorf(p.span(n), path, "wrong-type", "a toolset must be a map, got %s", nodeKind(n))
		return Spec{}, false
	}
	s := Spec{Type: implied, Span: p.span(n)}
	entries := p.entries(n, path)
	for _, e := range entries {
		if e.key == "type" {
			s.Type = p.text(e)
		}
	}
	if s.Type == "" {
		d := p.list.Errorf(p.span(n), path, "missing-key", "a toolset needs a type")
		d.Hint = "for example `type: mcp`"
		return Spec{}, false
	}
	info, known := kinds.Of(s.Type)
	supported := known && !info.Unsupported
	if !supported {
		d := p.list.Warnf(p.span(n), join(path, "type"), "unsupported-toolset",
			"toolsets of type %q are not supported yet", s.Type)
		d.Hint = "agents that list it run without its tools"
		if !known {
			if d.UnknownKey(s.Type, slices.Sorted(slices.Values(kinds.Names(kinds.All())))); d.Hint == "" {
				d.Hint = "agents that list it run without its tools"
			}
		}
	}
	options, before := map[string]any{}, len(*p.list)
	for _, e := range entries {
		p.key(&s, e, info.Keys, supported, options)
	}
	for _, e := range entries { // whatever lifecycle says
		if e.key == "required" && supported && !isNull(e.value) {
			s.Optional = !p.flag(e)
		}
	}
	s.Options = marshalOptions(options)
	if s.Type == TypeMCP {
		p.checkMCP(&s, n, path, entries)
	}
	if check, ok := checks[s.Type]; ok {
		check(p, entries)
	}
	p.checkWeb(&s, n, path, entries)
	if info.Check != nil && !(*p.list)[before:].HasErrors() {
		p.problems(info.Check(options), n, path, entries)
	}
	return s, true
}

// problems reports the problems that a type found in its options, each at its option.
func (p *parser) problems(found []kinds.Problem, n *yaml.Node, path string, entries []entry) {
	for _, f := range found {
		node, at := n, path
		for _, e := range entries {
			if e.key == f.Key {
				node, at = e.value, e.path
			}
		}
		p.list.Errorf(p.span(node), at, "bad-value", "%s", f.Message).Hint = f.Hint
	}
}

// key parses one key of an entry; own are the keys of its type. Keys of unsupported types are kept
// as they are, whatever they mean.
func (p *parser) key(s *Spec, e entry, own []string, supported bool, options map[string]any) {
	mcp := s.Type == TypeMCP
	switch {
	case e.key == "type":
	case e.key == "name":
		s.Name = p.text(e)
	case e.key == "tools":
		s.Tools = p.texts(e)
	case e.key == "instruction":
		s.Instruction = p.text(e)
	case e.key == "shared":
		s.Shared = p.flag(e)
	case e.key == "required" && supported: // see spec
	case e.key == "readonly" && supported:
		s.ReadOnly = p.flag(e)
	case e.key == "timeout" && supported:
		s.Timeout = p.duration(e)
	case e.key == "policy" && supported:
		s.Policy = Policy(p.text(e))
		if !s.Policy.Valid() {
			p.list.Errorf(p.span(e.value), e.path, "bad-value", "policy must be retry, ask, skip or fail, got %q",
				s.Policy)
			s.Policy = ""
		}
	case mcp && p.mcpKey(s, e):
	case slices.Contains(own, e.key):
		options[e.key] = p.any(e.value)
	case supported && slices.Contains([]string{"toon", "model", "defer", "config", "version"}, e.key):
		p.list.Warnf(p.span(e.node), e.path, "no-effect", "%q has no effect on a toolset of type %s", e.key, s.Type)
	case supported:
		keys := slices.Concat(commonKeys, own)
		if mcp {
			keys = append(keys, mcpKeys...)
		}
		p.list.Errorf(p.span(e.node), e.path, "unknown-key", "unknown key %q in a toolset of type %s", e.key,
			s.Type).UnknownKey(e.key, keys)
	default:
		options[e.key] = p.any(e.value)
	}
}

// mcpKey parses one key that only MCP servers have, and reports whether e is one.
func (p *parser) mcpKey(s *Spec, e entry) bool {
	switch e.key {
	case "command":
		s.Command = p.text(e)
	case "args":
		s.Args = p.texts(e)
	case "env":
		s.Env = p.textMap(e)
		for name := range s.Env {
			if name == "" || strings.ContainsAny(name, "=\x00") {
				p.list.Errorf(p.span(e.value), e.path, "bad-value", "invalid variable name %q", name)
			}
		}
	case "working_dir", "cwd":
		s.Dir = p.text(e)
	case "remote":
		s.Remote = p.remote(e)
	case "ref":
		s.Ref = p.text(e)
	case "idle_timeout":
		s.IdleTimeout = p.duration(e)
	case "connect_timeout":
		s.ConnectTimeout = p.duration(e)
	case "lifecycle":
		p.lifecycle(s, e)
	default:
		return false
	}
	return true
}

// lifecycle parses docker-agent's supervision of a server: the two timeouts and required are those
// of Hocket, and a broken connection is made again whatever the rest says.
func (p *parser) lifecycle(s *Spec, e entry) {
	if e.value.Kind != yaml.MappingNode {
		p.list.Errorf(p.span(e.value), e.path, "wrong-type", "lifecycle must be a map, got %s", nodeKind(e.value))
		return
	}
	idle := []string{"restart", "max_restarts", "backoff"}
	profile, required := "", (*entry)(nil)
	for _, k := range p.entries(e.value, e.path) {
		switch {
		case k.key == "startup_timeout" && p.text(k) != "0":
			s.ConnectTimeout = cmp.Or(s.ConnectTimeout, p.duration(k))
		case k.key == "call_timeout" && p.text(k) != "0":
			s.Timeout = cmp.Or(s.Timeout, p.duration(k))
		case k.key == "startup_timeout", k.key == "call_timeout":
		case k.key == "profile":
			profile = p.text(k)
			if !slices.Contains([]string{"", "resilient", "strict", "best-effort"}, profile) {
				p.list.Errorf(p.span(k.value), k.path, "bad-value",
					"profile must be resilient, strict or best-effort, got %q", profile)
			}
		case k.key == "required" && isNull(k.value):
		case k.key == "required":
			required = &k
		case slices.Contains(idle, k.key):
			p.list.Warnf(p.span(k.node), k.path, "no-effect", "%q of lifecycle has no effect", k.key).Hint =
				"a broken connection is made again"
		default:
			p.list.Warnf(p.span(k.node), k.path, "unknown-key", "unknown key %q in lifecycle",
				k.key).UnknownKey(k.key, append([]string{"startup_timeout", "call_timeout", "profile", "required"},
				idle...))
		}
	}
	switch {
	case required != nil:
		s.Optional = !p.flag(*required)
	case profile != "":
		s.Optional = profile != "strict"
	}
}

func (p *parser) remote(e entry) *Remote {
	if e.value.Kind != yaml.MappingNode {
		p.list.Errorf(p.span(e.value), e.path, "wrong-type", "remote must be a map with a url, got %s",
			nodeKind(e.value))
		return nil
	}
	r, hasURL := &Remote{}, false
	for _, k := range p.entries(e.value, e.path) {
		switch k.key {
		case "url":
			r.URL, hasURL = p.text(k), true
			p.checkURL(k, r.URL)
		case "transport_type":
			r.Transport = p.text(k)
			switch r.Transport {
			case "", "streamable", "streamable-http", "streamable_http", "http":
			default:
				d := p.list.Warnf(p.span(k.value), k.path, "unsupported-transport", "transport %q is not supported",
					r.Transport)
				d.Hint = "use streamable HTTP: omit transport_type if the server supports it"
			}
		case "headers":
			r.Headers = p.textMap(k)
		default:
			p.list.Errorf(p.span(k.node), k.path, "unknown-key", "unknown key %q in remote", k.key).UnknownKey(k.key,
				[]string{"url", "transport_type", "headers"})
		}
	}
	if !hasURL {
		p.list.Errorf(p.span(e.value), e.path, "missing-key", "remote needs a url")
	}
	return r
}

// checkURL checks a URL that contains no reference; a URL with a reference is checked when the
// toolset is opened.
func (p *parser) checkURL(e entry, text string) {
	if strings.Contains(text, "$") {
		return
	}
	u, err := url.Parse(text)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		p.list.Errorf(p.span(e.value), e.path, "bad-value", "url must be an absolute http or https URL, got %q", text)
	}
}

func (p *parser) checkMCP(s *Spec, n *yaml.Node, path string, entries []entry) {
	has := func(keys ...string) (count int) {
		for _, e := range entries {
			if slices.Contains(keys, e.key) {
				count++
			}
		}
		return count
	}
	switch sources := has("command", "remote", "ref"); {
	case sources == 0:
		p.list.Errorf(p.span(n), path, "missing-key", "an mcp toolset needs a command, a remote or a ref")
	case sources > 1:
		p.list.Errorf(p.span(n), path, "conflicting-keys",
			"an mcp toolset has one of command, remote and ref, not several")
	case has("command") == 1 && s.Command == "":
		p.list.Errorf(p.span(n), join(path, "command"), "missing-key", "command is empty")
	case has("ref") == 1 && s.Ref == "":
		p.list.Errorf(p.span(n), join(path, "ref"), "missing-key", "ref is empty")
	case has("remote") == 1 && has("args", "working_dir", "cwd", "env") > 0:
		p.list.Warnf(p.span(n), path, "no-effect",
			"args, env and working_dir are for a command and have no effect on a remote server")
	case strings.HasPrefix(s.Ref, "docker:"):
		d := p.list.Warnf(p.span(n), join(path, "ref"), "unsupported-ref", "the Docker catalog (%q) is not supported",
			s.Ref)
		d.Hint = "name the server's command or its remote url instead"
	}
}

func (p *parser) duration(e entry) time.Duration {
	text := p.text(e)
	d, err := time.ParseDuration(text)
	if secs, numErr := strconv.ParseFloat(text, 64); numErr == nil {
		d, err = time.Duration(secs*float64(time.Second)), nil
	}
	if err != nil || d <= 0 || d > maxTimeout {
		p.list.Errorf(p.span(e.value), e.path, "bad-value",
			"%s must be seconds or a duration such as 90s, at most %s, got %q", e.key, maxTimeout, text)
		return 0
	}
	return d
}

func addLoadError(list *diag.List, file string, err error) {
	span := diag.Span{File: file}
	text := err.Error()
	if one, ok := errors.AsType[*yaml.LoadError](err); ok {
		span.Start = diag.Pos{Line: one.Mark.Line, Column: one.Mark.Column}
		text = strings.TrimSpace(one.Message)
	}
	list.Errorf(span, "", "syntax", "%s", text)
}

// Keys returns, by supported toolset type, the sorted keys that toolsets of the type may have: the
// keys that ParseSpecs accepts.
func Keys() map[string][]string {
	out := map[string][]string{}
	for _, k := range kinds.Supported() {
		keys := slices.Concat(commonKeys, k.Keys)
		if k.Name == TypeMCP {
			keys = slices.Concat(keys, mcpKeys)
		} else {
			keys = append(keys, "config", "version")
		}
		slices.Sort(keys)
		out[k.Name] = slices.Compact(keys)
	}
	return out
}
