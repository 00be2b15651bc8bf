package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/workflow"
)

// runFlags are the flags of run and exec.
type runFlags struct {
	load       service.LoadOptions
	workflow   string
	draft      bool
	branch     string
	files      fileFlags
	model      string
	record     string
	trust      bool
	json, full bool
	events     bool
	approveAll bool
	limitFlags
	inputs  inputFlags
	runID   string
	labels  []string
	context bool // exec: print the step context
}

const inputHelp = `With --workflow ID, it runs a stored workflow instead of FILE: the published
version, or the draft with --draft.

INPUT is the prompt; in a canvas document it replaces initialInput. If INPUT is
"-", or is omitted and standard input is a pipe, standard input is read. Put an
INPUT that begins with a dash after --. FILE may also be "-".

A workflow with named inputs gets them by --set, --set-file and --input-file, or
as INPUT, a JSON object; any other INPUT is the value of its only text input. On
a terminal, missing inputs are asked for.

`

const waitHelp = `On a terminal, progress is shown on standard error, and approvals are asked for.
Elsewhere, a run that must wait is stored; the command prints how to answer it
and exits with status 3.

Exit status: 0 completed, 1 failed, 2 invalid request (nothing ran), 3 paused for
a person, 4 cancelled, 130 interrupted (the run is stored).`

func (a *app) runCmd() *cobra.Command {
	return a.runVerb(&cobra.Command{
		Use:   "run FILE|--workflow ID [INPUT]",
		Short: "run a workflow document and print its final output",
		Long: "Runs a workflow document, or a stored workflow, and prints its final output, and\nnothing else, on " +
			"standard output.\n\n" + inputHelp + waitHelp,
		Example: "  hocket run newsroom.yaml \"The library opens on Sundays\"\n" +
			"  hocket run forecast.yaml --set city=Ulm --set-file notes=notes.txt\n" +
			"  git diff | hocket run review.json\n" +
			"  hocket run triage.json --json | jq .usage\n" +
			"  hocket run --workflow newsroom \"The library opens on Sundays\"\n" +
			"  hocket run newsroom.yaml --record replies.yaml      # once with a model\n" +
			"  hocket run newsroom.yaml --replies replies.yaml     # again without one",
	}, &runFlags{})
}

func (a *app) execCmd() *cobra.Command {
	return a.runVerb(&cobra.Command{
		Use:   "exec FILE|--workflow ID [INPUT]",
		Short: "run a workflow document and print what its agents say, and its step context",
		Long: "Runs a workflow document like run, and prints on standard output what its agents say\nas it arrives: " +
			"a line \"--- Agent: NAME ---\" for each agent, then its text. The texts of\nagents that run at the same " +
			"time follow each other. The final output follows,\nunless it is the last text. With -q, only the final " +
			"output is printed.\n\nIt then prints the step context as indented JSON on standard error, under a line\n" +
			"\"--- Step Context ---\", even if the run failed.\n\n" + inputHelp + waitHelp,
		Example: "  hocket exec translation.yaml \"The library opens on Sundays\"\n" +
			"  hocket exec translation.yaml -q \"The library opens on Sundays\" > output.txt",
	}, &runFlags{context: true})
}

