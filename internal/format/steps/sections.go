package steps

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/format/agents"
	"github.com/hocket-run/hocket/internal/format/inputs"
	"github.com/hocket-run/hocket/internal/format/source"
	"github.com/hocket-run/hocket/workflow"
)

// How the top-level keys are treated. Idle keys are docker-agent's and have no effect yet.
var (
	topKeys = []string{"version", "metadata", "providers", "models", "mcps", "permissions", "toolsets", "agents",
		"inputs", "output", "output_schema", "workflow", "schedule", "schedules", "time_zone", "labels", "concurrency"}
	idleTopKeys  = []string{"rag", "env", "runtime", "budget", "budgets", "flavors", "commands", "skills"}
	metadataKeys = []string{"author", "license", "readme", "description", "version"}
)

// newestVersion is the newest version of docker-agent's configuration that is known.
const newestVersion = 15

func newReader(root *source.Node, opts Options) *reader {
	w := &workflow.Workflow{Format: Format, Rules: workflow.Rules{OnFailure: workflow.FailFast}}
	w.Source.Nodes, w.Source.Agents = map[string]diag.Span{}, map[string]diag.Span{}
	if root != nil {
		w.Source.File = root.Span.File
	}
	external := map[string]int{}
	for i, a := range opts.Agents {
		external[a.ID] = i
	}
	return &reader{
		externalAgents: external,
		opts:           opts, w: w,
		agents: map[string]*agent{}, models: map[string]*model{}, mcps: map[string]json.RawMessage{},
		warnedProviders: map[string]bool{},
		shared:          map[string]field{}, defaults: map[string]workflow.ModelParams{}, aliases: map[string]string{},
		modelProviders: map[string]workflow.Provider{}, shares: map[string]string{},
		agentReads: map[string][]string{},
	}
}

// document reads the sections in dependency order, regardless of their order in the file.
func (r *reader) document(root *source.Node) {
	if root == nil || root.Kind != source.Map {
		d := r.diags.Errorf(diag.Span{File: r.w.Source.File}, "", codeWrongType,
			"a steps document must be a map with agents and a workflow")
		if root != nil {
			d.Span = root.Span
		}
		return
	}
	fields := r.fields(root)
	for _, f := range fields {
		switch {
		case strings.HasPrefix(f.key, "x-"), f.key == source.KeySchema:
			// x- keys usually hold anchors, and editors read the schema key
		case slices.Contains(idleTopKeys, f.key):
			r.reportUnsupported(f, "")
		case !slices.Contains(topKeys, f.key):
			r.unknown(f, diag.Warning, "the document", slices.Concat(topKeys, idleTopKeys))
		}
	}
	with := func(key string, read func(field)) bool {
		f := find(fields, key)
		if f != nil && !f.value.IsNull() {
			read(*f)
		}
		return f != nil
	}
	r.isTeam = find(fields, "workflow") == nil
	with("version", r.version)
	with("metadata", r.metadata)
	with("concurrency", func(f field) { r.w.Concurrency = inputs.Concurrency(f.value, &r.diags) })
	with("labels", func(f field) { r.w.Labels = inputs.Labels(f.value, &r.diags) })
	with("providers", r.providersSection)
	with("models", r.modelsSection)
	with("mcps", r.mcpsSection)
	with("toolsets", r.toolsetsSection)
	with("agents", r.agentsSection)
	with("inputs", func(f field) {
		r.declares = true
		r.inputs = inputs.Names(f.value)
		r.w.Inputs = inputs.Read(f.value, &r.diags)
	})
	r.scheduled(root, find(fields, "schedule"), find(fields, "time_zone"))
	with("output_schema", func(f field) { r.w.OutputSchema = inputs.Schema(f.value, &r.diags) })
	with("output", func(f field) { r.outputField = f })
	if !with("workflow", r.workflowSection) {
		r.oneStep(root)
	} else if f := find(fields, "workflow"); f.value.IsNull() {
		r.root = &list{kind: rootList}
		r.noSteps(*f)
	}
	r.subAgents()
	with("permissions", r.permitAll)
	r.compile()
}

