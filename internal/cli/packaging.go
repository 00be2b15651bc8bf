package cli

import "github.com/spf13/cobra"

// Command returns the command of the command line, from which completion scripts and manual pages
// are generated. Running it does nothing useful; use [Main].
func Command() *cobra.Command {
	a := &app{Streams: Streams{Env: func(string) string { return "" }}}
	root := a.root()
	root.DisableAutoGenTag = true // makes generated manual pages reproducible
	return root
}
