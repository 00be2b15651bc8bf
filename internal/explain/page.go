package explain

import (
	"fmt"
	"strings"
)

// sections are the headings of the pages, by kind.
var sections = []struct{ kind, title, text string }{
	{Document, "Documents",
		"`hocket validate` prints these codes in parentheses after the message; the HTTP API returns them as `code` " +
			"in `diagnostics`. The same code can be an error or\na warning. Only errors prevent a document from " +
			"running."},
	{Graph, "Graphs", "The graph of a document or of a Go program is checked as a whole. In most documents the codes " +
		"above are reported first."},
	{Run, "Runs, steps and calls", "The `code` of a failed run, step or call, in `hocket runs show`, in events and " +
		"in the HTTP API. `retry: {on: [...]}` of a step lists such codes."},
	{API, "Servers", "The `code` of a problem (`application/problem+json`) over HTTP, and of errors of the MCP " +
		"server and the OpenAI endpoint."},
	{Reason, "Errors of requests", "The `reason` of a problem over HTTP and MCP, within its `code`; the command line " +
		"words the same errors. `fields` has the values that are in capitals here."},
	{Exit, "Exit statuses", "The exit statuses of the command line."},
}

// Pages returns the pages in the folder docs that are generated from the tables, by name.
func Pages() map[string]string {
	const made = "Each has a code that does not change. `hocket explain CODE` prints its entry; `hocket explain` " +
		"lists all codes.\n" +
		"This page is generated from the same tables: `go test ./internal/explain -update`.\n"
	isReason := func(kind string) bool { return kind == Reason }
	return map[string]string{
		"diagnostics.md": "# Errors and diagnostic codes\n\n" + made + "The codes of errors of requests have [a page " +
			"of their own](reasons.md).\n" + page(func(kind string) bool { return !isReason(kind) }),
		"reasons.md": "# Errors of requests and their codes\n\n" + made + page(isReason),
	}
}

// page returns the sections of the kinds for which has is true.
func page(has func(kind string) bool) string {
	var b strings.Builder
	for _, s := range sections {
		if !has(s.kind) {
			continue
		}
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n| code | meaning | cause | repair |\n| --- | --- | --- | --- |\n", s.title,
			s.text)
		for _, e := range All() {
			if e.Kind == s.kind {
				fmt.Fprintf(&b, "| `%s` | %s | %s | %s%s |\n", e.Code, e.Meaning, e.Cause, e.Repair, example(e))
			}
		}
	}
	return b.String()
}

// example returns the example of an entry, as Markdown that follows its repair.
func example(e Entry) string {
	if e.Wrong == "" {
		return ""
	}
	return fmt.Sprintf(" Wrong: %s. Right: %s.", span(e.Wrong), span(e.Right))
}

// span returns text as a Markdown code span.
func span(text string) string { return "`" + text + "`" }
