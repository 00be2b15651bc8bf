package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/format/source"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/permit"
	"github.com/hocket-run/hocket/internal/secret"
	"github.com/hocket-run/hocket/internal/tool"
	"github.com/hocket-run/hocket/internal/tool/kinds"
	"github.com/hocket-run/hocket/workflow"
)

// Codes of diagnostics in addition to those of package source.
const (
	CodeBadValue   = "bad-value"
	CodeBareSecret = "bare-secret"
	CodeUnknown    = "unknown-name"
)

// Read parses the text of a configuration. file is the file name in locations, and its directory is
// the base of relative paths. The Config contains everything that could be read; it is usable only
// if the list has no errors. A text without a value is an empty configuration.
func Read(file string, data []byte) (*Config, diag.List) {
	c := &Config{Path: file}
	root, diags := source.Parse(file, data)
	if isEmpty(diags) {
		return c, nil
	}
	if root.IsNull() {
		return c, diags
	}
	r := reader{diags: &diags, config: c, folder: filepath.Dir(file)}
	value, ok := r.value(root, table())
	if !ok {
		return c, diags
	}
	text, err := json.Marshal(value)
	if err == nil {
		d := json.NewDecoder(bytes.NewReader(text))
		d.DisallowUnknownFields()
		err = d.Decode(c)
	}
	if err != nil && !diags.HasErrors() {
		diags.Errorf(root.Span, "", CodeBadValue, "%v", err)
	}
	r.checkModels(root)
	r.checkOmits(root)
	r.checkTemporal(root)
	for _, p := range c.Permissions.Problems() {
		at := root.Get("permissions").Get(p.List)
		if at != nil && at.Kind == source.List && p.Index < len(at.Items) {
			at = at.Items[p.Index]
		}
		if at != nil {
			r.errorf(at, CodeBadValue, "%s", p.Text)
		}
	}
	r.unmatched(root.Get("permissions"))
	diags.Sort()
	return c, diags
}

// unmatched warns about patterns of permissions that name no tool of Hocket's own types and of the
// file's toolsets and servers: they may name a tool of a document.
func (r *reader) unmatched(permissions *source.Node) {
	known := tool.Known(r.config.Toolsets)
	for name, s := range r.config.MCPs {
		s.Name = name
		known = append(known, tool.Known([]tool.Spec{s})...)
	}
	for _, k := range kinds.Supported() {
		of := permit.Call{Own: k.Name, Offered: k.Name}
		for _, name := range k.Tools {
			c := permit.Call{Own: name, Offered: name, Toolset: k.Name, Takes: k.Arguments[name]}
			known, of.Takes = append(known, c), append(of.Takes, c.Takes...)
		}
		known = append(known, of)
	}
	for _, name := range []string{"handoff", subagentPrefix + "agent"} { // those with which agents delegate
		known = append(known, permit.Call{Own: name, Offered: name})
	}
	for _, u := range r.config.Permissions.Unmatched(known) {
		at := permissions.Get(u.List)
		if at == nil || u.Index >= len(at.Items) || strings.HasPrefix(u.Tool, subagentPrefix) {
			continue
		}
		at = at.Items[u.Index]
		d := r.diags.Warnf(at.Span, at.Path(), CodeUnknown,
			"%q names %s of Hocket's own or of this file, only perhaps one of a document", u.Text, u.What())
		d.Hint = diag.DidYouMean(u.Wrong(known))
	}
}

// subagentPrefix is the start of the names of the tools with which agents call sub-agents.
const subagentPrefix = "transfer_task_"

// isEmpty reports whether a text contains nothing but comments.
func isEmpty(diags diag.List) bool {
	return slices.ContainsFunc(diags, func(d diag.Diagnostic) bool { return d.Code == source.CodeEmpty })
}

type reader struct {
	diags  *diag.List
	config *Config
	folder string
}

