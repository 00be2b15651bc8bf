package cli

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/docschema"
)

// schemaLine is a line of `schema --json`.
type schemaLine struct {
	Name  string `json:"name"`
	Title string `json:"title"`
	ID    string `json:"id"`
}

func (a *app) schemaCmd() *cobra.Command {
	var (
		output string
		asJSON bool
	)
	c := &cobra.Command{
		Use: "schema [FORMAT]", Short: "print the JSON Schema of a kind of document",
		Long: "Prints the JSON Schema (draft 2020-12) of a kind of document: a workflow in one\nof the formats, a " +
			"list of agents, a tools file, a reply script, or\nhocket.yaml (config). " +
			"Without FORMAT it lists them.\n\nEditors check a YAML document whose first line is\n  # " +
			"yaml-language-server: $schema=ADDRESS\nand a JSON document with the key \"$schema\".",
		Example:           "  hocket schema\n  hocket schema steps --output steps.schema.json",
		Args:              checkArgs("[FORMAT]"),
		ValidArgsFunction: cobra.FixedCompletions(docschema.Names(), cobra.ShellCompDirectiveNoFileComp),
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				if output != "" {
					return usageErrorf("--output needs FORMAT: %s", orList(docschema.Names()))
				}
				return a.listSchemas(asJSON)
			}
			text, err := docschema.Get(args[0])
			if err != nil {
				hint := diag.DidYouMean(args[0], docschema.Names())
				if hint == "" {
					hint = "the schemas are " + orList(docschema.Names())
				}
				return usageErrorf("%v; %s", err, hint)
			}
			if output != "" {
				if err := os.WriteFile(output, text, 0o644); err != nil { //nolint:gosec // it holds nothing secret
					return fmt.Errorf("write schema: %w", err)
				}
				return nil
			}
			if _, err := a.Out.Write(text); err != nil {
				return fmt.Errorf("write schema: %w", err)
			}
			return nil
		},
	}
	c.Flags().StringVarP(&output, "output", "o", "", "write to this `FILE`")
	c.Flags().BoolVar(&asJSON, "json", false, "print the list as JSON")
	return c
}

func (a *app) listSchemas(asJSON bool) error {
	lines := []schemaLine{}
	for _, name := range docschema.Names() {
		lines = append(lines, schemaLine{Name: name, Title: docschema.Title(name), ID: docschema.ID(name)})
	}
	if asJSON {
		return writeJSON(a.Out, lines, a.OutTerminal)
	}
	return printTable(a, lines, "", "", func(l schemaLine) []string { return []string{l.Name, l.Title} })
}
