package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/client"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/op"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/workflow"
)

type retryFlags struct {
	load               service.LoadOptions
	files              fileFlags
	from, model, with  string
	json, full, events bool
	approveAll, trust  bool
	limitFlags
	runID string
}

const retryHelp = `Creates a new run from one that failed, reached a limit or was cancelled, and
drives it. The new run keeps the results of the old one: model calls that gave a
reply are not made again. It continues just before the failure, or with --from at
the last execution of STEP; --from also works for a run that completed. The old run
is not changed, and "hocket runs show" of the new run names it.

--model sets the model of the calls that the new run makes. --with takes a corrected
document: steps that already ran, and the edges between them, must not differ; the
failed step starts again with its new definition. Usage of the kept steps counts
against budgets. `

func (a *app) retryCmd() *cobra.Command {
	fl := &retryFlags{}
	c := &cobra.Command{
		Use:   "retry RUN",
		Short: "continue a failed, limited or cancelled run as a new run",
		Long:  retryHelp,
		Example: "  hocket retry RUN                                     # just before what failed\n" +
			"  hocket retry RUN --model anthropic/claude-sonnet-5-5 # with another model\n" +
			"  hocket retry RUN --from critic                       # from the last execution of a step\n" +
			"  hocket retry RUN --with fixed.yaml                   # with a corrected document\n" +
			"  hocket retry RUN --max-iterations 200                # after it reached the limit of a loop",
		Args:              checkArgs("RUN"),
		ValidArgsFunction: a.completeRunsOf(func(l runLine) bool { return !isOpen(l) }),
		RunE:              func(c *cobra.Command, args []string) error { return a.retry(c, fl, args[0]) },
	}
	f := c.Flags()
	f.StringVar(&fl.from, "from", "", "continue from the last execution of `STEP`")
	must(c.RegisterFlagCompletionFunc("from", a.completeSteps()))
	f.StringVar(&fl.model, "model", "",
		"`REF` of the model for every agent in the remaining steps, such as openai/gpt-6.1-terra")
	must(c.RegisterFlagCompletionFunc("model", a.completeModels))
	f.StringVar(&fl.with, "with", "",
		"continue with the corrected document `FILE`, in which steps that already ran must not differ")
	must(c.MarkFlagFilename("with", "yaml", "yml", "json"))
	addLoadFlags(c, &fl.load)
	fl.files.add(c)
	a.addServerFlag(c)
	f.BoolVar(&fl.trust, "trust", false, "allow the document of --with the access to this machine that it asks for; "+
		"without --with, allow the run's changed access again")
	f.BoolVar(&fl.json, "json", false, "print the run object instead of the final output")
	f.BoolVar(&fl.full, "full", false, "with --json: "+fullUsage)
	f.BoolVar(&fl.events, "events", false, "print every event as one JSON line during the run")
	f.BoolVar(&fl.approveAll, "approve-all", false, "answer every approval with approve")
	f.IntVar(&fl.maxSteps, "max-steps", 0, "at most `N` steps in total")
	f.IntVar(&fl.maxLoops, "max-iterations", 0, "at most `N` iterations of a loop")
	f.DurationVar(&fl.timeout, "timeout", 0, "at most this much running time in total (`DURATION`), such as 90s")
	f.StringArrayVar(&fl.budgets, "budget", nil, "at most this `AMOUNT` in total: "+amounts+
		" (repeatable, one of each kind)")
	f.StringVar(&fl.runID, "run-id", "", "`ID` of the new run; it must not exist yet")
	return c
}

