package cli

import (
	"cmp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hocket-run/hocket/internal/format"
	"github.com/hocket-run/hocket/internal/price"
	"github.com/hocket-run/hocket/internal/service"
)

// addLoadFlags adds the flags that control how a document is read.
func addLoadFlags(c *cobra.Command, o *service.LoadOptions) {
	f := c.Flags()
	f.StringVar(&o.Format, "format", "", "`FORMAT` of the document, "+orList(format.Names())+" (default: detected)")
	f.StringVar(&o.AgentsFile, "agents", "",
		"`FILE` with agent definitions; definitions in the document take precedence")
	addAllowUnknown(c, &o.AllowUnknown)
	must(c.RegisterFlagCompletionFunc("format",
		cobra.FixedCompletions(format.Names(), cobra.ShellCompDirectiveNoFileComp)))
	must(c.MarkFlagFilename("agents", documentExtensions...))
}

// addAllowUnknown adds the flag that makes unknown names warnings.
func addAllowUnknown(c *cobra.Command, allow *bool) {
	c.Flags().BoolVar(allow, "allow-unknown", false,
		"report unknown keys and toolset types as warnings, not as misspellings")
}

// documentExtensions are the file extensions of documents.
var documentExtensions = []string{"yaml", "yml", "json"}

// documents completes names of documents.
func documents(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return documentExtensions, cobra.ShellCompDirectiveFilterFileExt
}

// firstIsDocument completes the name of one document.
func firstIsDocument(c *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return documents(c, args, prefix)
}

// fileFlags name the files used along with a document.
type fileFlags struct {
	tools, replies, prices string
	allowUnknown           bool
}

func (ff *fileFlags) add(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&ff.tools, "tools", "", "`FILE` with additional toolsets (toolsets:), which are trusted")
	f.StringVar(&ff.replies, "replies", "", "`FILE` with a reply script that answers model calls: no network, no key")
	f.StringVar(&ff.prices, "prices", "", "`FILE` with model prices, which override the built-in prices")
	must(c.MarkFlagFilename("prices", documentExtensions...))
	must(c.MarkFlagFilename("tools", documentExtensions...))
	must(c.MarkFlagFilename("replies", documentExtensions...))
}

// files reads the files named by flags, prints their problems and returns them if they are usable.
func (a *app) files(ff fileFlags) (f service.Files, err error) {
	f.ToolsFile, f.RepliesFile, f.AllowUnknown = ff.tools, ff.replies, ff.allowUnknown
	if ff.tools != "" {
		if f.Tools, err = service.ReadFile(ff.tools, a.In); err != nil {
			return f, err
		}
	}
	if ff.replies != "" {
		if f.Replies, err = service.ReadFile(ff.replies, a.In); err != nil {
			return f, err
		}
	}
	problems := f.Problems()
	if ff.prices != "" {
		data, err := service.ReadFile(ff.prices, a.In)
		if err != nil {
			return f, err
		}
		table, more := price.Parse(ff.prices, data)
		a.prices, problems = table.Over(cmp.Or(a.prices, price.Default())), append(problems, more...)
	}
	return f, a.refuse(problems)
}

// orList joins words as `a, b or c`.
func orList(words []string) string {
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}
