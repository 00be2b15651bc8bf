package tool

import (
	"encoding/json"
	"fmt"
	"maps"
	"time"

	"github.com/hocket-run/hocket/diag"
	"go.yaml.in/yaml/v4"
)

// Names of types that code refers to. Package kinds lists all types and describes them: a type
// needs a constant only if code outside its package treats it specially.
const (
	TypeMCP        = "mcp"
	TypeThink      = "think"
	TypeTodo       = "todo"
	TypeFilesystem = "filesystem"
	TypeShell      = "shell"
	TypeScript     = "script"
	TypeFetch      = "fetch"
	TypeWebSearch  = "web_search"
	TypeAPI        = "api"
	TypeOpenAPI    = "openapi"
	TypeMemory     = "memory"
	TypeUserPrompt = "user_prompt"
	TypeWorkflow   = "workflow"
)

// Spec is one entry of a `toolsets:` list, as in steps documents and in the file of --tools. Its
// JSON form is that of the document, so it can be stored as JSON and parsed again; Trusted and Span
// are not encoded.
//
// Env, Remote.URL and Remote.Headers may hold references `${NAME}`, `${env.NAME}` and `$NAME`. They
// are kept as written here and looked up when the toolset is opened: a Spec holds no secret
// (SEC11).
type Spec struct {
	Type string
	// Name distinguishes toolsets and is the prefix of a tool's name if two tools clash. If empty,
	// the Set uses the type, with a number if there are several.
	Name string

	// Command, Args, Env and Dir start a server on standard input and output. Env is everything
	// that it gets of the process environment in addition to basics such as PATH and HOME; Dir is
	// relative to the working directory of the process.
	Command string
	Args    []string
	Env     map[string]string
	Dir     string
	// Remote is a server over HTTP.
	Remote *Remote
	// Ref names a definition kept elsewhere: in `mcps:`, or in a catalog if it begins with
	// `docker:`.
	Ref string

	// Tools lists the tools of this toolset to use, by their own full names; empty means all.
	Tools []string
	// Instruction replaces the toolset's own instructions for its use; {ORIGINAL_INSTRUCTIONS} in
	// it is replaced by them.
	Instruction string
	// Timeout limits the total time of one call; 0 means Config.CallTimeout. IdleTimeout limits the
	// time without a heartbeat, and ConnectTimeout the time to start a server and complete the
	// handshake; 0 means the toolset's default.
	Timeout        time.Duration
	IdleTimeout    time.Duration
	ConnectTimeout time.Duration
	// Shared lets all agents that list an equal spec use one instance with one state.
	Shared bool
	// Optional lets the run continue without the toolset if it does not start; otherwise the step
	// fails.
	Optional bool
	// ReadOnly leaves out the tools that may change something outside of the run.
	ReadOnly bool
	// Policy overrides the policies of the tools; if empty, each tool's own policy applies.
	Policy Policy
	// Options holds the entry's other keys as a JSON object, for types that this package does not
	// know; null means none.
	Options json.RawMessage

	// Trusted is set if the operator allowed Command: the operator's own file named it, --trust was
	// given, or a person confirmed (SEC5). The wiring sets it; parsing never does.
	Trusted bool
	// Span is the location of the entry in its document.
	Span diag.Span
}

// Remote is a server over HTTP.
type Remote struct {
	URL string `json:"url"`
	// Transport is `transport_type` as written: "", streamable, streamable-http, streamable_http
	// and http all mean streamable HTTP.
	Transport string            `json:"transport_type,omitempty"`
	Headers   map[string]string `json:"headers,omitempty"`
}

// Title returns the name, or the type if there is none.
func (s Spec) Title() string {
	if s.Name != "" {
		return s.Name
	}
	return s.Type
}