func (a *app) retry(c *cobra.Command, fl *retryFlags, run string) error {
	for _, name := range []string{"from", "model", "with"} {
		if f := c.Flags().Lookup(name); f.Changed && f.Value.String() == "" {
			return mustBe(name, "a non-empty text", "")
		}
	}
	if fl.runID == latestRun {
		return usageErrorf("--run-id %s: this word is reserved for the newest run; choose another id", latestRun)
	}
	if fl.with == "" {
		for _, name := range []string{"format", "agents"} {
			if c.Flags().Changed(name) {
				return usageErrorf("--%s needs --with FILE", name)
			}
		}
	}
	limits, err := fl.limits(c)
	if err != nil {
		return err
	}
	remote, err := a.selectedServer(c)
	if err != nil {
		return err
	}
	fo := a.newFollower()
	fo.json, fo.full = fl.json, fl.full
	if remote != nil {
		fo.service = remote
		defer fo.close()
		if run, err = a.runID(c.Context(), remote, run); err != nil {
			return err
		}
		if fo.run, err = a.retryRemote(c, remote, fl, run, limits); err != nil {
			return err
		}
	} else {
		s, q, err := a.retryHere(c, fl, limits)
		if err != nil {
			return err
		}
		fo.service = s
		defer fo.close()
		if run, err = a.runID(c.Context(), s, run); err != nil {
			return err
		}
		record := access.Record{Action: op.RetryRun.Action, Target: run}
		err = a.audited(c.Context(), s, record, func(r *access.Record) (err error) {
			if fo.run, err = a.startRetry(c.Context(), s, run, q, fl.trust); err == nil {
				r.Target += " " + fo.run
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return fo.retried(c.Context(), run, fl.events)
}

// retried drives and follows the new run.
func (f *follower) retried(ctx context.Context, old string, events bool) error {
	run := f.run
	f.resumeRun = func(ctx context.Context) error { return f.service.TakeUp(ctx, run) }
	rec, err := f.service.Read(ctx, run)
	switch {
	case ctx.Err() != nil:
		return f.interrupted()
	case err != nil:
		return err
	}
	if !f.quiet {
		title := ""
		if rec.Workflow != nil && rec.Workflow.Name != "" {
			title = "  " + clean(rec.Workflow.Name)
		}
		f.progress.say(f.color.dim("run "+run+title+", a retry of run "+old) + "\n")
	}
	if f.server == "" {
		f.continueRecording(ctx, f.service, run)
	}
	f.abandoned = true
	if err := f.watch(ctx, run, rec.Workflow, rec.Head.LastSeq, events); err != nil {
		return err
	}
	if err := f.resumeOrWait(ctx); err != nil && ctx.Err() == nil {
		return err
	}
	return f.follow(ctx)
}

// retryHere reads the files that the flags name, for a run in a local store.
func (a *app) retryHere(c *cobra.Command, fl *retryFlags, limits workflow.Limits) (
	*service.Service, service.RetryRequest, error) {
	q := service.RetryRequest{From: fl.from, Model: fl.model, RunID: fl.runID, Limits: limits, By: localActor}
	var err error
	if fl.with != "" {
		fl.load.Stdin = a.In
		w, err := a.load(c.Context(), fl.with, fl.load)
		if err != nil {
			return nil, q, err
		}
		nameAfter(w, fl.with)
		q.With = &service.StartRequest{Workflow: w, Dir: dirOf(fl.with), Place: service.PlaceOf(fl.with),
			Trust: fl.trust}
	}
	if q.Files, err = a.files(fl.files); err != nil {
		return nil, q, err
	}
	if err := a.prepareTemporal(c.Context()); err != nil {
		return nil, q, err
	}
	cfg := a.config()
	cfg.ApproveAll = fl.approveAll
	s, err := service.Look(c.Context(), cfg)
	return s, q, err
}

// startRetry creates the new run; permissions that it needs are asked for at a terminal, as for run
// and resume.
func (a *app) startRetry(ctx context.Context, s *service.Service, run string, q service.RetryRequest, trust bool) (
	string, error) {
	if trust && q.With == nil {
		if err := s.Allow(ctx, run); err != nil {
			return "", a.notFound(ctx, s, err, run)
		}
	}
	id, err := s.Retry(ctx, run, q)
	commands, isCommands := errors.AsType[*service.CommandsError](err)
	again, isAgain := errors.AsType[*service.AllowedElsewhereError](err)
	if (isCommands || isAgain) && a.InTerminal && a.ErrTerminal {
		if isCommands {
			fmt.Fprintln(a.Err, a.permissionsText(commands))
		} else {
			fmt.Fprintln(a.Err, a.permissionsAgainText(again))
		}
		yes, err := a.yes("Allow it for this run?")
		switch {
		case err != nil:
			return "", err
		case !yes:
			return "", usageErrorf("not allowed; nothing was started")
		case isCommands:
			q.With.Trust = true
		default:
			if err := s.Allow(ctx, run); err != nil {
				return "", err
			}
		}
		return s.Retry(ctx, run, q)
	}
	return id, a.retryError(ctx, s, err, run)
}

// retryError returns an error that explains why there is no new run.
func (a *app) retryError(ctx context.Context, s stateReader, err error, run string) error {
	switch {
	case errors.As(err, new(*service.NotEndedError)):
		return usageErrorf("%v", err)
	case errors.Is(err, journal.ErrNotFound):
		return a.notFound(ctx, s, err, run)
	}
	return err
}

// retryRemote creates the new run on a server.
func (a *app) retryRemote(c *cobra.Command, r *client.Remote, fl *retryFlags, run string, limits workflow.Limits) (
	string, error) {
	if err := onlyHere(c, "agents", "tools", "replies", "prices", "trust", "approve-all", "run-id"); err != nil {
		return "", err
	}
	in := &op.RetryIn{RunPath: op.RunPath{ID: run}, Body: op.RetryBody{From: fl.from, Model: fl.model,
		Format: op.Language(fl.load.Format)}}
	if limits != (workflow.Limits{}) {
		in.Body.Limits = new(op.LimitsOf(limits))
	}
	if fl.with != "" {
		text, err := service.ReadFile(fl.with, a.In)
		if err != nil {
			return "", err
		}
		in.Body.Document = string(text)
		if fl.with != "-" {
			in.Body.Name = strings.TrimSuffix(filepath.Base(fl.with), filepath.Ext(fl.with))
		}
	}
	made, err := client.Call(c.Context(), r, op.RetryRun, in)
	if service.CodeOf(err) == service.CodeConflict {
		return "", usageErrorf("%v", err)
	}
	return made.ID, a.retryError(c.Context(), r, inFile(err, fl.with), run)
}
