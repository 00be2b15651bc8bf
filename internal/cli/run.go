package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/workflow"
)

// runFlags are those of run and exec.
type runFlags struct {
	load       service.LoadOptions
	model      string
	tools      string
	replies    string
	record     string
	trust      bool
	json       bool
	events     bool
	approveAll bool
	maxSteps   int
	timeout    time.Duration
	maxConc    int
	runID      string
	context    bool // exec: print the step context
}

func (a *app) runCmd() *cobra.Command {
	fl := &runFlags{}
	c := &cobra.Command{
		Use:   "run FILE [INPUT]",
		Short: "run a workflow document and print its final output",
		Long:  "Runs a workflow document and prints its final output on standard output, nothing else there.\n\nINPUT is the prompt. `-`, or a pipe with no INPUT, reads standard input.",
		Example: "  hocket run newsroom.yaml \"The library opens on Sundays\"\n" +
			"  echo \"text\" | hocket run translate.yaml\n" +
			"  hocket run triage.json --replies replies.yaml --json",
		Args: cobra.RangeArgs(1, 2),
		RunE: func(c *cobra.Command, args []string) error { return a.run(c, fl, args) },
	}
	a.addRunFlags(c, fl)
	return c
}

func (a *app) execCmd() *cobra.Command {
	fl := &runFlags{context: true}
	c := &cobra.Command{
		Use:   "exec FILE [INPUT]",
		Short: "run a workflow document and also print its step context",
		Long:  "Does what run does and then prints the step context to standard error, under a line `--- Step Context ---`, as indented JSON; also when the run failed.",
		Args:  cobra.RangeArgs(1, 2),
		RunE:  func(c *cobra.Command, args []string) error { return a.run(c, fl, args) },
	}
	a.addRunFlags(c, fl)
	return c
}

func (a *app) addRunFlags(c *cobra.Command, fl *runFlags) {
	f := c.Flags()
	f.StringVar(&fl.load.Format, "format", "", "canvas or steps (default: detected)")
	f.StringVar(&fl.load.AgentsFile, "agents", "", "`FILE` with agent definitions; those in the document win")
	f.StringVar(&fl.model, "model", "", "`REF` of the model for every agent, such as openai/gpt-5-mini")
	f.StringVar(&fl.tools, "tools", "", "`FILE` with extra tools (`toolsets:`); what it names is trusted")
	f.StringVar(&fl.replies, "replies", "", "`FILE` with a reply script that answers model calls: no network, no key")
	f.StringVar(&fl.record, "record", "", "`FILE` to which the model calls are written as a reply script")
	f.BoolVar(&fl.trust, "trust", false, "let the document start the commands that it names")
	f.BoolVar(&fl.json, "json", false, "print the run object instead of the final output")
	f.BoolVar(&fl.events, "events", false, "print every event as one JSON line while the run goes on")
	f.BoolVar(&fl.approveAll, "approve-all", false, "answer every approval with approve")
	f.IntVar(&fl.maxSteps, "max-steps", 0, "at most `N` steps, whatever the document says")
	f.DurationVar(&fl.timeout, "timeout", 0, "at most this much running time, such as 90s")
	f.IntVar(&fl.maxConc, "max-concurrency", 0, "at most `N` steps at once")
	f.StringVar(&fl.runID, "run-id", "", "`ID` of the run; it must be new")
	must(c.RegisterFlagCompletionFunc("format", cobra.FixedCompletions([]string{"canvas", "steps"}, cobra.ShellCompDirectiveNoFileComp)))
}

// must is for calls that fail only if the program itself is wrong.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

// limits gives the limits that the flags set.
func (fl *runFlags) limits(c *cobra.Command) (workflow.Limits, error) {
	var l workflow.Limits
	if c.Flags().Changed("max-steps") {
		if fl.maxSteps < 0 {
			return l, usef("--max-steps %d: it cannot be negative", fl.maxSteps)
		}
		l.MaxSteps = &fl.maxSteps
	}
	if c.Flags().Changed("timeout") {
		if fl.timeout <= 0 {
			return l, usef("--timeout %s: it must be above 0", fl.timeout)
		}
		l.Timeout = workflow.Duration(fl.timeout)
	}
	if c.Flags().Changed("max-concurrency") {
		if fl.maxConc < 1 {
			return l, usef("--max-concurrency %d: it must be at least 1", fl.maxConc)
		}
		l.MaxConcurrency = fl.maxConc
	}
	return l, nil
}