func (r *reader) version(f field) {
	v := r.text(f)
	if n, err := strconv.Atoi(v); v == "" || err == nil && n >= 0 && n <= newestVersion && strconv.Itoa(n) == v {
		return
	}
	d := r.diags.Errorf(f.value.Span, f.path, codeVersion, "version %q is not known", v)
	d.Hint = fmt.Sprintf("the versions 0 to %d are; leave it out for the newest", newestVersion)
	d.Unknown = true
}

func (r *reader) metadata(f field) {
	for _, g := range r.fieldsOf(f) {
		switch {
		case g.key == "description":
			r.w.Description = r.text(g)
		case !slices.Contains(metadataKeys, g.key):
			r.unknown(g, diag.Warning, "metadata", metadataKeys)
		}
	}
}

// oneStep builds the workflow of a document that has none: its agent named root, otherwise its
// first agent, as a single step (S4-30).
func (r *reader) oneStep(root *source.Node) {
	r.root = &list{kind: rootList}
	if len(r.w.Agents) == 0 {
		d := r.diags.Errorf(root.Span, "", codeNoAgents, "the document has neither agents nor a workflow")
		d.Hint = "add agents, and a list of steps under `workflow`"
		return
	}
	name := r.w.Agents[0].ID
	if r.agents["root"] != nil {
		name = "root"
	}
	s := &step{in: r.root, name: name, where: field{path: r.agents[name].path, span: r.agents[name].span, value: root}}
	r.root.items = []*step{s}
}

// mcpsSection reads `mcps:`, definitions of MCP servers to which toolsets refer.
func (r *reader) mcpsSection(f field) {
	for _, g := range r.fieldsOf(f) {
		if g.value.Kind != source.Map {
			r.wrongType(g, "a map that describes an MCP server")
			continue
		}
		r.mcps[g.key] = r.json(g)
	}
}

// toolsetsSection reads the document's `toolsets:`: a list of what tool steps may use or, as in
// docker-agent, a map of toolsets that agents name in `use_toolsets`.
func (r *reader) toolsetsSection(f field) {
	if f.value.Kind != source.Map {
		r.w.Toolsets = r.toolsets(f)
		return
	}
	for _, g := range r.fields(f.value) {
		r.shared[g.key] = g
	}
}

// useToolsets reads `use_toolsets:` of an agent.
func (r *reader) useToolsets(f field) []json.RawMessage {
	var list []field
	for _, name := range r.texts(f) {
		g, ok := r.shared[name]
		if !ok {
			d := r.diags.Errorf(f.value.Span, f.path, codeBadValue, "toolset %q not found in toolsets", name)
			d.Hint = r.diags.similar(name, func() []string { return slices.Sorted(maps.Keys(r.shared)) })
			continue
		}
		list = append(list, g)
	}
	return r.toolsetList(list)
}

// toolsets reads `toolsets:`. Each entry is kept unchanged except that a `ref` to the mcps section
// is replaced with that entry; the tool registry interprets the keys.
func (r *reader) toolsets(f field) []json.RawMessage {
	return r.toolsetList(r.list(f))
}

func (r *reader) toolsetList(list []field) []json.RawMessage {
	var out []json.RawMessage
	for _, e := range list {
		if r.toolsetBytes > source.DefaultMaxBytes {
			break
		}
		if e.value.Kind != source.Map {
			d := r.diags.Errorf(e.value.Span, e.path, codeWrongType, "a toolset must be a map with a type, got %s",
				describe(e.value))
			d.Hint = "write `- type: mcp`"
			continue
		}
		typ, ref := find(r.fields(e.value), "type"), find(r.fields(e.value), "ref")
		if typ == nil {
			r.diags.Errorf(e.value.Span, e.path, codeMissingKey,
				"a toolset needs a type").Hint = "for example `type: mcp`"
			continue
		}
		word := r.text(*typ)
		r.checkToolset(word, *typ)
		raw := r.json(field{value: e.value, path: e.path, span: e.value.Span})
		if ref != nil {
			name, _ := stringOf(ref.value)
			def, known := r.mcps[name]
			switch {
			case known:
				raw = merge(def, raw, name)
				r.warnDockerCatalog(docker(def), *ref)
			case word == "mcp" && slices.Contains(r.opts.Servers, name):
				r.checkOperatorServer(e, name)
			case strings.HasPrefix(name, inCatalog):
				r.warnDockerCatalog(name, *ref)
			case word == "mcp":
				d := r.diags.Warnf(ref.value.Span, ref.path, codeUnsupported, "unknown MCP server %q under mcps", name)
				d.Hint = r.diags.similar(name, func() []string {
					return append(slices.Sorted(maps.Keys(r.mcps)), r.opts.Servers...)
				})
			}
		}
		if r.isTeam && (word == "mcp" || word == "openapi") {
			raw = notRequired(raw)
		}
		if raw == nil {
			continue
		}
		if r.toolsetBytes += len(raw); r.toolsetBytes > source.DefaultMaxBytes {
			r.diags.Errorf(e.value.Span, e.path, source.CodeTooLarge, "the toolsets of the document have more than "+
				"%d bytes, each counted where it is used; that is the limit", source.DefaultMaxBytes)
			break
		}
		out = append(out, raw)
	}
	return out
}

