package cli

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/hocket-run/hocket/internal/format"
)

// converted is the output of `convert --json`.
type converted struct {
	Format string `json:"format"`
	// Refused is set if the conversion would change the meaning of the workflow; there is no
	// document in that case.
	Refused bool `json:"refused"`
	// Document is the text of the document, absent if there is none.
	Document string          `json:"document,omitempty"`
	Changes  []format.Change `json:"changes"`
}

func (a *app) convertCmd() *cobra.Command {
	var (
		from          workflowSource
		to            string
		lossy, asJSON bool
	)
	c := &cobra.Command{
		Use: "convert FILE|--workflow ID --to FORMAT", Short: "write a workflow in another format",
		Long: "Writes the same workflow in another format to standard output, and lists on\nstandard error what the " +
			"document loses, adds or expresses differently. If the format\n" +
			"cannot express something that a run depends on, nothing is written and the exit\nstatus is 2; --lossy " +
			"writes it nevertheless.",
		Example: "  hocket convert files-review.yaml --to canvas > files-review.json\n  hocket convert triage.json " +
			"--to steps > triage.yaml\n" +
			"  hocket convert --json translation.yaml --to canvas --lossy | jq '.changes[]'",
		RunE: func(c *cobra.Command, args []string) error {
			if err := checkFormat(to); err != nil {
				return err
			}
			w, err := from.document(a, c, args)
			if err != nil {
				return err
			}
			result, err := format.Convert(w, to)
			if err != nil {
				return usageErrorf("%v", err)
			}
			refused := len(result.Meaning()) > 0 && !lossy || result.Document == nil
			if asJSON {
				out := converted{Format: to, Refused: refused, Changes: append([]format.Change{}, result.Changes...)}
				if !refused {
					out.Document = string(result.Document)
				}
				if err := writeJSON(a.Out, out, a.OutTerminal); err != nil {
					return err
				}
			} else {
				a.printChanges(result, to, lossy)
			}
			if refused {
				return &exit{status: ExitUse}
			}
			if asJSON {
				return nil
			}
			if _, err := a.Out.Write(result.Document); err != nil {
				return fmt.Errorf("write document: %w", err)
			}
			return nil
		},
	}
	c.Flags().StringVar(&to, "to", "", "`FORMAT` to write: "+orList(format.Names()))
	c.Flags().BoolVar(&lossy, "lossy", false, "write the document even if it runs differently")
	c.Flags().BoolVar(&asJSON, "json", false, "print the document and the list of changes as JSON")
	from.add(a, c)
	must(c.RegisterFlagCompletionFunc("to", cobra.FixedCompletions(format.Names(), cobra.ShellCompDirectiveNoFileComp)))
	return c
}

func checkFormat(to string) error {
	if to == "" {
		return usageErrorf("--to is required: the format to write, %s", orList(format.Names()))
	}
	if slices.Contains(format.Names(), to) {
		return nil
	}
	err := mustBe("to", orList(format.Names()), to)
	if slices.Contains(drawings, to) {
		err = usageErrorf("%v; hocket show --as %s draws it", err, to)
	}
	return err
}

// printChanges lists on standard error how the conversion changed the workflow.
func (a *app) printChanges(result format.Conversion, to string, lossy bool) {
	meaning := result.Meaning()
	kept := result.Changes[:len(result.Changes)-len(meaning)]
	switch {
	case len(meaning) == 0:
	case result.Document == nil:
		fmt.Fprintf(a.Err, "hocket: a %s document cannot express this, and does not load without it:\n", to)
	case lossy:
		fmt.Fprintf(a.Err,
			"hocket: warning: the document runs differently, because a %s document cannot express this:\n", to)
	default:
		fmt.Fprintf(a.Err, "hocket: not converted: the document would run differently, because a %s document cannot "+
			"express this:\n", to)
	}
	for _, m := range meaning {
		fmt.Fprintf(a.Err, "  %s: %s\n", m.At, m.What)
	}
	if len(meaning) > 0 && result.Document != nil && !lossy {
		fmt.Fprintln(a.Err, "hint: --lossy writes the document without it")
		return
	}
	if len(kept) == 0 || a.quiet || result.Document == nil {
		return
	}
	fmt.Fprintln(a.Err, "the document runs as before, with these differences:")
	for _, k := range grouped(kept) {
		fmt.Fprintf(a.Err, "  %s\n", k)
	}
}

// grouped merges changes that differ only in their location, in order of first occurrence.
func grouped(changes []format.Change) []format.Change {
	var out []format.Change
	for _, c := range changes {
		i := slices.IndexFunc(out, func(o format.Change) bool {
			return o.Kind == c.Kind && o.What == c.What && o.Why == c.Why
		})
		if i < 0 {
			out = append(out, c)
			continue
		}
		out[i].At += ", " + c.At
	}
	return out
}