// Resolve completes a spec whose Ref names a definition in `mcps:`; the spec's own values take
// precedence over those of the definition.
func (s Spec) Resolve(mcps map[string]Spec) Spec {
	def, ok := mcps[s.Ref]
	if s.Ref == "" || !ok {
		return s
	}
	out := def
	out.Type, out.Span, out.Trusted = s.Type, s.Span, s.Trusted
	if s.Name != "" || out.Name == "" {
		out.Name = s.Name
	}
	if out.Name == "" {
		out.Name = s.Ref
	}
	if len(s.Env) > 0 {
		out.Env = maps.Clone(def.Env)
		if out.Env == nil {
			out.Env = map[string]string{}
		}
		maps.Copy(out.Env, s.Env)
	}
	if len(s.Tools) > 0 {
		out.Tools = s.Tools
	}
	if s.Instruction != "" {
		out.Instruction = s.Instruction
	}
	if s.Dir != "" {
		out.Dir = s.Dir
	}
	if s.Timeout > 0 {
		out.Timeout = s.Timeout
	}
	if s.IdleTimeout > 0 {
		out.IdleTimeout = s.IdleTimeout
	}
	if s.ConnectTimeout > 0 {
		out.ConnectTimeout = s.ConnectTimeout
	}
	if s.Policy != "" {
		out.Policy = s.Policy
	}
	out.Shared, out.Optional = s.Shared || def.Shared, s.Optional || def.Optional
	out.ReadOnly = s.ReadOnly || def.ReadOnly
	if s.Options != nil {
		out.Options = s.Options
	}
	return out
}

// MarshalJSON returns the document form: keys sorted, zero values left out. Equal specs have equal
// encodings.
func (s Spec) MarshalJSON() ([]byte, error) {
	m := map[string]any{}
	if len(s.Options) > 0 {
		if err := json.Unmarshal(s.Options, &m); err != nil {
			return nil, fmt.Errorf("write toolset %q: options: %w", s.Title(), err)
		}
	}
	set := func(key string, value any, present bool) {
		if present {
			m[key] = value
		}
	}
	set("type", s.Type, true)
	set("name", s.Name, s.Name != "")
	set("command", s.Command, s.Command != "")
	set("args", s.Args, len(s.Args) > 0)
	set("env", s.Env, len(s.Env) > 0)
	set("working_dir", s.Dir, s.Dir != "")
	set("remote", s.Remote, s.Remote != nil)
	set("ref", s.Ref, s.Ref != "")
	set("tools", s.Tools, len(s.Tools) > 0)
	set("instruction", s.Instruction, s.Instruction != "")
	set("timeout", s.Timeout.String(), s.Timeout > 0)
	set("idle_timeout", s.IdleTimeout.String(), s.IdleTimeout > 0)
	set("connect_timeout", s.ConnectTimeout.String(), s.ConnectTimeout > 0)
	set("shared", true, s.Shared)
	set("required", false, s.Optional)
	set("readonly", true, s.ReadOnly)
	set("policy", s.Policy, s.Policy != "")
	return json.Marshal(m)
}

// UnmarshalJSON parses the document form. Warnings are dropped, since the loader of the document
// has reported them. The error is a diag.List.
func (s *Spec) UnmarshalJSON(data []byte) error {
	spec, list, err := ReadSpec(data)
	list.AllowUnknown() // as the loader of the document decided
	if err == nil {
		err = list.Err()
	}
	if err != nil {
		return fmt.Errorf("read toolset: %w", err)
	}
	*s = spec
	return nil
}

// ReadSpec parses the document form as UnmarshalJSON does and returns all diagnostics, including
// warnings; they have no position. The error is returned for invalid YAML.
func ReadSpec(data []byte) (Spec, diag.List, error) {
	var doc yaml.Node
	if err := yaml.Load(joinSurrogates(data), &doc); err != nil {
		return Spec{}, nil, err
	}
	var list diag.List
	spec, _ := ParseSpec(&doc, Place{}, &list)
	return spec, list, nil
}
