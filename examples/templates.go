// Package examples provides the templates of `hocket init`: some of the folders next to it, which
// are also the examples of the documentation.
//
// A template consists of the document, the reply script and the other files that the document
// needs, and a README.md: its first line is a title, its first paragraph says what the workflow
// does, and its command blocks run as written in a folder that holds only the template. Files that
// only the tests of the examples read (input.txt, output.txt and the like) are not part of it.
//
// The package is for Hocket's own command line. It is not covered by the compatibility policy.
package examples

import (
	"embed"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
)

//go:embed chat/README.md chat/chat.json chat/replies.yaml
//go:embed triage/README.md triage/triage.json triage/replies.yaml
//go:embed translation/README.md translation/translation.yaml translation/replies.yaml
//go:embed research/README.md research/research.yaml research/replies.yaml
//go:embed code-review/README.md code-review/code-review.json code-review/replies.yaml
//go:embed expenses/README.md expenses/expenses.yaml expenses/replies.yaml expenses/receipts
//go:embed newsdesk/README.md newsdesk/newsdesk.json newsdesk/replies.yaml
//go:embed support-desk/README.md support-desk/support-desk.yaml support-desk/replies.yaml support-desk/tools.yaml
var folders embed.FS

// Template is a starter project.
type Template struct {
	// Name is the template's name in `hocket init`, in lower case with hyphens.
	Name string
	// Folder is the folder of the example, a path without slashes.
	Folder string
	// Format is the name of the format of the document.
	Format string
	// Summary says in a few words what the workflow does, without a final period.
	Summary string
}

// Templates returns the templates in the order in which they are offered. The caller owns the
// slice.
func Templates() []Template {
	return []Template{
		{"chat", "chat", "routes", "a conversation with an assistant, over as many turns as you like"},
		{"router", "triage", "canvas", "a classifier sends each request to the agent that fits"},
		{"evaluator", "translation", "steps", "a reviewer sends the work back until it is good, five times at most"},
		{"research", "research", "steps", "several agents work side by side, and one writes the report"},
		{"approval", "code-review", "canvas", "a person approves the work or sends it back with a note"},
		{"tools", "expenses", "steps", "an agent reads files, runs a command and writes a report, within permissions"},
		{"schedule", "newsdesk", "rounds",
			"workflows that start by themselves: each morning, and again after each end"},
		{"support-desk", "support-desk", "steps", "a desk hands over to billing, and a person approves the refund"},
	}
}

// Files returns the files of the template ordered by path; paths are relative and slash-separated.
// It returns an error if t is not one of [Templates].
func (t Template) Files() ([]File, error) {
	var files []File
	err := fs.WalkDir(folders, t.Folder, func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := folders.ReadFile(name)
		files = append(files, File{strings.TrimPrefix(name, t.Folder+"/"), data})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read template %s: %w", t.Name, err)
	}
	return files, nil
}

// File is one file of a template.
type File struct {
	Path string // relative, slash-separated
	Data []byte
}

// block matches a block of commands of a README, including a preceding comment that says why no
// test runs it.
var block = regexp.MustCompile("(?s)(<!-- not run: [^\n]*-->\n+)?```sh\n(.*?)```")

// Commands returns the commands of the template's README.md line by line, with their comments:
// offline holds those that run as they are, withModel those that need a model and its API key. It
// returns the same errors as Files.
func (t Template) Commands() (offline, withModel []string, err error) {
	readme, err := folders.ReadFile(path.Join(t.Folder, "README.md"))
	if err != nil {
		return nil, nil, fmt.Errorf("read template %s: %w", t.Name, err)
	}
	for _, m := range block.FindAllSubmatch(readme, -1) {
		lines := slices.Collect(strings.SplitSeq(strings.TrimSpace(string(m[2])), "\n"))
		if len(m[1]) > 0 {
			withModel = append(withModel, lines...)
		} else {
			offline = append(offline, lines...)
		}
	}
	return offline, withModel, nil
}
