package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/hocket-run/hocket/internal/catalog"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/internal/view"
)

func (a *app) workflowsCmd() *cobra.Command {
	list := a.workflowsListCmd()
	c := &cobra.Command{
		Use: "workflows", Short: "store and publish workflows",
		Long: "Manages workflows in the store, in versions; run them by their id with\nhocket run --workflow ID. " +
			"Without a subcommand, it lists them. The tables are\n" +
			"open to other programs; see docs/catalog.md.",
		Example: "  hocket workflows apply newsroom.yaml\n  hocket workflows apply newsroom.yaml --draft && hocket " +
			"run --workflow newsroom --draft\n" +
			"  hocket workflows publish newsroom\n  hocket workflows show newsroom > newsroom.yaml",
		Args: checkArgs(), RunE: list.RunE,
	}
	c.Flags().AddFlagSet(list.Flags())
	c.AddCommand(a.workflowsApplyCmd(), list, a.workflowsShowCmd(), a.workflowsPublishCmd(), a.workflowsDeleteCmd())
	return c
}

// open opens the service on a store, which is created if it does not exist.
func (a *app) open(ctx context.Context) (*service.Service, error) {
	return service.Open(ctx, a.config())
}

// listed is open for lists of the catalog: people fill its tables with SQL, which is why the
// default store is created. It is an error if a named store does not exist.
func (a *app) listed(ctx context.Context) (*service.Service, error) {
	if err := a.requireStore(ctx); err != nil {
		return nil, err
	}
	return a.open(ctx)
}

func (a *app) workflowsApplyCmd() *cobra.Command {
	var (
		q      service.ApplyRequest
		asJSON bool
	)
	c := &cobra.Command{
		Use: "apply FILE…", Short: "store and publish documents",
		Long: "Stores documents as the next version of their workflows and publishes them.\nIf one has errors, " +
			"nothing is stored. A workflow's id is the one in the\n" +
			"document, else --id, else the name of the file. Storing the text of the\ncurrent version again changes " +
			"nothing.\n\n" +
			"The rows of a routes document are written to the tables of the store: rows with\nthe same id are " +
			"changed, and rows that are not in the file are deleted.",
		Example: "  hocket workflows apply newsroom.yaml\n  hocket workflows apply chat.json --agents agents.json " +
			"--replace",
		Args: checkArgs("FILE…"), ValidArgsFunction: documents,
		RunE: func(c *cobra.Command, args []string) error {
			q.Stdin = a.In
			docs, err := a.documents(args)
			if err != nil {
				return err
			}
			q.Documents = docs
			s, err := a.openDefinitions(c, a.open)
			if err != nil {
				return err
			}
			defer s.Close()
			done, problems, err := s.Apply(c.Context(), q)
			if err != nil {
				return err
			}
			if err := a.refuse(problems); err != nil {
				return err
			}
			return a.applied(done, q.Draft, asJSON)
		},
	}
	a.addServerFlag(c)
	addLoadFlags(c, &q.LoadOptions)
	c.Flags().Lookup("agents").Usage = "`FILE` with agent definitions, which are stored too; definitions in the " +
		"document take precedence"
	c.Flags().StringVar(&q.ID, "id", "", "`ID` of a document that has none of its own (default: the name of the file)")
	c.Flags().BoolVar(&q.Draft, "draft", false, "store a draft, and keep the published version")
	c.Flags().BoolVar(&q.Replace, "replace", false,
		"delete all rows of the workflow and write them again, in one transaction")
	c.Flags().BoolVar(&asJSON, "json", false, "print a list of what was stored as JSON")
	return c
}

// documents reads files.
func (a *app) documents(paths []string) ([]service.Document, error) {
	docs := make([]service.Document, len(paths))
	stdin := 0
	for i, path := range paths {
		if path == "-" {
			stdin++
		}
		if stdin > 1 {
			return nil, usageErrorf("standard input can be read only once, but `-` is given several times")
		}
		data, err := service.ReadFile(path, a.In)
		if err != nil {
			return nil, err
		}
		docs[i] = service.Document{File: path, Data: data}
	}
	return docs, nil
}

