package tool

import (
	"encoding/json"
	"maps"
	"slices"
)

// fixed are the tools of types that have the same ones everywhere.
var fixed = map[string][]string{
	TypeThink: {"think"},
	TypeTodo:  {"create_todo", "create_todos", "list_todos", "update_todo", "update_todos"},
	TypeFilesystem: {
		"create_directory", "directory_tree", "edit_file", "list_directory", "move_file", "read_file", "read_multiple_files", "remove_directory", "search_files",
		"search_files_content", "write_file",
	},
	TypeShell:      {"exec", "list_background_jobs", "run_background_job", "shell", "stop_background_job", "view_background_job"},
	TypeMemory:     {"add_memory", "delete_memory", "get_memories", "search_memories", "update_memory"},
	TypeFetch:      {"fetch"},
	TypeUserPrompt: {"user_prompt"},
	TypeWebSearch:  {"web_search"},
}

// Offers gives the names of the tools that a toolset may have, without regard to its filter (Spec.Tools), sorted. False: only its server, or the catalog, can tell.
func Offers(s Spec) ([]string, bool) {
	if names, ok := fixed[s.Type]; ok {
		return slices.Clone(names), true
	}
	var o struct {
		Shell  map[string]json.RawMessage `json:"shell"`
		Config struct {
			Name string `json:"name"`
		} `json:"api_config"`
		Tool     string `json:"tool"`
		Workflow string `json:"workflow"`
	}
	if len(s.Options) > 0 && json.Unmarshal(s.Options, &o) != nil {
		return nil, false
	}
	switch {
	case s.Type == TypeScript:
		return slices.Sorted(maps.Keys(o.Shell)), true
	case s.Type == TypeAPI && o.Config.Name != "":
		return []string{o.Config.Name}, true
	case s.Type == TypeWorkflow && o.Tool != "":
		return []string{o.Tool}, true
	case s.Type == TypeWorkflow && o.Workflow != "":
		return []string{o.Workflow}, true
	}
	return nil, false
}
