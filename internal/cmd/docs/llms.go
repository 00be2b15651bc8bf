package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/hocket-run/hocket/internal/format"
)

// llms returns docs/llms.txt, as llmstxt.org describes it: all pages under docs with their titles,
// so that an assistant finds the page that it needs. Decision records are left out.
func llms(docs fs.FS) (string, error) {
	sections := []*section{{title: "Guides"}, {title: "Command line"}, {title: "Machine-readable"}}
	err := fs.WalkDir(docs, ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		ext := path.Ext(name)
		switch {
		case e.IsDir() && name == "adr":
			return fs.SkipDir
		case e.IsDir():
			return nil
		case ext == ".json":
			sections[2].add(name, strings.TrimSuffix(name, ext))
			return nil
		case ext != ".md":
			return nil
		}
		text, err := fs.ReadFile(docs, name)
		if err != nil {
			return err
		}
		first, _, _ := bytes.Cut(text, []byte("\n"))
		title, ok := strings.CutPrefix(string(first), "# ")
		if !ok {
			return fmt.Errorf("%s does not begin with a title", name)
		}
		at := sections[0]
		if strings.HasPrefix(name, "cli/") {
			at = sections[1]
		}
		at.add(name, strings.TrimSpace(title))
		return nil
	})
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString("# Hocket\n\n> An engine for agent workflows: graphs of agents, tools, conditions, loops, parallel " +
		"branches and human decisions, run durably by one\n> program, from documents (" + strings.Join(format.Names(),
		", ") + ") or from Go.\n\n" +
		"`hocket init` writes a project to begin with, `hocket validate FILE` checks a document, `hocket run FILE " +
		"--replies REPLIES` runs it without a model.\n")
	for _, s := range sections {
		fmt.Fprintf(&b, "\n## %s\n\n%s", s.title, s.lines.String())
	}
	return b.String(), nil
}

// section is a heading and the lines under it.
type section struct {
	title string
	lines strings.Builder
}

func (s *section) add(name, title string) { fmt.Fprintf(&s.lines, "- [%s](%s)\n", title, name) }