// appliedLine is an entry of `workflows apply --json`.
type appliedLine struct {
	ID      string `json:"id"`
	Format  string `json:"format"`
	Version int    `json:"version"`
	// Published is set if the version is the one that runs, and Unchanged if everything was already
	// stored.
	Published bool `json:"published"`
	Unchanged bool `json:"unchanged"`
}

func (a *app) applied(done service.Applied, draft, asJSON bool) error {
	if asJSON {
		lines := make([]appliedLine, len(done.Workflows))
		for i, w := range done.Workflows {
			e := w.Entry
			lines[i] = appliedLine{ID: e.ID, Format: e.Format, Version: w.Version, Published: e.Published == w.Version,
				Unchanged: w.Unchanged}
		}
		return writeJSON(a.Out, lines, a.OutTerminal)
	}
	if a.quiet {
		return nil
	}
	for _, id := range done.Agents {
		fmt.Fprintf(a.Out, "%s: agent stored\n", clean(id))
	}
	for _, w := range done.Workflows {
		state := "published"
		switch {
		case w.Unchanged && w.Entry.Published == w.Version:
			state = "unchanged, already published"
		case w.Unchanged:
			state = "unchanged, already the draft"
		case draft:
			state = "stored as a draft"
		}
		fmt.Fprintf(a.Out, "%s: version %d %s\n", clean(w.Entry.ID), w.Version, state)
	}
	return nil
}

// workflowLine is a workflow in `workflows list --json`. Version numbers are null if there is no
// such version.
type workflowLine struct {
	ID        string     `json:"id"`
	Name      string     `json:"name"`
	Format    string     `json:"format"`
	Published *int       `json:"published"`
	Draft     *int       `json:"draft"`
	Changed   bool       `json:"changedBySQL"`
	UpdatedAt *time.Time `json:"updatedAt"`

	Labels view.Labels `json:"labels"`
}

func workflowLineOf(e catalog.Entry, changed bool) workflowLine {
	l := workflowLine{ID: e.ID, Name: e.Name, Format: e.Format, Published: some(e.Published), Draft: some(e.Draft),
		Changed: changed, Labels: view.LabelsOf(e.Labels)}
	if !e.Updated.IsZero() {
		l.UpdatedAt = &e.Updated
	}
	return l
}

// some returns a pointer to n, or nil if n is 0.
func some(n int) *int {
	if n == 0 {
		return nil
	}
	return &n
}

func (a *app) workflowsListCmd() *cobra.Command {
	var (
		labels []string
		asJSON bool
	)
	c := &cobra.Command{
		Use: "list", Short: "list stored workflows", Args: checkArgs(),
		Long: "Lists stored workflows by id. Label selectors are KEY=VALUE, KEY!=VALUE,\nKEY (any value) and !KEY " +
			"(not there); a workflow has the labels of its document.",
		Example: "  hocket workflows list --label team=news",
		RunE: func(c *cobra.Command, _ []string) error {
			by, err := service.ParseLabels(labels)
			if err != nil {
				return err
			}
			s, err := a.openDefinitions(c, a.listed)
			if err != nil {
				return err
			}
			defer s.Close()
			entries, err := s.Entries(c.Context())
			if err != nil {
				return err
			}
			lines := []workflowLine{}
			for _, e := range entries {
				if !journal.Selected(by, e.Labels) {
					continue
				}
				changed, err := isChanged(c.Context(), s, e)
				if err != nil {
					return err
				}
				lines = append(lines, workflowLineOf(e, changed))
			}
			if asJSON {
				return writeJSON(a.Out, lines, a.OutTerminal)
			}
			return a.workflowTable(lines)
		},
	}
	a.addServerFlag(c)
	c.Flags().StringArrayVar(&labels, "label", nil,
		"only workflows that this `SELECTOR` of labels selects (repeatable)")
	must(c.RegisterFlagCompletionFunc("label", a.completeLabel))
	c.Flags().BoolVar(&asJSON, "json", false, "print a list as JSON")
	return c
}