func (r *reader) errorf(n *source.Node, code, format string, args ...any) *diag.Diagnostic {
	return r.diags.Errorf(n.Span, n.Path(), code, format, args...)
}

// value returns the value of a node for a key in the form of Config's JSON, or false if the node
// has no value, or no usable one.
func (r *reader) value(n *source.Node, k key) (any, bool) {
	if n.IsNull() {
		return nil, false
	}
	switch k.kind {
	case section:
		return r.section(n, k)
	case byName:
		return r.byName(n, k)
	case servers:
		r.config.MCPs = r.servers(n)
		return nil, false
	case toolset:
		r.config.Toolsets = r.toolsets(n)
		return nil, false
	case texts:
		return r.texts(n)
	case free:
		if n.Kind != source.Map {
			return nil, r.wrong(n, "a map")
		}
		return n.JSON(), true
	case flag:
		v, ok := n.Bool()
		if !ok {
			return nil, r.wrong(n, "a boolean")
		}
		return v, true
	case count, number:
		return r.number(n, k)
	default:
		return r.text(n, k)
	}
}

func (r *reader) wrong(n *source.Node, want string) bool {
	d := r.errorf(n, source.CodeWrongType, "expected %s, found %s", want, n.Kind)
	switch {
	case want == "a string" && n.IsScalar():
		d.Hint = fmt.Sprintf("put it in quotes: %q", n.Text)
	case want == "a boolean" && n.Kind == source.String:
		d.Hint = "write true or false without quotes"
	case strings.HasSuffix(want, "number") && n.Kind == source.String:
		d.Hint = "write the number without quotes"
	}
	return false
}

func (r *reader) section(n *source.Node, k key) (any, bool) {
	if n.Kind != source.Map {
		return nil, r.wrong(n, "a map")
	}
	out := map[string]any{}
	for _, e := range n.Entries {
		i := slices.IndexFunc(k.keys, func(c key) bool { return c.name == e.Key })
		if i < 0 && e.Key == source.KeySchema && n.Path() == "" {
			continue // for editors
		}
		if i < 0 {
			d := r.diags.Errorf(e.KeySpan, e.Value.Path(), source.CodeUnknownKey, "unknown key %q", e.Key)
			d.Hint = diag.DidYouMean(e.Key, names(k.keys))
			if what, ok := k.misspellings[e.Key]; ok {
				d.Hint = what
			}
			continue
		}
		if v, ok := r.value(e.Value, k.keys[i]); ok {
			out[e.Key] = v
		}
	}
	for _, c := range k.keys {
		if c.required && n.Get(c.name).IsNull() {
			r.errorf(n, source.CodeMissingKey, "%q is missing", c.name)
		}
	}
	return out, true
}

func names(keys []key) []string {
	out := make([]string, len(keys))
	for i := range keys {
		out[i] = keys[i].name
	}
	return out
}

var nameText = regexp.MustCompile(nameForm)

func (r *reader) byName(n *source.Node, k key) (any, bool) {
	if n.Kind != source.Map {
		return nil, r.wrong(n, "a map by name")
	}
	out := map[string]any{}
	for _, e := range n.Entries {
		if !nameText.MatchString(e.Key) {
			r.diags.Errorf(e.KeySpan, e.Value.Path(), CodeBadValue, "invalid name %q", e.Key).Hint =
				"a name has letters, digits, dots, dashes and underscores, and begins with a letter or a digit"
			continue
		}
		if e.Value.IsNull() { // everything has its default, but the entry exists
			e.Value = &source.Node{Kind: source.Map, Span: e.Value.Span}
		}
		if v, ok := r.section(e.Value, key{keys: k.keys, misspellings: k.misspellings}); ok {
			out[e.Key] = v
		}
	}
	return out, true
}

