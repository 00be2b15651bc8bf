package cli

import "github.com/spf13/cobra"

// Command gives the command of the command line, for what is generated from it: completion scripts and manual pages. Running it does nothing useful; that is [Main].
func Command() *cobra.Command {
	a := &app{Streams: Streams{Env: func(string) string { return "" }}}
	root := a.root()
	root.DisableAutoGenTag = true // manual pages are the same whenever they are generated
	return root
}
