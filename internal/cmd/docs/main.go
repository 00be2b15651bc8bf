// Command docs writes the command line reference docs/cli.md from the commands themselves.
package main

import (
	"fmt"
	"os"

	"github.com/hocket-run/hocket/internal/cli"
)

func main() {
	if err := os.WriteFile("docs/cli.md", []byte(cli.Reference()), 0o644); err != nil { //nolint:gosec // a page for everybody
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
