package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/explain"
)

func (a *app) explainCmd() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "explain [CODE]", Short: "explain the code of an error or a problem",
		Long: "Prints the meaning of a code, its causes and how to repair it. Codes are those\nthat hocket validate " +
			"prints in parentheses, those of failed runs and calls,\n" +
			"those of server responses, and exit statuses. Without CODE it lists all codes.",
		Example: "  hocket explain unknown-key\n  hocket explain rate_limit\n  hocket explain --json | jq -r " +
			"'.[].code'",
		Args: checkArgs("[CODE]"), ValidArgsFunction: cobra.FixedCompletions(explain.Codes(),
			cobra.ShellCompDirectiveNoFileComp),
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return a.listCodes(asJSON)
			}
			code := strings.Trim(strings.TrimSpace(args[0]), "()")
			e, ok := explain.Find(code)
			if !ok {
				if other := strings.ReplaceAll(code, "_", "-"); other != code {
					e, ok = explain.Find(other)
				} else {
					e, ok = explain.Find(strings.ReplaceAll(code, "-", "_"))
				}
			}
			if !ok {
				hint := diag.DidYouMean(code, explain.Codes())
				if hint == "" {
					hint = "`hocket explain` lists all codes"
				}
				return usageErrorf("unknown code %q; %s", code, hint)
			}
			if asJSON {
				return writeJSON(a.Out, e, a.OutTerminal)
			}
			text := fmt.Sprintf("%s (%s)\n%s\n\nCause:  %s\nRepair: %s\n", e.Code, e.Kind, e.Meaning, e.Cause, e.Repair)
			if e.Wrong != "" {
				text += fmt.Sprintf("\nWrong:  %s\nRight:  %s\n", e.Wrong, e.Right)
			}
			if _, err := fmt.Fprint(a.Out, text); err != nil {
				return fmt.Errorf("write explanation: %w", err)
			}
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return c
}

// listCodes prints one line per code, grouped by kind.
func (a *app) listCodes(asJSON bool) error {
	all := explain.All()
	if asJSON {
		return writeJSON(a.Out, all, a.OutTerminal)
	}
	kind := ""
	for _, e := range all {
		if e.Kind != kind {
			if kind != "" {
				fmt.Fprintln(a.Out)
			}
			kind = e.Kind
			fmt.Fprintf(a.Out, "%s:\n", kind)
		}
		if _, err := fmt.Fprintf(a.Out, "  %-26s %s\n", e.Code, e.Meaning); err != nil {
			return fmt.Errorf("write codes: %w", err)
		}
	}
	return nil
}
