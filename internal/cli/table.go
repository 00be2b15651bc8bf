package cli

import (
	"fmt"
	"strings"
	"text/tabwriter"
)

// printTable prints one line per item, in columns under header, which is empty or has tabs between
// columns. If there are no items, it prints none on standard error, unless none is empty or the
// command is quiet. The caller must pass text from documents through clean.
func printTable[T any](a *app, items []T, none, header string, row func(T) []string) error {
	if len(items) == 0 {
		if none != "" && !a.quiet {
			fmt.Fprintln(a.Err, none)
		}
		return nil
	}
	t := tabwriter.NewWriter(a.Out, 0, 0, 2, ' ', 0)
	if header != "" {
		fmt.Fprintln(t, header)
	}
	for _, item := range items {
		fmt.Fprintln(t, strings.Join(row(item), "\t"))
	}
	if err := t.Flush(); err != nil {
		return fmt.Errorf("write list: %w", err)
	}
	return nil
}
