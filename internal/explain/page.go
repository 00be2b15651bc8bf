package explain

import (
	"fmt"
	"strings"
)

// sections are the headings of the page, by kind.
var sections = []struct{ kind, title, text string }{
	{Document, "Documents", "`hocket validate` prints these in parentheses behind the message, and the HTTP API as `code` of `diagnostics`. Each can be an error or a warning; only an\nerror keeps a document from running."},
	{Graph, "Graphs", "The graph of a document or of a Go program is checked as a whole. Most documents meet the codes above first."},
	{Run, "Runs, steps and calls", "The `code` of a failed run, step or call, in `hocket runs show`, in events and in the HTTP API. `retry: {on: [...]}` of a step names them."},
	{API, "Servers", "The `code` of a problem (`application/problem+json`) over HTTP, and of errors of the MCP server and the OpenAI endpoint."},
	{Exit, "Exit statuses", "What the command line ends with."},
}

// Page gives docs/diagnostics.md.
func Page() string {
	var b strings.Builder
	b.WriteString("# Errors and diagnostic codes\n\nEach problem has a code that does not change. `hocket explain CODE` prints its entry, `hocket explain` lists all of them.\n" +
		"This page is made of the same table: `go test ./internal/explain -update`.\n")
	for _, s := range sections {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n| code | meaning | cause | repair |\n| --- | --- | --- | --- |\n", s.title, s.text)
		for _, e := range All() {
			if e.Kind == s.kind {
				fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", e.Code, e.Meaning, e.Cause, e.Repair)
			}
		}
	}
	return b.String()
}
