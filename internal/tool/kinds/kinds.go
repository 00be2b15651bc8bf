package kinds

import (
	"fmt"
	"slices"
	"strings"
	"sync"
)

// Kind describes one type of toolset.
type Kind struct {
	// Name is the value of `type` in documents.
	Name string
	// Keys are the keys of the type's own options, in addition to those common to all toolsets.
	Keys []string
	// Check returns the problems in the option values of a document, which are passed by key as
	// decoded from JSON; a key that the document lacks is absent. Check is not called if a key is
	// unknown. Nil means that package tool checks the values, or that any value is valid. Check
	// must not change the options.
	Check func(options map[string]any) []Problem
	// Tools are the tools of every toolset of the type, sorted; nil means that they depend on the
	// entry or on a server.
	Tools []string
	// Arguments are the sorted names of the arguments of each of Tools, at any depth; nil means
	// that they are not known.
	Arguments map[string][]string
	// Path is the option that holds a path; in the operator's configuration a relative path is
	// resolved against the configuration's folder. Empty means that no option is a path.
	Path string
	// Guarded is set for types whose trust is checked again each time a toolset is opened, because
	// they read files or start programs, which may have changed.
	Guarded bool
	// Local returns what a toolset with these options reaches on this machine: a document that
	// names it must be trusted. Relative paths are resolved with at. If the options cannot be fully
	// decoded, Local returns an error together with what it could decode. Nil means that toolsets
	// of the type reach nothing by themselves.
	Local func(options []byte, at At) (Local, error)
	// How says in one line how an agent gets the tools and what they need, for `hocket doctor`.
	How string
	// Gives, Wants and Page are columns of the table in docs/tools.md: what an agent gets, when it
	// needs --trust or the operator, and the page in docs.
	Gives, Wants, Page string
	// Unsupported types are docker-agent types that Hocket cannot open. Their entries are kept,
	// with a warning.
	Unsupported bool
}

// Problem is an error in the options of a toolset.
type Problem struct {
	// Key is the option; empty means the toolset as a whole.
	Key string
	// Message says what is wrong, and Hint what to write instead; Hint may be empty.
	Message, Hint string
}

var (
	mu         sync.RWMutex
	registered = slices.Concat([]Kind{
		filesystem, shell, script, mcp, memory, think, todo, userPrompt, workflow, fetch, api, openAPI, webSearch,
	}, unsupported)
)

// Register adds a type after the existing ones. It panics if the name is empty or taken. It is
// meant to be called at program start, before documents are read.
func Register(k Kind) {
	mu.Lock()
	defer mu.Unlock()
	if k.Name == "" || slices.ContainsFunc(registered, func(o Kind) bool { return o.Name == k.Name }) {
		panic(fmt.Sprintf("kinds: register toolset type %q: the name is empty or registered already", k.Name))
	}
	registered = append(registered, k)
}

// All returns the registered types in display order. The slice belongs to the caller.
func All() []Kind {
	mu.RLock()
	defer mu.RUnlock()
	return slices.Clone(registered)
}

// Supported returns the types that Hocket can open.
func Supported() []Kind {
	return slices.DeleteFunc(All(), func(k Kind) bool { return k.Unsupported })
}

// Of returns the type with the given name, and false if no such type is registered.
func Of(name string) (Kind, bool) {
	all := All()
	if i := slices.IndexFunc(all, func(k Kind) bool { return k.Name == name }); i >= 0 {
		return all[i], true
	}
	return Kind{}, false
}

// Names returns the names of the given types, in order.
func Names(of []Kind) []string {
	out := make([]string, len(of))
	for i, k := range of {
		out[i] = k.Name
	}
	return out
}

// Table returns the table of supported types in docs/tools.md, in Markdown.
func Table() string {
	var b strings.Builder
	b.WriteString("| type | gives an agent | needs `--trust` or the operator |\n| --- | --- | --- |\n")
	for _, k := range Supported() {
		fmt.Fprintf(&b, "| [`%s`](%s) | %s | %s |\n", k.Name, k.Page, k.Gives, k.Wants)
	}
	return b.String()
}

var api = Kind{
	Name: "api",
	Keys: []string{"api_config"},
	How: "toolset in a document or in --tools; private addresses and variables need --trust, or --tools that " +
		"names them",
	Gives: "one HTTP call",
	Wants: "for private addresses and variables",
	Page:  "toolsets/api.md#api",
}

var fetch = Kind{
	Name:      "fetch",
	Keys:      []string{"allowed_domains", "blocked_domains"},
	Tools:     []string{"fetch"},
	Arguments: map[string][]string{"fetch": {"format", "timeout", "urls"}},
	How:       "toolset in a document or in --tools; private addresses need allowed_domains in hocket.yaml",
	Gives:     "web pages",
	Wants:     "for private addresses",
	Page:      "toolsets/web.md#fetch",
}

var mcp = Kind{
	Name:    "mcp", // its keys are fields of tool.Spec
	Guarded: true,
	How:     "toolset in a document or in --tools; commands need --trust, or --tools that names them",
	Gives:   "the tools of an MCP server",
	Wants:   "for commands, private addresses and variables",
	Page:    "toolsets/mcp.md",
}

var memory = Kind{
	Name:  "memory",
	Keys:  []string{"path", "memory"},
	Tools: []string{"add_memory", "delete_memory", "get_memories", "search_memories", "update_memory"},
	Arguments: map[string][]string{
		"add_memory":      {"category", "memory"},
		"delete_memory":   {"id"},
		"get_memories":    {},
		"search_memories": {"category", "query"},
		"update_memory":   {"category", "id", "memory"},
	},
	Local: local(func(o struct {
		Memory string `json:"memory"`
	}, _ At,
	) Local {
		if o.Memory == "" {
			return Local{}
		}
		return Local{Lines: []string{fmt.Sprintf("read and write the memory %q, which workflows share", o.Memory)},
			InStore: true}
	}),
	How:   "toolset in a document or in --tools; kept in the store, across runs",
	Gives: "notes that are kept between runs",
	Wants: "yes, for files and shared memories",
	Page:  "toolsets/memory.md#memory",
}