// load reads a document, prints its problems and gives it where it may run.
func (a *app) load(path string, opts service.LoadOptions) (*workflow.Workflow, error) {
	data, err := service.ReadFile(path, a.In)
	if err != nil {
		return nil, err
	}
	w, problems, err := service.Load(path, data, opts)
	if err != nil {
		return nil, err
	}
	least := diag.Warning
	if a.quiet {
		least = diag.Error
	}
	a.diagnostics(problems, least)
	if problems.HasErrors() {
		return nil, &exit{status: ExitUse}
	}
	return w, nil
}

// input gives the prompt: the argument, or standard input where that is a pipe.
func (a *app) input(args []string, documentFromStdin bool) (string, error) {
	if len(args) > 1 && args[1] != "-" {
		return args[1], nil
	}
	if documentFromStdin {
		if len(args) > 1 {
			return "", usef("document and input cannot both come from standard input")
		}
		return "", nil
	}
	if len(args) < 2 && a.InTerminal {
		return "", nil
	}
	b, err := io.ReadAll(io.LimitReader(a.In, service.MaxDocumentBytes+1))
	if err != nil {
		return "", fmt.Errorf("read standard input: %w", err)
	}
	if len(b) > service.MaxDocumentBytes {
		return "", usef("the input is larger than the limit of %d bytes (max_document_bytes)", service.MaxDocumentBytes)
	}
	return strings.TrimSuffix(strings.TrimSuffix(string(b), "\n"), "\r"), nil
}

func (a *app) run(c *cobra.Command, fl *runFlags, args []string) error {
	ctx := c.Context()
	req := service.StartRequest{Model: fl.model, ToolsFile: fl.tools, RepliesFile: fl.replies, Record: fl.record, RunID: fl.runID, Trust: fl.trust}
	var err error
	if req.Limits, err = fl.limits(c); err != nil {
		return err
	}
	if req.Workflow, err = a.load(args[0], fl.load); err != nil {
		return err
	}
	if req.Workflow.Name == "" && args[0] != "-" {
		req.Workflow.Name = strings.TrimSuffix(filepath.Base(args[0]), filepath.Ext(args[0]))
	}
	if req.Input, err = a.input(args, args[0] == "-"); err != nil {
		return err
	}
	for _, x := range []struct {
		path string
		to   *[]byte
	}{{fl.tools, &req.Tools}, {fl.replies, &req.Replies}} {
		if x.path == "" {
			continue
		}
		if *x.to, err = service.ReadFile(x.path, a.In); err != nil {
			return err
		}
	}
	fo := a.newFollower(fl.json, fl.events, fl.context)
	cfg := a.config()
	cfg.ApproveAll = fl.approveAll
	fo.attach(&cfg)
	s, err := service.Open(ctx, cfg)
	if err != nil {
		return err
	}
	fo.service = s
	defer fo.close()
	if req.RunID == "" {
		req.RunID = service.NewRunID()
	}
	fo.begin(req.RunID, req.Workflow.Name)
	fo.tell(req.RunID, req.Workflow, nil)
	run, err := a.start(ctx, s, req)
	if err != nil {
		return err
	}
	return fo.follow(ctx, run)
}

// start begins a run; where the document wants to start commands, the person at the terminal is asked (SEC5).
func (a *app) start(ctx context.Context, s *service.Service, req service.StartRequest) (string, error) {
	run, err := s.Start(ctx, req)
	var commands *service.CommandsError
	if !errors.As(err, &commands) || !a.InTerminal || !a.ErrTerminal {
		return run, err
	}
	fmt.Fprintln(a.Err, "This document wants to start these commands on your machine:")
	for _, argv := range commands.Commands {
		fmt.Fprintf(a.Err, "  %s\n", clean(strings.Join(argv, " ")))
	}
	ok, err := a.yes(ctx, "Allow them for this run?")
	if err != nil {
		return "", err
	}
	if !ok {
		return "", usef("not allowed; nothing was started")
	}
	req.Trust = true
	return s.Start(ctx, req)
}
