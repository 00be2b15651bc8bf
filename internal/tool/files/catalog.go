package files

import (
	"encoding/json"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/tool"
)

const (
	pathProperty    = `"path":{"type":"string","description":"Path of the file"}`
	dirProperty     = `"path":{"type":"string","description":"Path of the folder; . is the folder of the toolset"}`
	excludeProperty = `"excludePatterns":{"type":"array","items":{"type":"string"},"description":"Patterns of names ` +
		`or paths to exclude"}`
	dirsProperty = `"paths":{"type":"array","items":{"type":"string"},"minItems":1,"description":"Paths of the ` +
		`folders"}`
)

// object returns the schema of an object with the given properties and required properties.
func object(properties, required string) json.RawMessage {
	return json.RawMessage(`{"type":"object","properties":{` + properties + `},"required":[` + required +
		`],"additionalProperties":false}`)
}

// catalog holds the tools in the order in which they are offered. Their names and arguments are
// those that docker-agent documents and prompts use.
var catalog = []entry{
	{
		def: chat.ToolDef{
			Name: "read_file", Description: "Reads a text file or some of its lines",
			Parameters: object(
				pathProperty+`,"offset":{"type":"integer","minimum":1,"description":"First line, counted from `+
					`1"},"limit":{"type":"integer","minimum":1,"description":"Maximum number of lines"}`, `"path"`),
		},
		policy: tool.PolicyRetry, run: decoded(readFile),
	},
	{
		def: chat.ToolDef{
			Name: "read_multiple_files", Description: "Reads several text files in one call",
			Parameters: object(`"paths":{"type":"array","items":{"type":"string"},"minItems":1,"description":"Paths `+
				`of the files"},"json":{"type":"boolean","description":"Has no effect"}`, `"paths"`),
		},
		policy: tool.PolicyRetry, run: decoded(readFiles),
	},
	{
		def: chat.ToolDef{
			Name: "write_file", Description: "Writes a file and replaces its content. Creates missing folders",
			Parameters: object(pathProperty+`,"content":{"type":"string","description":"The whole new content"}`,
				`"path","content"`),
		},
		policy: tool.PolicyRetry, writes: true, run: decoded(writeFile),
	},
	{
		def: chat.ToolDef{
			Name: "edit_file", Description: "Replaces text in a file. Each oldText must occur in the file exactly " +
				"once, unless replaceAll is true; either all edits are made or none",
			Parameters: object(pathProperty+`,"edits":{"type":"array","minItems":1,"items":`+string(object(
				`"oldText":{"type":"string","minLength":1,"description":"Exact text in the file, including spaces `+
					`and line endings"},"newText":{"type":"string","description":"Text that replaces `+
					`it"},"replaceAll":{"type":"boolean","description":"Replace all occurrences"}`,
				`"oldText","newText"`))+`}`, `"path","edits"`),
		},
		policy: tool.PolicyAsk, writes: true, run: decoded(editFile),
	},
	{
		def: chat.ToolDef{Name: "list_directory", Description: "Lists the files and folders in a folder",
			Parameters: object(dirProperty, `"path"`)},
		policy: tool.PolicyRetry, run: decoded(listDirectory),
	},
	{
		def: chat.ToolDef{
			Name: "directory_tree", Description: "Shows a folder and the folders below it as a tree",
			Parameters: object(dirProperty+`,"maxDepth":{"type":"integer","minimum":1,"description":"Maximum depth `+
				`in folders; default 4"}`, `"path"`),
		},
		policy: tool.PolicyRetry, run: decoded(directoryTree),
	},
	{
		def: chat.ToolDef{
			Name: "search_files", Description: "Finds files and folders by a pattern of their names, such as *.go, " +
				"or of their paths, such as src/**/*.ts",
			Parameters: object(dirProperty+`,"pattern":{"type":"string","minLength":1,"description":"The pattern"},`+
				excludeProperty, `"pattern"`),
		},
		policy: tool.PolicyRetry, run: decoded(searchFiles),
	},
	{
		def: chat.ToolDef{
			Name: "search_files_content", Description: "Finds lines of text in files, with path and line number",
			Parameters: object(
				dirProperty+
					`,"query":{"type":"string","minLength":1,"description":"Text to `+
					`find"},"is_regex":{"type":"boolean","description":"query is a regular expression (RE2)"},`+
					excludeProperty, `"query"`),
		},
		policy: tool.PolicyRetry, run: decoded(searchContent),
	},
	{
		def: chat.ToolDef{
			Name: "create_directory", Description: "Creates folders, including missing parent folders",
			Parameters: object(dirsProperty, `"paths"`),
		},
		policy: tool.PolicyRetry, writes: true, run: decoded(createDirectory),
	},
	{
		def: chat.ToolDef{
			Name:        "remove_directory",
			Description: "Removes folders; recursive is required for folders that are not empty",
			Parameters: object(
				dirsProperty+`,"recursive":{"type":"boolean","description":"Also remove their contents"}`, `"paths"`),
		},
		policy: tool.PolicyAsk, writes: true, run: decoded(removeDirectory),
	},
	{
		def: chat.ToolDef{
			Name: "move_file", Description: "Moves or renames a file or folder; fails if the destination exists",
			Parameters: object(`"source":{"type":"string","description":"Current `+
				`path"},"destination":{"type":"string","description":"New path"}`, `"source","destination"`),
		},
		policy: tool.PolicyAsk, writes: true, run: decoded(moveFile),
	},
}