var openAPI = Kind{
	Name:    "openapi",
	Keys:    []string{"url", "file", "server", "headers", "auth"},
	Path:    "file",
	Guarded: true,
	Local: local(func(o struct {
		File string `json:"file"`
	}, at At,
	) Local {
		if o.File == "" {
			return Local{}
		}
		return Local{Lines: []string{"read the file " + at(o.File)}, Programs: Programs{File: o.File}}
	}),
	How: "toolset in a document or in --tools; files, private addresses and variables need --trust, or --tools " +
		"that names them",
	Gives: "the operations of an OpenAPI document",
	Wants: "for files, private addresses and variables",
	Page:  "toolsets/api.md#openapi",
}

var shell = Kind{
	Name: "shell",
	Keys: []string{"env", "working_dir", "commands"},
	Tools: []string{"exec", "list_background_jobs", "run_background_job", "shell", "stop_background_job",
		"view_background_job"},
	Arguments: map[string][]string{
		"exec":                 {"argv", "cwd", "stdin", "timeout"},
		"list_background_jobs": {},
		"run_background_job":   {"cmd", "cwd"},
		"shell":                {"cmd", "cwd", "timeout"},
		"stop_background_job":  {"job_id"},
		"view_background_job":  {"job_id"},
	},
	Path:    "working_dir",
	Guarded: true,
	Local: local(func(o struct {
		Env        Variables `json:"env"`
		WorkingDir string    `json:"working_dir"`
		Commands   []string  `json:"commands"`
	}, at At,
	) Local {
		what := "run any command"
		if len(o.Commands) > 0 {
			what = "run " + strings.Join(o.Commands, ", ") + " with any arguments"
		}
		return Local{
			Lines:    []string{what + " in " + at(o.WorkingDir) + withEnv(o.Env)},
			Programs: Programs{Commands: o.Commands, WorkingDir: o.WorkingDir},
		}
	}),
	How:   "toolset in a document with --trust, or in --tools; programs of this machine",
	Gives: "a shell, or a list of programs",
	Wants: "yes",
	Page:  "toolsets/commands.md#shell",
}

var think = Kind{
	Name:      "think",
	Tools:     []string{"think"},
	Arguments: map[string][]string{"think": {"thought"}},
	How:       "toolset in a document or in --tools",
	Gives:     "a scratchpad for one run",
	Wants:     "no",
	Page:      "toolsets/memory.md#think",
}

var todo = Kind{
	Name:  "todo",
	Tools: []string{"create_todo", "create_todos", "list_todos", "update_todo", "update_todos"},
	Arguments: map[string][]string{
		"create_todo":  {"description"},
		"create_todos": {"descriptions"},
		"list_todos":   {},
		"update_todo":  {"id", "status"},
		"update_todos": {"id", "status", "updates"},
	},
	How:   "toolset in a document or in --tools",
	Gives: "a task list for one run",
	Wants: "no",
	Page:  "toolsets/memory.md#todo",
}

// unsupported lists the docker-agent types that Hocket cannot open.
var unsupported = []Kind{
	{Name: "a2a", Unsupported: true}, {Name: "background_agents", Unsupported: true},
	{Name: "background_jobs", Unsupported: true}, {Name: "environment", Unsupported: true},
	{Name: "file", Unsupported: true}, {Name: "files", Unsupported: true}, {Name: "git", Unsupported: true},
	{Name: "handoff", Unsupported: true}, {Name: "http", Unsupported: true}, {Name: "lsp", Unsupported: true},
	{Name: "mcp_catalog", Unsupported: true}, {Name: "model_picker", Unsupported: true},
	{Name: "open_url", Unsupported: true}, {Name: "plan", Unsupported: true}, {Name: "rag", Unsupported: true},
	{Name: "scheduler", Unsupported: true}, {Name: "search", Unsupported: true},
	{Name: "session_context", Unsupported: true}, {Name: "session_plan", Unsupported: true},
	{Name: "tasks", Unsupported: true}, {Name: "transfer_task", Unsupported: true},
	{Name: "webhook", Unsupported: true},
}

var userPrompt = Kind{
	Name:      "user_prompt",
	Tools:     []string{"user_prompt"},
	Arguments: map[string][]string{"user_prompt": {"message", "options", "schema", "title"}},
	How:       "toolset in a document or in --tools; the run waits for the answer",
	Gives:     "questions to a person",
	Wants:     "no",
	Page:      "toolsets/people.md",
}

var webSearch = Kind{
	Name:      "web_search",
	Keys:      []string{"provider", "api_key", "base_url"},
	Tools:     []string{"web_search"},
	Arguments: map[string][]string{"web_search": {"count", "freshness", "query", "site"}},
	How: "toolset, or a tool that agents list; needs TAVILY_API_KEY, BRAVE_API_KEY or SEARXNG_URL, or search: " +
		"{native: true} in hocket.yaml",
	Gives: "web searches",
	Wants: "for `base_url` and variables",
	Page:  "toolsets/web.md#web_search",
}

var workflow = Kind{
	Name:  "workflow",
	Keys:  []string{"workflow", "version", "branch", "tool", "description", "input", "file"},
	How:   "toolset in a document or in --tools that names a stored workflow",
	Gives: "a stored workflow as a tool",
	Wants: "no",
	Page:  "toolsets/workflow.md",
}