func (r *reader) texts(n *source.Node) (any, bool) {
	if n.Kind != source.List {
		return nil, r.wrong(n, "a list")
	}
	out := []string{}
	for _, item := range n.Items {
		switch {
		case item.Kind != source.String:
			r.wrong(item, "a string")
		case item.Text == "":
			r.errorf(item, CodeBadValue, "must not be empty")
		default:
			out = append(out, item.Text)
		}
	}
	return out, true
}

func (r *reader) number(n *source.Node, k key) (any, bool) {
	var v float64
	if k.kind == count {
		i, ok := n.Int()
		if !ok {
			return nil, r.wrong(n, "a whole number")
		}
		v = float64(i)
	} else {
		f, ok := n.Float()
		if !ok {
			return nil, r.wrong(n, "a number")
		}
		v = f
	}
	switch {
	case v < k.min:
		r.errorf(n, CodeBadValue, "%s must be at least %s, got %s", k.name, plain(k.min), n.Text)
		return nil, false
	case k.max > 0 && v > k.max:
		r.errorf(n, CodeBadValue, "%s must be at most %s, got %s", k.name, plain(k.max), n.Text)
		return nil, false
	}
	return json.RawMessage(n.Text), true
}

// text reads the kinds of values that are written as strings.
func (r *reader) text(n *source.Node, k key) (any, bool) {
	if n.Kind != source.String {
		if d := k.kind == duration && n.IsScalar(); d {
			r.errorf(n, source.CodeWrongType, "expected a duration, found %s", n.Kind).Hint = fmt.Sprintf(
				"with its unit, such as %ss", n.Text)
			return nil, false
		}
		return nil, r.wrong(n, "a string")
	}
	text := n.Text
	if text == "" {
		r.errorf(n, CodeBadValue, "%s must not be empty", k.name)
		return nil, false
	}
	switch k.kind {
	case word:
		if !slices.Contains(k.values, text) {
			r.errorf(n, CodeBadValue, "%s must be %s, got %q", k.name, orList(k.values), text).Hint = diag.DidYouMean(
				text, k.values)
			return nil, false
		}
	case secretID:
		if err := secret.Check(text); err != nil { // the value may be the secret itself, so it is not shown
			r.errorf(n, CodeBareSecret, "%s must be a reference to a secret, not the secret itself",
				k.name).Hint = "write ${env.NAME}, or file:PATH for a file that only its owner can read"
			return nil, false
		}
		if p, ok := strings.CutPrefix(secret.Name(text), secret.FilePrefix); ok {
			text = secret.FilePrefix + r.resolvePath(p)
		}
	case address:
		if err := checkAddress(text); err != nil {
			r.errorf(n, CodeBadValue, "%s %v", k.name, err)
			return nil, false
		}
	case duration:
		d, err := parseDuration(text)
		if least := time.Duration(k.min) * time.Second; err == nil && d < least {
			err = fmt.Errorf("%q is less than %s", text, least)
		}
		if err != nil {
			r.errorf(n, CodeBadValue, "%s: %v", k.name, err).Hint = "write a number with its unit: ms, s, m, h or d, " +
				"such as 90s or 1h30m"
			return nil, false
		}
	case path:
		text = r.resolvePath(text)
	}
	return text, true
}

// resolvePath resolves a path relative to the directory of the file. A URL is returned unchanged.
func (r *reader) resolvePath(path string) string {
	if filepath.IsAbs(path) || strings.Contains(path, "://") {
		return path
	}
	return filepath.Join(r.folder, path)
}

func orList(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}

// addressForm is the pattern of addresses in the schema; checkAddress is equally strict.
const addressForm = `^https?://[^/?#@\s]+(/[^?#\s]*)?$`

var addressText = regexp.MustCompile(addressForm)

func checkAddress(text string) error {
	u, err := url.Parse(text)
	if err != nil || !addressText.MatchString(text) || u.Host == "" {
		return errors.New("must be an absolute http or https URL without user, query and fragment")
	}
	return nil
}