// isChanged reports whether the published rows differ from every version.
func isChanged(ctx context.Context, s definitions, e catalog.Entry) (bool, error) {
	if !e.HasRows {
		return false, nil
	}
	d, err := s.Definition(ctx, e.ID, service.Which{})
	var invalid *service.InvalidError
	if errors.As(err, &invalid) || errors.Is(err, catalog.ErrNotFound) {
		return false, nil
	}
	return d.Changed, err
}

func (a *app) workflowTable(lines []workflowLine) error {
	now := time.Now()
	number := func(n *int) string {
		if n == nil {
			return "-"
		}
		return strconv.Itoa(*n)
	}
	head, labelled := "WORKFLOW\tFORMAT\tPUBLISHED\tDRAFT\tUPDATED\tNAME",
		slices.ContainsFunc(lines, func(l workflowLine) bool { return len(l.Labels) > 0 })
	if labelled {
		head += "\tLABELS"
	}
	return printTable(a, lines, "no workflows", head, func(l workflowLine) []string {
		published, updated := number(l.Published), "-"
		switch {
		case l.Changed && l.Published != nil:
			published += ", changed by SQL since"
		case l.Changed:
			published = "by SQL"
		}
		if l.UpdatedAt != nil {
			updated = ago(*l.UpdatedAt, now)
		}
		row := []string{clean(l.ID), l.Format, published, number(l.Draft), updated, clean(l.Name)}
		if labelled {
			row = append(row, cmp.Or(labelsText(l.Labels), "-"))
		}
		return row
	})
}

func (a *app) workflowsPublishCmd() *cobra.Command {
	var number int
	c := &cobra.Command{
		Use: "publish ID", Short: "publish the draft of a stored workflow, or another version",
		Long: "Publishes the draft, or the version given by --version, after the same checks as\napply. Existing " +
			"runs keep their version.",
		Args: checkArgs("ID"), ValidArgsFunction: once(a.completeWorkflow),
		RunE: func(c *cobra.Command, args []string) error {
			if c.Flags().Changed("version") && number < 1 {
				return mustBe("version", "1 or more", strconv.Itoa(number))
			}
			s, err := a.openDefinitions(c, a.openExisting)
			if err != nil {
				return err
			}
			defer s.Close()
			e, problems, err := s.Publish(c.Context(), args[0], number)
			if err != nil {
				return err
			}
			if err := a.refuse(problems); err != nil {
				return err
			}
			if !a.quiet {
				fmt.Fprintf(a.Out, "%s: version %d published\n", clean(e.ID), e.Published)
			}
			return nil
		},
	}
	a.addServerFlag(c)
	c.Flags().IntVar(&number, "version", 0, "publish the version `N`")
	return c
}

func (a *app) workflowsDeleteCmd() *cobra.Command {
	c := &cobra.Command{
		Use: "delete ID…", Short: "delete stored workflows with all their versions and rows",
		Long: "Deletes stored workflows with all their versions and rows. Runs are kept,\nand can be resumed: a run " +
			"keeps its definition.",
		Args: checkArgs("ID…"), ValidArgsFunction: a.completeWorkflow,
		RunE: func(c *cobra.Command, args []string) error {
			s, err := a.openDefinitions(c, a.openExisting)
			if err != nil {
				return err
			}
			defer s.Close()
			for _, id := range args {
				if _, err := s.Entry(c.Context(), id); err != nil {
					return err
				}
			}
			for _, id := range args {
				if err := s.DeleteWorkflow(c.Context(), id); err != nil {
					return err
				}
				if !a.quiet {
					fmt.Fprintf(a.Out, "%s: deleted\n", clean(id))
				}
			}
			return nil
		},
	}
	a.addServerFlag(c)
	return c
}