// notRequired returns a toolset without which the run continues if it does not start, as in
// docker-agent, unless the toolset says otherwise.
func notRequired(raw json.RawMessage) json.RawMessage {
	var said struct {
		Required  any             `json:"required"`
		Lifecycle json.RawMessage `json:"lifecycle"`
	}
	var lifecycle struct {
		Profile  any `json:"profile"`
		Required any `json:"required"`
	}
	if json.Unmarshal(raw, &said) != nil {
		return raw
	}
	_ = json.Unmarshal(said.Lifecycle, &lifecycle) // the tool registry reports errors
	if said.Required != nil || lifecycle.Required != nil || lifecycle.Profile == "strict" {
		return raw
	}
	return with(raw, "required", false)
}

// with sets a key of a toolset.
func with(raw json.RawMessage, key string, value bool) json.RawMessage {
	var m map[string]json.RawMessage
	if json.Unmarshal(raw, &m) != nil {
		return raw
	}
	m[key] = encode(value)
	return encode(m)
}

// inCatalog is the prefix of a reference to Docker's catalog of servers.
const inCatalog = "docker:"

// warnDockerCatalog warns that servers from Docker's catalog are not supported yet. It does nothing
// if name is empty.
func (r *reader) warnDockerCatalog(name string, at field) {
	if name != "" {
		r.diags.Warnf(at.value.Span, at.path, codeUnsupported, "servers of Docker's catalog (%q) are not supported yet",
			name).Hint =
			"name the server's command or its remote url instead"
	}
}

// docker returns the reference to Docker's catalog that a definition in mcps holds, or "" if it
// holds none.
func docker(def json.RawMessage) string {
	var d struct {
		Ref string `json:"ref"`
	}
	if json.Unmarshal(def, &d) != nil || !strings.HasPrefix(d.Ref, inCatalog) {
		return ""
	}
	return d.Ref
}

// checkOperatorServer checks that a toolset that refers to one of the operator's servers does not
// change it.
func (r *reader) checkOperatorServer(e field, name string) {
	for _, f := range r.fields(e.value) {
		switch f.key {
		case "command", "args", "env", "working_dir", "cwd", "remote", "policy":
			r.diags.Errorf(f.span, f.path, codeFixedServer,
				"a document cannot set %s of the server %q, which the operator defines", f.key,
				name).Advise(diag.DefineServer)
		}
	}
}

func (r *reader) checkToolset(word string, f field) {
	switch {
	case word == "":
	case slices.Contains(r.opts.Toolsets, word):
	case !slices.Contains(agents.ToolsetTypes(), word) || r.opts.Toolsets != nil:
		d := diag.Diagnostic{Code: codeUnsupported, Severity: diag.Warning, Span: f.value.Span, Path: f.path}
		agents.UnknownToolset(&d, word)
		r.diags.Add(d)
	}
}

// merge completes a toolset that refers to a definition; the toolset's own values take precedence.
func merge(def, own json.RawMessage, ref string) json.RawMessage {
	var d, o map[string]json.RawMessage
	if json.Unmarshal(def, &d) != nil || json.Unmarshal(own, &o) != nil {
		return own
	}
	delete(o, "ref")
	var env, more map[string]json.RawMessage
	if json.Unmarshal(d["env"], &env) == nil && json.Unmarshal(o["env"], &more) == nil && env != nil {
		maps.Copy(env, more)
		o["env"] = encode(env)
	}
	maps.Copy(d, o)
	if _, ok := d["name"]; !ok {
		d["name"] = encode(ref)
	}
	return encode(d)
}