// checkModels reports models whose provider does not exist.
func (r *reader) checkModels(root *source.Node) {
	known := slices.Concat(slices.Collect(maps.Keys(r.config.Providers)), model.Known())
	models := root.Get("models")
	for _, name := range slices.Sorted(maps.Keys(r.config.Models)) {
		m := r.config.Models[name]
		if m.Provider != "" && !slices.Contains(known, m.Provider) {
			d := r.errorf(models.Get(name).Get("provider"), CodeUnknown, "unknown provider %q", m.Provider)
			if d.Hint = diag.DidYouMean(m.Provider, known); d.Hint == "" {
				d.Hint = "define it under providers"
			}
		}
	}
}

// checkOmits reports parameters of providers that cannot be omitted.
func (r *reader) checkOmits(root *source.Node) {
	for name, p := range r.config.Providers {
		if i, problem, hint := workflow.CheckOmit(p.Omit); i >= 0 {
			at := root.Get("providers").Get(name).Get("omit")
			if len(at.Items) == len(p.Omit) {
				at = at.Items[i]
			}
			r.errorf(at, CodeBadValue, "%q %s", p.Omit[i], problem).Hint = hint
		}
	}
}

// servers and toolsets are parsed by package tool, as in documents.

func (r *reader) servers(n *source.Node) map[string]tool.Spec {
	if n.Kind != source.Map {
		r.wrong(n, "a map of MCP servers by name")
		return nil
	}
	out := tool.ParseMCPs(yamlNode(n), tool.Place{File: n.Span.File, Path: n.Path()}, r.diags)
	for name, s := range out {
		if s.Type != tool.TypeMCP || s.Ref != "" {
			r.errorf(n.Get(name), CodeBadValue, "%q must be an MCP server with a command or a remote", name)
			delete(out, name)
			continue
		}
		r.checkSecrets(n.Get(name), s)
		s.Trusted = true
		out[name] = r.resolvePaths(s)
	}
	return out
}

func (r *reader) toolsets(n *source.Node) []tool.Spec {
	if n.Kind != source.List {
		r.wrong(n, "a list of toolsets")
		return nil
	}
	at := tool.Place{File: n.Span.File, Path: n.Path()}
	out := tool.ParseSpecs(yamlNode(n), at, r.diags)
	for i, s := range out {
		r.checkSecrets(n.Items[min(i, len(n.Items)-1)], s)
	}
	tool.ResolveRefs(out, r.config.MCPs, at, r.diags)
	for i := range out {
		out[i].Trusted = true
		if out[i].Ref == "" { // toolsets with a reference use the server's settings
			out[i] = r.resolvePaths(out[i])
		}
	}
	return out
}

// yamlNode converts a value to the form that package tool reads, with its position.
func yamlNode(n *source.Node) *yaml.Node {
	out := &yaml.Node{Kind: yaml.ScalarNode, Value: n.Text, Line: n.Span.Start.Line, Column: n.Span.Start.Column}
	switch n.Kind {
	case source.Null:
		out.Tag = "!!null"
	case source.Bool:
		out.Tag = "!!bool"
	case source.Int:
		out.Tag = "!!int"
	case source.Float:
		out.Tag = "!!float"
	case source.String:
		out.Tag, out.Style = "!!str", yaml.DoubleQuotedStyle
	case source.List:
		out.Kind, out.Tag = yaml.SequenceNode, "!!seq"
		for _, item := range n.Items {
			out.Content = append(out.Content, yamlNode(item))
		}
	case source.Map:
		out.Kind, out.Tag = yaml.MappingNode, "!!map"
		for _, e := range n.Entries {
			key := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Style: yaml.DoubleQuotedStyle, Value: e.Key,
				Line: e.KeySpan.Start.Line, Column: e.KeySpan.Start.Column}
			out.Content = append(out.Content, key, yamlNode(e.Value))
		}
	}
	return out
}
