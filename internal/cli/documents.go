package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/format"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/internal/show"
)

func (a *app) validateCmd() *cobra.Command {
	var (
		opts   service.LoadOptions
		asJSON bool
	)
	c := &cobra.Command{
		Use: "validate FILE...", Short: "check documents and print every problem",
		Long: "Checks documents and prints every problem as FILE:LINE:COL: severity: message (code). Ends with 0, or 2 where a document cannot run.",
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			all := diag.List{}
			for _, path := range args {
				data, err := service.ReadFile(path, a.In)
				if err != nil {
					var inv *service.InvalidError
					if !errors.As(err, &inv) {
						return err
					}
					all.Errorf(diag.Span{File: path}, "", "unreadable", "%s", inv.Message)
					continue
				}
				_, problems, err := service.Load(path, data, opts)
				if err != nil {
					return err
				}
				problems.Sort()
				all = append(all, problems...)
			}
			if asJSON {
				if err := writeJSON(a.Out, all, a.OutTerminal); err != nil {
					return err
				}
			} else {
				colour := newPalette(a.OutTerminal && a.color.on)
				for _, d := range all {
					if d.Severity == diag.Error || !a.quiet {
						fmt.Fprintln(a.Out, colour.diagnostic(d))
					}
				}
			}
			if all.HasErrors() {
				return &exit{status: ExitUse}
			}
			if !a.quiet && !asJSON && len(all) == 0 {
				fmt.Fprintln(a.Err, "no problems found")
			}
			return nil
		},
	}
	c.Flags().StringVar(&opts.Format, "format", "", "canvas or steps (default: detected)")
	c.Flags().StringVar(&opts.AgentsFile, "agents", "", "`FILE` with agent definitions")
	c.Flags().BoolVar(&asJSON, "json", false, "print a list of problems as JSON")
	return c
}

func (a *app) showCmd() *cobra.Command {
	var (
		opts service.LoadOptions
		as   string
	)
	c := &cobra.Command{
		Use: "show FILE", Short: "draw a workflow", Args: cobra.ExactArgs(1),
		Example: "  hocket show newsroom.yaml\n  hocket show newsroom.yaml --as svg > newsroom.svg",
		RunE: func(_ *cobra.Command, args []string) error {
			w, err := a.load(args[0], opts)
			if err != nil {
				return err
			}
			var text string
			switch as {
			case "tree":
				text = show.Tree(w)
			case "mermaid":
				text = show.Mermaid(w)
			case "dot":
				text = show.DOT(w)
			case "svg":
				var svg []byte
				if svg, err = show.SVG(w); err != nil {
					return err
				}
				text = string(svg)
			default:
				return usef("--as %q: it is tree, mermaid, dot or svg", as)
			}
			if _, err := fmt.Fprint(a.Out, text); err != nil {
				return fmt.Errorf("write picture: %w", err)
			}
			return nil
		},
	}
	c.Flags().StringVar(&as, "as", "tree", "tree, mermaid, dot or svg")
	c.Flags().StringVar(&opts.Format, "format", "", "canvas or steps (default: detected)")
	c.Flags().StringVar(&opts.AgentsFile, "agents", "", "`FILE` with agent definitions")
	must(c.RegisterFlagCompletionFunc("as", cobra.FixedCompletions([]string{"tree", "mermaid", "dot", "svg"}, cobra.ShellCompDirectiveNoFileComp)))
	return c
}

func (a *app) convertCmd() *cobra.Command {
	var (
		opts service.LoadOptions
		to   string
	)
	c := &cobra.Command{
		Use: "convert FILE --to FORMAT", Short: "write a workflow in another format",
		Long: "Writes the same workflow in another format on standard output, or says exactly what that format cannot say and ends with 2.",
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if to == "" {
				return usef("say the format: --to canvas or --to steps")
			}
			w, err := a.load(args[0], opts)
			if err != nil {
				return err
			}
			text, unsaid, err := format.Write(w, to)
			if err != nil {
				return usef("%v", err)
			}
			if len(unsaid) > 0 {
				fmt.Fprintf(a.Err, "hocket: a %s document cannot say this:\n", to)
				for _, u := range unsaid {
					fmt.Fprintf(a.Err, "  %s\n", u)
				}
				return &exit{status: ExitUse}
			}
			if _, err := a.Out.Write(text); err != nil {
				return fmt.Errorf("write document: %w", err)
			}
			return nil
		},
	}
	c.Flags().StringVar(&to, "to", "", "canvas or steps")
	c.Flags().StringVar(&opts.Format, "format", "", "format of FILE (default: detected)")
	c.Flags().StringVar(&opts.AgentsFile, "agents", "", "`FILE` with agent definitions")
	must(c.RegisterFlagCompletionFunc("to", cobra.FixedCompletions([]string{"canvas", "steps"}, cobra.ShellCompDirectiveNoFileComp)))
	return c
}
