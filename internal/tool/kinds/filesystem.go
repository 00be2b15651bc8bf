package kinds

import "strings"

// PostEdit is a command of a toolset of type filesystem that runs after a file whose path matches
// the pattern Path was written.
type PostEdit struct {
	Path string `json:"path"`
	Cmd  string `json:"cmd"`
}

var filesystem = Kind{
	Name: "filesystem",
	Keys: []string{"path", "read_only", "ignore_vcs", "post_edit", "own_files"},
	Tools: []string{
		"create_directory", "directory_tree", "edit_file", "list_directory", "move_file", "read_file",
		"read_multiple_files", "remove_directory", "search_files",
		"search_files_content", "write_file",
	},
	Arguments: map[string][]string{
		"create_directory":     {"paths"},
		"directory_tree":       {"maxDepth", "path"},
		"edit_file":            {"edits", "newText", "oldText", "path", "replaceAll"},
		"list_directory":       {"path"},
		"move_file":            {"destination", "source"},
		"read_file":            {"limit", "offset", "path"},
		"read_multiple_files":  {"json", "paths"},
		"remove_directory":     {"paths", "recursive"},
		"search_files":         {"excludePatterns", "path", "pattern"},
		"search_files_content": {"excludePatterns", "is_regex", "path", "query"},
		"write_file":           {"content", "path"},
	},
	Path:    "path",
	Guarded: true,
	Local: local(func(o struct {
		Path     string     `json:"path"`
		ReadOnly bool       `json:"read_only"`
		PostEdit []PostEdit `json:"post_edit"`
		OwnFiles []string   `json:"own_files"`
	}, at At,
	) Local {
		verb := "read and write files"
		if o.ReadOnly {
			verb = "read files"
		}
		l := Local{Lines: []string{verb + " under " + at(o.Path)}}
		if len(o.OwnFiles) > 0 {
			l.Lines = append(l.Lines, "access the operator's own files: "+strings.Join(o.OwnFiles, ", "))
		}
		for _, p := range o.PostEdit {
			l.Lines = append(l.Lines, "run "+oneLine(p.Cmd)+" after edits of "+p.Path)
			l.Programs.Lines = append(l.Programs.Lines, ProgramLine{p.Cmd, o.Path})
		}
		return l
	}),
	How:   "toolset in a document with --trust, or in --tools; the files under one folder",
	Gives: "files below one folder",
	Wants: "yes",
	Page:  "toolsets/files.md",
}
