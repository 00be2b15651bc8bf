package cli

import (
	"github.com/spf13/cobra"

	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/workflow"
)

// isStored reports whether the flags --workflow and --draft select a stored workflow instead of a
// FILE. It returns an error for flags that cannot be combined.
func isStored(c *cobra.Command, id string, draft bool, load service.LoadOptions) (bool, error) {
	stored := c.Flags().Changed("workflow")
	switch {
	case stored && id == "":
		return false, mustBe("workflow", "the id of a stored workflow", "")
	case stored && load.Format != "":
		return false, usageErrorf("--format and --workflow cannot be given together: a stored workflow has its format")
	case draft && !stored:
		return false, usageErrorf("--draft needs --workflow ID")
	}
	return stored, nil
}

// workflowSource is the source of a verb that accepts a FILE or --workflow ID.
type workflowSource struct {
	load     service.LoadOptions
	workflow string
	draft    bool
}

// add adds the flags to a verb, and the check of its arguments.
func (o *workflowSource) add(a *app, c *cobra.Command) {
	c.Args = func(c *cobra.Command, args []string) error {
		switch {
		case c.Flags().Changed("workflow"):
			return checkArgs()(c, args)
		case len(args) == 0:
			return usageErrorf("%s needs FILE or --workflow ID; see hocket help %s", c.CommandPath(), verbPath(c))
		}
		return checkArgs("FILE")(c, args)
	}
	c.ValidArgsFunction = func(c *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
		if o.workflow != "" {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return firstIsDocument(c, args, prefix)
	}
	addLoadFlags(c, &o.load)
	c.Flags().StringVar(&o.workflow, "workflow", "", "instead of FILE: `ID` of a stored workflow")
	c.Flags().BoolVar(&o.draft, "draft", false, "with --workflow: use its draft, not the published version")
	must(c.RegisterFlagCompletionFunc("workflow", a.completeWorkflow))
}

// onlyStored returns an error if a server is selected, so that a workflow stored on this machine is
// not taken for one stored on the server.
func (a *app) onlyStored() error {
	if a.Env(envServer) == "" {
		return nil
	}
	return usageErrorf("%s is set, but --workflow refers to the local store here; unset it, or read the document with "+
		"hocket workflows show ID", envServer)
}

// read reads the workflow, prints its problems and returns it if it can run.
func (o *workflowSource) read(a *app, c *cobra.Command, args []string) (*workflow.Workflow, error) {
	stored, err := isStored(c, o.workflow, o.draft, o.load)
	switch {
	case err != nil:
		return nil, err
	case stored:
		if err := a.onlyStored(); err != nil {
			return nil, err
		}
		w, _, err := a.loadStored(c.Context(), o.workflow, service.Which{Draft: o.draft}, o.load)
		return w, err
	}
	return a.load(c.Context(), args[0], o.load)
}

// document is like read, for verbs that need only the content of the document: a stored workflow
// has the id and name from the catalog, which its document need not contain.
func (o *workflowSource) document(a *app, c *cobra.Command, args []string) (*workflow.Workflow, error) {
	stored, err := isStored(c, o.workflow, o.draft, o.load)
	switch {
	case err != nil:
		return nil, err
	case !stored:
		return a.load(c.Context(), args[0], o.load)
	}
	if err := a.onlyStored(); err != nil {
		return nil, err
	}
	s, err := a.openExisting(c.Context())
	if err != nil {
		return nil, err
	}
	defer s.Close()
	d, err := s.Definition(c.Context(), o.workflow, service.Which{Draft: o.draft})
	if err != nil {
		return nil, err
	}
	opts := o.load
	opts.Format, opts.Catalog, opts.Operator, opts.Env = d.Format, s.CatalogAgents, a.operator, a.Env
	w, problems, err := loadDocument(c.Context(), d.File, d.Text, opts)
	if err != nil {
		return nil, err
	}
	return w, a.refuse(problems)
}

// source determines what to run: it returns args with the FILE, or with "" in its place if a stored
// workflow is selected. taken is set if a file is read from standard input.
func (fl *runFlags) source(c *cobra.Command, args []string) (_ []string, stored, taken bool, err error) {
	if stored, err = isStored(c, fl.workflow, fl.draft, fl.load); err != nil {
		return nil, false, false, err
	}
	if stored {
		args = append([]string{""}, args...)
	}
	taken, err = fl.oneReader(args)
	return args, stored, taken, err
}

// oneReader reports whether a file is read from standard input. It returns an error if there are
// two readers of it.
func (fl *runFlags) oneReader(args []string) (taken bool, err error) {
	readers := 0
	for _, path := range []string{args[0], fl.files.tools, fl.files.replies, fl.files.prices, fl.load.AgentsFile} {
		if path == "-" {
			readers++
		}
	}
	if readers > 1 || readers == 1 && len(args) > 1 && args[1] == "-" {
		return true, usageErrorf("standard input can be read only once, but `-` is given several times")
	}
	return readers == 1, nil
}
