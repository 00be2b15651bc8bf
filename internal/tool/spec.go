package tool

import (
	"encoding/json"
	"fmt"
	"maps"
	"time"

	"github.com/hocket-run/hocket/diag"
	"go.yaml.in/yaml/v4"
)

// Names of types that code refers to. The list of all types, with what is known of each, is that of package kinds: a type needs a constant only where code outside
// its package treats it in a way of its own.
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

// Spec is one entry of a `toolsets:` list, as in steps documents and in the file of --tools. Its JSON form is that of the document, so it can be
// carried as JSON and read again; Trusted and Span do not travel.
//
// Env, Remote.URL and Remote.Headers may hold references `${NAME}`, `${env.NAME}` and `$NAME`. They stay as written here and are looked up when
// the toolset is opened: a Spec holds no secret (SEC11).
type Spec struct {
	Type string
	// Name tells toolsets apart and is before a tool's name where two clash. "": the Set gives the type, with a number if there are several.
	Name string

	// Command, Args, Env and Dir start a server on standard input and output. Env is all that it gets of our environment beside basics such as
	// PATH and HOME; Dir is relative to our working directory.
	Command string
	Args    []string
	Env     map[string]string
	Dir     string
	// Remote is a server over HTTP.
	Remote *Remote
	// Ref names a definition kept elsewhere: of `mcps:`, or a catalog's where it begins with `docker:`.
	Ref string

	// Tools lists the tools, by their own whole names, that are taken of this toolset; empty: all.
	Tools []string
	// Instruction replaces what the toolset itself says about its use; {ORIGINAL_INSTRUCTIONS} in it stands for that.
	Instruction string
	// Timeout bounds one call in total; 0: Config.CallTimeout. IdleTimeout bounds the time without a sign of life, ConnectTimeout that of
	// starting and greeting a server; 0: the toolset's default.
	Timeout        time.Duration
	IdleTimeout    time.Duration
	ConnectTimeout time.Duration
	// Shared lets all agents that list an equal spec use one instance, and one state.
	Shared bool
	// Policy overrides what the tools say of themselves; "": they say it.
	Policy Policy
	// Options are the entry's other keys as a JSON object, for types that this package does not know; null: none.
	Options json.RawMessage

	// Trusted tells that the operator allowed Command: his own file named it, --trust was given, or a person said yes (SEC5). The code that wires
	// sets it; parsing never does.
	Trusted bool
	// Span is where the entry stands.
	Span diag.Span
}

// Remote is a server over HTTP.
type Remote struct {
	URL string `json:"url"`
	// Transport is `transport_type` as written: "", streamable, streamable-http, streamable_http and http all mean streamable HTTP.
	Transport string            `json:"transport_type,omitempty"`
	Headers   map[string]string `json:"headers,omitempty"`
}

// Title gives the name, or the type where there is none.
func (s Spec) Title() string {
	if s.Name != "" {
		return s.Name
	}
	return s.Type
}

// Resolve completes a spec whose Ref names a definition of `mcps:`: what the spec itself says wins over what the definition says.
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
	out.Shared = s.Shared || def.Shared
	if s.Options != nil {
		out.Options = s.Options
	}
	return out
}

// MarshalJSON gives the document form: keys sorted, nothing that is zero. Equal specs give equal bytes.
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
	set("policy", s.Policy, s.Policy != "")
	return json.Marshal(m)
}

// UnmarshalJSON reads the document form. Warnings are dropped: the loader of the document has reported them. The error is a diag.List.
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

// ReadSpec reads the document form as UnmarshalJSON does and gives all that there is to say of it, warnings too; what is said has no place. The error
// is for text that is no YAML.
func ReadSpec(data []byte) (Spec, diag.List, error) {
	var doc yaml.Node
	if err := yaml.Load(joinSurrogates(data), &doc); err != nil {
		return Spec{}, nil, err
	}
	var list diag.List
	spec, _ := ParseSpec(&doc, Place{}, &list)
	return spec, list, nil
}
