package cli

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/hocket-run/hocket/internal/service"
)

// workflowObject is the output of `workflows show --json`.
type workflowObject struct {
	workflowLine

	Versions []versionLine `json:"versions"`
	// Version is the version number of the document; it is null for rows that match no version.
	Version  *int   `json:"version"`
	Document string `json:"document"`
}

type versionLine struct {
	Version int    `json:"version"`
	State   string `json:"state"` // published, draft or former
	Format  string `json:"format"`
	Name    string `json:"name"`
	File    string `json:"file"`
	// Digest is the digest of the graph; it is null if agents were missing when the version was
	// stored.
	Digest    *string   `json:"digest"`
	CreatedAt time.Time `json:"createdAt"`
}

func (a *app) workflowsShowCmd() *cobra.Command {
	var (
		which  service.Which
		asJSON bool
	)
	c := &cobra.Command{
		Use: "show ID", Short: "print the document of a stored workflow, byte for byte",
		Long: "Prints the published document as it was stored, byte for byte. Rows that other\nprograms wrote are " +
			"printed as a routes document.",
		Example: "  hocket workflows show newsroom > newsroom.yaml\n  hocket workflows show newsroom --json | jq " +
			".versions",
		Args: checkArgs("ID"), ValidArgsFunction: once(a.completeWorkflow),
		RunE: func(c *cobra.Command, args []string) error {
			if err := atMostOne(c, "draft", "version"); err != nil {
				return err
			}
			if c.Flags().Changed("version") && which.Version < 1 {
				return mustBe("version", "1 or more", strconv.Itoa(which.Version))
			}
			s, err := a.openDefinitions(c, a.openExisting)
			if err != nil {
				return err
			}
			defer s.Close()
			if asJSON && !which.Draft && which.Version == 0 {
				if e, err := s.Entry(c.Context(), args[0]); err == nil && e.Published == 0 && !e.HasRows {
					which.Draft = true // there is nothing else to show
				}
			}
			d, err := s.Definition(c.Context(), args[0], which)
			if err != nil {
				return err
			}
			if asJSON {
				return a.workflowObject(c.Context(), s, d)
			}
			if d.Changed && d.Entry.Published > 0 && !a.quiet {
				fmt.Fprintf(a.Err, "the rows were changed by SQL since version %d\n", d.Entry.Published)
			}
			if a.OutTerminal {
				d.Text = []byte(printable(string(d.Text)))
			}
			if _, err := a.Out.Write(d.Text); err != nil {
				return fmt.Errorf("write document: %w", err)
			}
			return nil
		},
	}
	a.addServerFlag(c)
	c.Flags().BoolVar(&which.Draft, "draft", false, "the draft")
	c.Flags().IntVar(&which.Version, "version", 0, "the version `N`")
	c.Flags().BoolVar(&asJSON, "json", false, "print the workflow with its versions as JSON")
	return c
}

func (a *app) workflowObject(ctx context.Context, s definitions, d service.Definition) error {
	versions, err := s.Versions(ctx, d.Entry.ID)
	if err != nil {
		return err
	}
	changed, err := isChanged(ctx, s, d.Entry)
	if err != nil {
		return err
	}
	o := workflowObject{workflowLine: workflowLineOf(d.Entry, changed), Versions: []versionLine{},
		Version: some(d.Version), Document: string(d.Text)}
	for _, v := range versions {
		l := versionLine{Version: v.Number, State: "former", Format: v.Format, Name: v.Name, File: v.File,
			CreatedAt: v.Created}
		switch v.Number {
		case d.Entry.Published:
			l.State = "published"
		case d.Entry.Draft:
			l.State = "draft"
		}
		if v.Digest != "" {
			l.Digest = &v.Digest
		}
		o.Versions = append(o.Versions, l)
	}
	return writeJSON(a.Out, o, a.OutTerminal)
}
