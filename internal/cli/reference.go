package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// Reference gives the page of all verbs and flags in Markdown, made from the commands themselves.
func Reference() string {
	a := &app{Streams: Streams{Env: func(string) string { return "" }}}
	root := a.root()
	var b strings.Builder
	b.WriteString("# Command line\n\nMade by `make docs`; do not edit. Flags may stand before or after arguments.\n")
	describe(&b, root, 2)
	return b.String()
}

func describe(b *strings.Builder, c *cobra.Command, level int) {
	if c.Hidden || c.Name() == "help" {
		return
	}
	fmt.Fprintf(b, "\n%s %s\n\n", strings.Repeat("#", level), c.CommandPath())
	text := c.Long
	if text == "" {
		text = c.Short
	}
	fmt.Fprintf(b, "%s\n", strings.TrimSpace(text))
	if c.Runnable() {
		fmt.Fprintf(b, "\n```\n%s\n```\n", c.UseLine())
	}
	if c.Example != "" {
		fmt.Fprintf(b, "\n```sh\n%s\n```\n", strings.TrimSpace(strings.ReplaceAll(c.Example, "\n  ", "\n")))
	}
	if flags := strings.TrimRight(c.LocalFlags().FlagUsages(), "\n"); flags != "" {
		fmt.Fprintf(b, "\n```\n%s\n```\n", flags)
	}
	for _, sub := range c.Commands() {
		describe(b, sub, min(level+1, 4))
	}
}
