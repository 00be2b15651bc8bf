package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/config"
	"github.com/hocket-run/hocket/internal/documents/linked"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/internal/show"
	"github.com/hocket-run/hocket/workflow"
)

func (a *app) validateCmd() *cobra.Command {
	var (
		opts   service.LoadOptions
		asJSON bool
	)
	c := &cobra.Command{
		Use: "validate FILE…", Short: "check documents and print every problem",
		Long: "Checks documents and prints every problem as\nFILE:LINE:COL: severity: message (code). The exit " +
			"status is 0, or 2 if a\ndocument cannot run.",
		Example: "  hocket validate *.yaml\n  hocket validate --json newsroom.yaml | jq '.[].message'",
		Args:    checkArgs("FILE…"), ValidArgsFunction: documents,
		RunE: func(c *cobra.Command, args []string) error {
			all := diag.List{}
			if used, _ := config.Find(a.configFile, a.Env); !slices.ContainsFunc(args, func(p string) bool {
				return sameFile(p, used)
			}) {
				all = append(all, a.operatorBad...)
			}
			for _, path := range args {
				problems, err := a.problems(c.Context(), path, opts)
				if err != nil {
					return err
				}
				problems.Sort()
				problems = hinted(problems)
				all = append(all, problems...)
			}
			if asJSON {
				if err := writeJSON(a.Out, all, a.OutTerminal); err != nil {
					return err
				}
			} else {
				for _, d := range all {
					if d.Severity == diag.Error || !a.quiet {
						fmt.Fprintln(a.Out, a.outColor.diagnostic(d))
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
	addLoadFlags(c, &opts)
	c.Flags().BoolVar(&asJSON, "json", false, "print a list of problems as JSON")
	return c
}

// problems returns all problems of a document; failing to read it is a problem too.
func (a *app) problems(ctx context.Context, path string, opts service.LoadOptions) (diag.List, error) {
	data, err := service.ReadFile(path, a.In)
	var invalid *service.InvalidError
	switch {
	case errors.As(err, &invalid):
		var list diag.List
		list.Errorf(diag.Span{File: path}, "", "unreadable", "%s",
			strings.TrimPrefix(strings.TrimPrefix(invalid.Error(), path+": "), path+" ")).Hint = a.nextStep(err)
		return list, nil
	case err != nil:
		return nil, err
	}
	if a.isConfig(path) {
		_, list := config.Read(path, data)
		return list, nil
	}
	opts.Catalog, opts.Operator, opts.Env = a.catalogAgents, a.operator, a.Env
	opts.Retired, opts.Folder = true, dirOf(path)
	_, problems, err := loadDocument(ctx, path, data, opts)
	return problems, err
}

// drawings are the output formats for drawing workflows.
var drawings = []string{"tree", "mermaid", "dot", "svg"}

func (a *app) showCmd() *cobra.Command {
	var (
		from workflowSource
		as   string
	)
	c := &cobra.Command{
		Use: "show FILE|--workflow ID", Short: "draw a workflow",
		Example: "  hocket show newsroom.yaml\n  hocket show newsroom.yaml --as svg > newsroom.svg\n  hocket show " +
			"--workflow newsroom",
		RunE: func(c *cobra.Command, args []string) error {
			w, err := from.read(a, c, args)
			if err != nil {
				return err
			}
			if len(args) > 0 {
				nameAfter(w, args[0])
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
				return mustBe("as", strings.Join(drawings, ", "), as)
			}
			if _, err := fmt.Fprint(a.Out, text); err != nil {
				return fmt.Errorf("write picture: %w", err)
			}
			return nil
		},
	}
	c.Flags().StringVar(&as, "as", "tree", "output `FORMAT`: tree, mermaid, dot or svg")
	from.add(a, c)
	must(c.RegisterFlagCompletionFunc("as", cobra.FixedCompletions(drawings, cobra.ShellCompDirectiveNoFileComp)))
	return c
}

// loadDocument reads a document of any format.
func loadDocument(ctx context.Context, file string, data []byte, opts service.LoadOptions) (
	*workflow.Workflow, diag.List, error) {
	opts.Formats = linked.Kit().Formats
	return service.Load(ctx, file, data, opts)
}
