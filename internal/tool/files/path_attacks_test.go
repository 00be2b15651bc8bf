package files_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/tool"
)

// TestRules_PathAttacks tries ways around the rule `*:path=private/*`: each call would reach, move
// or create something in the folder.
func TestRules_PathAttacks(t *testing.T) {
	t.Parallel()
	for name, try := range map[string]func(dir string) (string, obj){
		"last of many": func(string) (string, obj) {
			return "read_multiple_files", obj{"paths": []string{"notes.md", "pub/open.md", "notes.md",
				"private/diary.md"}}
		},
		"many, absolute": func(dir string) (string, obj) {
			return "read_multiple_files", obj{"paths": []string{filepath.Join(dir, "private/diary.md")}}
		},
		"many, by a chain of links": func(string) (string, obj) {
			return "read_multiple_files", obj{"paths": []string{"chain/diary.md"}}
		},
		"many, by a link to the file": func(string) (string, obj) {
			return "read_multiple_files", obj{"paths": []string{"pub/d.md"}}
		},
		"many, detour": func(string) (string, obj) {
			return "read_multiple_files", obj{"paths": []string{"pub/../private/diary.md"}}
		},
		"move, capitals": func(string) (string, obj) {
			return "move_file", obj{"source": "PRIVATE/diary.md", "destination": "x"}
		},
		"move, folder with a slash": func(string) (string, obj) {
			return "move_file", obj{"source": "private/", "destination": "x"}
		},
		"move, folder with a dot": func(string) (string, obj) {
			return "move_file", obj{"source": "private/.", "destination": "x"}
		},
		"move, folder, absolute": func(dir string) (string, obj) {
			return "move_file", obj{"source": filepath.Join(dir, "private"), "destination": "x"}
		},
		"move, folder, detour": func(string) (string, obj) {
			return "move_file", obj{"source": "pub/../private", "destination": "x"}
		},
		"move through a link to the folder": func(string) (string, obj) {
			return "move_file", obj{"source": "pub/l/diary.md", "destination": "x"}
		},
		"move, new name in the folder": func(string) (string, obj) {
			return "move_file", obj{"source": "private/diary.md", "destination": "private/other.md"}
		},
		"move into a new folder in it": func(string) (string, obj) {
			return "move_file", obj{"source": "notes.md", "destination": "private/new/notes.md"}
		},
		"move into it, absolute": func(dir string) (string, obj) {
			return "move_file", obj{"source": "notes.md", "destination": dir + "/private/notes.md"}
		},
		"move into it, chain": func(string) (string, obj) {
			return "move_file", obj{"source": "notes.md", "destination": "chain/notes.md"}
		},
		"move a folder to be it": func(string) (string, obj) {
			return "move_file", obj{"source": "pub", "destination": "./private"}
		},
		"create below": func(string) (string, obj) {
			return "create_directory", obj{"paths": []string{"private/a/b/c"}}
		},
		"create by a link": func(string) (string, obj) {
			return "create_directory", obj{"paths": []string{"l/new"}}
		},
		"create among others": func(string) (string, obj) {
			return "create_directory", obj{"paths": []string{"a", "b", "pub/self/l/new"}}
		},
		"remove, absolute": func(dir string) (string, obj) {
			return "remove_directory", obj{"paths": []string{dir + "/private"}, "recursive": true}
		},
		"remove among others": func(string) (string, obj) {
			return "remove_directory", obj{"paths": []string{"pub", "private"}, "recursive": true}
		},
		"remove, detour": func(string) (string, obj) {
			return "remove_directory", obj{"paths": []string{"pub/../private/."}, "recursive": true}
		},
		"write through a link": func(string) (string, obj) {
			return "write_file", obj{"path": "pub/self/../l/new.md", "content": "x"}
		},
		"edit by capitals": func(string) (string, obj) {
			return "edit_file", obj{"path": "Private/diary.md", "edits": []obj{{"oldText": "canary", "newText": "x"}}}
		},
		"search in it": func(string) (string, obj) {
			return "search_files_content", obj{"path": "private/diary.md", "query": "canary"}
		},
		"tree below": func(string) (string, obj) {
			return "directory_tree", obj{"path": "private/."}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := grove(t)
			s := ruled(t, dir, "", tool.Permissions{Deny: []string{"*:path=private/*"}})
			tool, args := try(dir)
			before := state(t, dir)
			got, text := decided(t, s, tool, args)
			if got == "made" && tool != "directory_tree" {
				t.Errorf("%s: %s", got, text)
			}
			if containsCanary(text) {
				t.Errorf("it shows what is forbidden: %s", text)
			}
			same(t, before, state(t, dir))
		})
	}
}

func containsCanary(text string) bool {
	return strings.Contains(text, "canary") || strings.Contains(text, "diary.md: ")
}
