package kinds

var filesystem = Kind{
	Name: "filesystem",
	Keys: []string{"path", "read_only", "ignore_vcs", "post_edit", "own_files"},
	Tools: []string{
		"create_directory", "directory_tree", "edit_file", "list_directory", "move_file", "read_file", "read_multiple_files", "remove_directory", "search_files",
		"search_files_content", "write_file",
	},
	Path:    "path",
	Guarded: true,
	How:     "toolset in a document with --trust, or in --tools; the files under one folder",
	Gives:   "files below one folder",
	Wants:   "yes",
	Page:    "toolsets/files.md",
}