func (a *app) runVerb(c *cobra.Command, fl *runFlags) *cobra.Command {
	c.Args = func(c *cobra.Command, args []string) error {
		if c.Flags().Changed("workflow") {
			return checkArgs("[INPUT]")(c, args)
		}
		return checkArgs("FILE", "[INPUT]")(c, args)
	}
	c.ValidArgsFunction = func(c *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
		if fl.workflow != "" {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return firstIsDocument(c, args, prefix)
	}
	c.RunE = func(c *cobra.Command, args []string) error { return a.run(c, fl, args) }
	a.addRunFlags(c, fl)
	return c
}

func (a *app) addRunFlags(c *cobra.Command, fl *runFlags) {
	f := c.Flags()
	addLoadFlags(c, &fl.load)
	f.StringVar(&fl.workflow, "workflow", "", "run the stored workflow `ID` instead of a FILE")
	f.BoolVar(&fl.draft, "draft", false, "with --workflow: run its draft, not the published version")
	must(c.RegisterFlagCompletionFunc("workflow", a.completeWorkflow))
	f.StringVar(&fl.branch, "branch", "",
		"run the branch with this `ID` of a rounds document; all: every one_time branch at once")
	must(c.RegisterFlagCompletionFunc("branch", a.completeBranches(fl)))
	f.StringVar(&fl.model, "model", "", "`REF` of the model for every agent, such as openai/gpt-6.1-terra")
	must(c.RegisterFlagCompletionFunc("model", a.completeModels))
	fl.files.add(c)
	fl.inputs.add(c)
	must(c.RegisterFlagCompletionFunc("set", a.completeInputs(fl, false)))
	must(c.RegisterFlagCompletionFunc("set-file", a.completeInputs(fl, true)))
	a.addServerFlag(c)
	a.addTemporalFlag(c)
	f.StringVar(&fl.record, "record", "", "`FILE` to write the model calls to, as a reply script")
	f.BoolVar(&fl.trust, "trust", false,
		"allow the document the access to this machine that it asks for: commands, files, addresses, variables")
	f.BoolVar(&fl.json, "json", false, "print the run object instead of the final output")
	f.BoolVar(&fl.full, "full", false, "with --json: "+fullUsage)
	f.BoolVar(&fl.events, "events", false, "print every event as one JSON line during the run")
	f.BoolVar(&fl.approveAll, "approve-all", false, "answer every approval with approve")
	f.IntVar(&fl.maxSteps, "max-steps", 0, "at most `N` steps, overriding the document")
	f.DurationVar(&fl.timeout, "timeout", 0, "at most this much running time (`DURATION`), such as 90s")
	f.IntVar(&fl.maxConc, "max-concurrency", 0, "at most `N` concurrent steps")
	f.StringArrayVar(&fl.budgets, "budget", nil, "at most this `AMOUNT` for the run: "+amounts+
		" (repeatable, one of each kind)")
	f.StringVar(&fl.runID, "run-id", "", "`ID` of the run; it must not exist yet")
	f.StringArrayVar(&fl.labels, "label", nil, "label of the run, `KEY=VALUE`, by which it is found (repeatable)")
	must(c.MarkFlagFilename("record"))
}

// load reads a document, prints its problems and returns it if it can run.
func (a *app) load(ctx context.Context, path string, opts service.LoadOptions) (*workflow.Workflow, error) {
	data, err := service.ReadFile(path, a.In)
	if err != nil {
		return nil, err
	}
	opts.Catalog, opts.Operator, opts.Env = a.catalogAgents, a.operator, a.Env
	opts.Dir, opts.Folder = dirOf(path), dirOf(path)
	w, problems, err := loadDocument(ctx, path, data, opts)
	if err != nil {
		return nil, err
	}
	return w, a.refuse(problems)
}

// dirOf returns the directory of a document; for standard input it is the working directory.
func dirOf(path string) string {
	if path == "-" {
		return "."
	}
	return filepath.Dir(path)
}

// nameAfter names a workflow without a name after its file.
func nameAfter(w *workflow.Workflow, path string) {
	if w.Name == "" && path != "" && path != "-" {
		w.Name = strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
	}
}

// loadStored reads a workflow from the catalog, prints its problems and returns it if it can run,
// with its version number.
func (a *app) loadStored(ctx context.Context, id string, which service.Which, opts service.LoadOptions) (
	*workflow.Workflow, int, error) {
	s, err := a.openExisting(ctx)
	if err != nil {
		return nil, 0, err
	}
	defer s.Close()
	w, d, problems, err := s.LoadStored(ctx, id, which, opts)
	if err != nil {
		return nil, 0, err
	}
	if d.Changed && d.Entry.Published > 0 && !a.quiet {
		fmt.Fprintf(a.Err, "workflow %s was changed by SQL since version %d\n", clean(id), d.Entry.Published)
	}
	return w, d.Version, a.refuse(problems)
}

// catalogAgents is a service.LoadOptions.Catalog for documents in files. It creates no store.
func (a *app) catalogAgents(ctx context.Context, wanted []string) ([]workflow.Agent, diag.List, error) {
	s, err := a.openReader(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer s.Close()
	return s.CatalogAgents(ctx, wanted)
}

// input returns the prompt: the argument, or standard input if that is a pipe that nothing else
// reads.
func (a *app) input(args []string, taken bool) (string, error) {
	if len(args) > 1 && args[1] != "-" {
		if !utf8.ValidString(args[1]) {
			return "", usageErrorf("the input is not UTF-8 text")
		}
		return args[1], nil
	}
	if len(args) < 2 && (taken || a.InTerminal) {
		return "", nil
	}
	b, err := io.ReadAll(io.LimitReader(a.In, service.MaxDocumentBytes+1))
	if err != nil {
		return "", fmt.Errorf("read standard input: %w", err)
	}
	if len(b) > service.MaxDocumentBytes {
		return "", usageErrorf("the input is larger than the limit of %d bytes (max_document_bytes)",
			service.MaxDocumentBytes)
	}
	if !utf8.Valid(b) {
		return "", usageErrorf("the input is not UTF-8 text")
	}
	return strings.TrimSuffix(strings.TrimSuffix(strings.TrimPrefix(string(b), "\uFEFF"), "\n"), "\r"), nil
}

// checkRecordTarget returns an error if the recording would overwrite a file that the run reads,
// since the file would be emptied before it is read again.
func (fl *runFlags) checkRecordTarget(document string) error {
	for _, f := range []struct{ what, path string }{
		{"FILE", document}, {"--replies", fl.files.replies}, {"--tools", fl.files.tools}, {"--prices", fl.files.prices},
		{"--agents", fl.load.AgentsFile},
	} {
		if fl.record != "" && f.path != "" && f.path != "-" && sameFile(fl.record, f.path) {
			return usageErrorf("--record would overwrite %s, which this run reads (%s); name another file", fl.record,
				f.what)
		}
	}
	return nil
}

// sameFile reports whether two paths refer to the same file, following links.
func sameFile(a, b string) bool {
	one, err1 := os.Stat(a)
	other, err2 := os.Stat(b)
	return err1 == nil && err2 == nil && os.SameFile(one, other)
}

func (a *app) run(c *cobra.Command, fl *runFlags, args []string) error {
	ctx := c.Context()
	if fl.runID == latestRun {
		return usageErrorf("--run-id %s: this word is reserved for the newest run; choose another id", latestRun)
	}
	remote, err := a.selectedServer(c)
	if err != nil {
		return err
	}
	if remote != nil {
		return a.runRemote(c, remote, fl, args)
	}
	req := service.StartRequest{Trigger: service.TriggerCLI, Branch: fl.branch, Model: fl.model, Record: fl.record,
		RunID: fl.runID, Trust: fl.trust}
	if c.Flags().Changed("branch") && fl.branch == "" {
		return mustBe("branch", "the id of a branch", "")
	}
	args, stored, taken, err := fl.source(c, args)
	if err != nil {
		return err
	}
	if err := fl.checkRecordTarget(args[0]); err != nil {
		return err
	}
	if req.Limits, err = fl.limits(c); err != nil {
		return err
	}
	if req.Labels, err = labelFlag(fl.labels); err != nil {
		return err
	}
	fl.load.Stdin, fl.load.Retired, fl.load.Model, fl.load.Offline = a.In, true, fl.model, fl.files.replies != ""
	if stored {
		req.Stored = fl.workflow
		req.Workflow, req.Version, err = a.loadStored(ctx, fl.workflow, service.Which{Draft: fl.draft}, fl.load)
	} else {
		req.Workflow, err = a.load(ctx, args[0], fl.load)
	}
	if err != nil {
		return err
	}
	graph, err := service.Choose(req.Workflow, req.Branch)
	switch {
	case err != nil && req.Branch == "":
		return usageErrorf("%v\n  with --branch ID, or --branch %s for every %s one at once", err, service.AllBranches,
			workflow.ModeOneTime)
	case err != nil:
		return err
	}
	nameAfter(req.Workflow, args[0])
	req.Dir = "."
	if !stored {
		req.Dir, req.Place = dirOf(args[0]), service.PlaceOf(args[0])
	}
	fl.files.allowUnknown = fl.load.AllowUnknown
	if req.Files, err = a.files(fl.files); err != nil {
		return err
	}
	if req.Input, err = a.input(args, taken); err != nil {
		return err
	}
	if req.Inputs, err = fl.inputs.named(); err != nil {
		return err
	}
	if req.Inputs, err = a.askInputs(graph, req.Input, req.Inputs); err != nil {
		return err
	}
	if req.RunID == "" {
		req.RunID = service.NewRunID()
	}
	if err := a.prepareTemporal(ctx); err != nil {
		return err
	}
	cfg := a.config()
	cfg.ApproveAll = fl.approveAll
	s, err := service.Open(ctx, cfg)
	if err != nil {
		return err
	}
	a.workTemporal(ctx, s)
	fo := a.followerOf(fl)
	fo.service, fo.run = s, req.RunID
	defer fo.close()
	if err := a.start(ctx, s, req); err != nil {
		if ctx.Err() != nil {
			return fo.interrupted()
		}
		return err
	}
	if !a.quiet && s.DB() != service.Memory {
		title := clean(req.Workflow.Name)
		if req.Version > 0 {
			title += fmt.Sprintf(", version %d", req.Version)
		}
		if fl.draft {
			title += " (draft)"
		}
		if req.Branch != "" {
			title += ", branch " + clean(req.Branch)
		}
		fo.progress.say(a.color.dim("run "+req.RunID+"  "+title) + "\n")
	}
	if e := service.Entry(graph); e != nil && e.Welcome != "" && a.ErrTerminal && !a.quiet {
		fo.progress.say(printable(strings.TrimSpace(e.Welcome)) + "\n\n")
	}
	if err := fo.watch(ctx, req.RunID, graph, 0, fl.events); err != nil {
		return err
	}
	return fo.follow(ctx)
}

// followerOf returns the follower of a run that is started with those flags.
func (a *app) followerOf(fl *runFlags) *follower {
	if !fl.context || fl.json || fl.events || a.quiet {
		fo := a.newFollower()
		fo.json, fo.full, fo.context = fl.json, fl.full, fl.context
		return fo
	}
	t := newTranscript(a)
	fo := a.follower(t)
	fo.transcript, fo.context = t, true
	return fo
}

// start starts a run; if the document needs something that is not allowed, it asks the person at
// the terminal (SEC5).
func (a *app) start(ctx context.Context, s *service.Service, req service.StartRequest) error {
	_, err := s.Start(ctx, req)
	var commands *service.CommandsError
	if !errors.As(err, &commands) || !a.InTerminal || !a.ErrTerminal {
		return err
	}
	fmt.Fprintln(a.Err, a.permissionsText(commands))
	ok, err := a.yes("Allow it for this run?")
	if err != nil {
		return err
	}
	if !ok {
		return usageErrorf("not allowed; nothing was started")
	}
	req.Trust = true
	_, err = s.Start(ctx, req)
	return err
}

// permissionsText describes the permissions that a document needs, for a person to grant.
func (a *app) permissionsText(e *service.CommandsError) string {
	var lines []string
	if len(e.Commands) > 0 {
		lines = append(lines, "this document needs permission to start commands on your machine:")
		for _, argv := range e.Commands {
			lines = append(lines, "  "+quoteAll(argv))
		}
	}
	if len(e.Access) > 0 {
		lines = append(lines, "this document needs access to your machine:")
		for _, line := range e.Access {
			lines = append(lines, "  "+escapedLine(line))
		}
	}
	if len(e.Sends) > 0 {
		lines = append(lines, "this document needs permission to send variables of your environment:")
		for _, s := range e.Sends {
			lines = append(lines, "  "+escapedLine(s))
		}
	}
	return strings.Join(lines, "\n")
}
