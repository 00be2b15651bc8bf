package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/errcode"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/workflow"
)

type resumeFlags struct {
	files              fileFlags
	approve, reject    bool
	note, input        string
	arguments          string
	fields             inputFlags
	wait, node         string
	json, full, events bool
	approveAll         bool
	takeOver           bool
	trust              bool
	limitFlags
	budget string
	place  string
	driver string
}

const resumeHelp = `Continues a run whose process died or was interrupted, or answers the wait of
a paused run and continues it. If another process drives the run, the answer is
sent to that process, and the run is followed here. If the run belongs to a Go
program that is not running, the answer is stored for that program, and the exit
status is 3. The run keeps its model, tools and limits; keys come from the
environment.

` + runArgHelp + `

`

func (a *app) resumeCmd() *cobra.Command {
	fl := &resumeFlags{}
	c := &cobra.Command{
		Use:   "resume RUN",
		Short: "continue an interrupted run, or answer the wait of a paused one",
		Long: resumeHelp + waitHelp + " 2 also\nmeans that the answer was refused or the run is not waiting; the " +
			"run is unchanged.",
		Example: "  hocket resume RUN                                    # after Ctrl-C or a crash\n" +
			"  hocket resume RUN --approve --note \"looks good\"\n" +
			"  hocket resume RUN --approve --arguments @mail.json   # the call is made with these\n" +
			"  hocket resume RUN --wait w7 --input blue             # if several waits are open\n" +
			"  hocket resume RUN --set amount=120 --set-file reason=reason.md\n" +
			"  hocket resume RUN --max-steps 2000                   # after it reached its step limit",
		Args:              checkArgs("RUN"),
		ValidArgsFunction: a.completeRunsOf(canResume),
		RunE:              func(c *cobra.Command, args []string) error { return a.resume(c, fl, args[0]) },
	}
	f := c.Flags()
	f.BoolVar(&fl.approve, "approve", false, "answer the wait with approve")
	f.BoolVar(&fl.reject, "reject", false, "answer the wait with reject")
	f.StringVar(&fl.arguments, "arguments", "",
		"with --approve: the arguments for the held call, in the place of its own: `JSON` or @FILE")
	f.StringVar(&fl.note, "note", "", "`TEXT` to store with the decision")
	f.StringVar(&fl.input, "input", "", "answer: `TEXT_OR_JSON`; - reads it from standard input")
	fl.fields.addFields(c)
	f.StringVar(&fl.wait, "wait", "", "`ID` of the wait, if several are open")
	f.StringVar(&fl.node, "node", "", "`ID` of the node that waits")
	f.IntVar(&fl.maxSteps, "max-steps", 0, "continue a run that reached its step limit, with a new total of `N` steps")
	f.DurationVar(&fl.timeout, "timeout", 0,
		"continue a run that reached its time limit, with a new total running time (`DURATION`)")
	f.StringVar(&fl.budget, "budget", "", "continue a run that reached its budget, with a new total of `AMOUNT`: "+
		amounts)
	fl.files.add(c)
	addAllowUnknown(c, &fl.files.allowUnknown)
	a.addServerFlag(c)
	a.addTemporalFlag(c)
	addTakeOverFlag(c, &fl.takeOver)
	f.StringVar(&fl.place, "place", "",
		"move a run that needs files or programs of a machine to the place `NAME`, and continue it there")
	f.StringVar(&fl.driver, "driver", "", "move the run and those below it to `DRIVER`, and continue it there: "+
		driverTemporal+" (all workers of the Temporal server; hocket-temporal only) or "+driverEmbedded+
		" (the processes on the store)")
	must(c.RegisterFlagCompletionFunc("driver", cobra.FixedCompletions([]string{driverEmbedded, driverTemporal},
		cobra.ShellCompDirectiveNoFileComp)))
	f.BoolVar(&fl.json, "json", false, "print the run object instead of the final output")
	f.BoolVar(&fl.full, "full", false, "with --json: "+fullUsage)
	f.BoolVar(&fl.events, "events", false, "print every event as one JSON line during the run")
	f.BoolVar(&fl.approveAll, "approve-all", false, "answer every approval with approve")
	f.BoolVar(&fl.trust, "trust", false,
		"allow the run's access to this machine again, if its folder, programs or permissions have changed")
	must(c.RegisterFlagCompletionFunc("wait", a.completeWaits(false)))
	must(c.RegisterFlagCompletionFunc("node", a.completeWaits(true)))
	return c
}

// answerOf returns the answer in the flags, or false if they contain none. The answer of --set is
// built later, when the wait is known.
func (a *app) answerOf(c *cobra.Command, fl *resumeFlags) (service.AnswerRequest, bool, error) {
	q := service.AnswerRequest{Wait: fl.wait, Node: fl.node, Note: fl.note}
	for _, names := range [][]string{{"approve", "reject", "input", "set"}, {"approve", "reject", "input", "set-file"},
		{"wait", "node"}} {
		if err := atMostOne(c, names...); err != nil {
			return q, false, err
		}
	}
	if c.Flags().Changed("arguments") {
		if !fl.approve {
			return q, false, usageErrorf("--arguments needs --approve")
		}
		var err error
		if q.Arguments, err = argumentsOf(fl.arguments); err != nil {
			return q, false, err
		}
	}
	switch {
	case fl.approve:
		q.Value, q.Decision = service.Decide(workflow.PortApprove), true
	case fl.reject:
		q.Value, q.Decision = service.Decide(workflow.PortReject), true
	case fl.input == "-":
		text, err := a.input([]string{"", fl.input}, false)
		if err != nil {
			return q, false, err
		}
		q.Value = textOrJSON(text)
	case c.Flags().Changed("input"):
		q.Value = textOrJSON(fl.input)
	case !fl.fields.empty():
	case fl.note != "" || fl.wait != "" || fl.node != "":
		return q, false, usageErrorf("the answer is missing: use --approve, --reject, --input or --set")
	default:
		return q, false, nil
	}
	return q, true, nil
}

func (a *app) resume(c *cobra.Command, fl *resumeFlags, run string) error {
	ctx := c.Context()
	answer, answers, err := a.answerOf(c, fl)
	if err != nil {
		return err
	}
	if c.Flags().Changed("budget") {
		fl.budgets = []string{fl.budget}
	}
	limits, err := fl.limits(c)
	if err != nil {
		return err
	}
	reopens := limits != (workflow.Limits{})
	if answers && reopens {
		return usageErrorf("%s", errcode.Message(errcode.AnswerAndLimits, nil))
	}
	p := service.Proceed{By: localActor}
	if answers {
		p.Answer = &answer
	}
	if reopens {
		p.Limits = &limits
	}
	s, run, err := a.resumes(c, fl, run)
	if err != nil {
		return err
	}
	fo := a.newFollower()
	fo.service, fo.run, fo.json, fo.full = s, run, fl.json, fl.full
	fo.resumeRun = func(ctx context.Context) error { return s.TakeUp(ctx, run) }
	defer fo.close()
	if fl.driver == "" || fl.takeOver {
		if err := a.reportDriver(ctx, s, run, fl.takeOver); err != nil {
			return err
		}
	}
	rec, err := s.Read(ctx, run)
	if err != nil {
		return a.notFound(ctx, s, err, run)
	}
	if err := a.rejectTemporalRun(s, rec, fl.driver, reopens); err != nil {
		return err
	}
	if !fl.fields.empty() {
		asked, err := rec.Asked(answer)
		if err != nil {
			return refused(err, answer, rec)
		}
		if answer.Value, err = fl.fields.answer(asked); err != nil {
			return err
		}
	}
	if p, err = rec.Addressed(p); err != nil {
		return refused(err, answer, rec)
	}
	if c.Flags().Changed("place") {
		if isHere, err := a.move(ctx, s, run, fl.place); err != nil || !isHere && !answers && !reopens {
			return err
		}
	}
	if fl.driver != "" {
		if err := adopt(ctx, s, run); err != nil {
			return err
		}
	}
	if fl.trust {
		if err := allowRun(ctx, s, run); err != nil {
			return err
		}
	}
	if reopens || !rec.Head.Status.Ended() {
		a.continueRecording(ctx, s, run)
	}
	fo.abandoned = rec.Head.Interrupted
	if err := fo.watch(ctx, run, rec.Workflow, rec.Head.LastSeq, fl.events); err != nil {
		return err
	}
	err = a.proceed(ctx, s, run, rec, p)
	if again, ok := errors.AsType[*service.AllowedElsewhereError](err); ok && a.InTerminal && a.ErrTerminal {
		fmt.Fprintln(a.Err, a.permissionsAgainText(again))
		yes, askErr := a.yes("Allow it for this run?")
		switch {
		case askErr != nil:
			return askErr
		case !yes:
			return usageErrorf("not allowed; nothing was started")
		}
		if err := allowRun(ctx, s, run); err != nil {
			return err
		}
		err = a.proceed(ctx, s, run, rec, p)
	}
	switch {
	case ctx.Err() != nil:
		return fo.interrupted()
	case err != nil:
		return refused(err, answer, rec)
	}
	if p.Answer != nil {
		if err := fo.stored(ctx); err != nil {
			return err
		}
	}
	return fo.follow(ctx)
}

// proceed resumes a run with what p says. An answer is recorded in the audit log.
func (a *app) proceed(ctx context.Context, s backend, run string, rec service.Recorded, p service.Proceed) error {
	if p.Answer == nil {
		return s.Proceed(ctx, rec, p)
	}
	return a.audited(ctx, s, answerRecord(run, p.Answer.Wait), func(*access.Record) error {
		return s.Proceed(ctx, rec, p)
	})
}

// continueRecording continues the recording that --record of `run` started. If it cannot, the run
// continues without it.
func (a *app) continueRecording(ctx context.Context, s backend, run string) {
	here, ok := s.(*service.Service)
	if !ok {
		return
	}
	if err := here.ContinueRecording(ctx, run); err != nil {
		fmt.Fprintf(a.Err, "hocket: the recording of run %s is not continued: %s\n", run,
			printable(a.keeper.Redact(err.Error())))
	}
}

// allowRun lets this process drive a run with the access that the run has now. On a server, its
// operator decides what the run may do.
func allowRun(ctx context.Context, s backend, run string) error {
	here, ok := s.(*service.Service)
	if !ok {
		return nil
	}
	return here.Allow(ctx, run)
}

// permissionsAgainText describes the access of a run that was allowed in another folder or has
// changed since, so that a person can allow it again.
func (a *app) permissionsAgainText(e *service.AllowedElsewhereError) string {
	lines := []string{"run " + e.Run + " has access to this machine that must be allowed again:"}
	for _, line := range e.Changed {
		lines = append(lines, "  "+escapedLine(line))
	}
	if e.Dir != e.Here {
		lines = append(lines, "it was allowed in the folder "+escapedLine(e.Dir)+"; the current folder is "+
			escapedLine(e.Here))
	}
	if wants := a.permissionsText(&e.Wants); wants != "" {
		lines = append(lines, wants)
	}
	return strings.Join(lines, "\n")
}

// stored ends the invocation if its answer is for a program that is not running: the answer is
// stored, and the run still waits.
func (f *follower) stored(ctx context.Context) error {
	where, ok := f.service.(interface {
		Left(ctx context.Context, run string) (program string, left bool, err error)
	})
	if !ok {
		return nil
	}
	program, left, err := where.Left(ctx, f.run)
	if err != nil || !left {
		return err
	}
	rec, err := f.sync(ctx)
	if err == nil {
		err = f.result(ctx, rec)
	}
	if err != nil {
		return err
	}
	if program == "" {
		return &exit{ExitPaused, "the answer is stored; the run's program reads it when it runs"}
	}
	return &exit{ExitPaused, fmt.Sprintf("the answer is stored; the program %s reads it when it runs", clean(program))}
}

// resumes returns the backend with the run to resume, and the run's id. In a local store the run is
// driven with the files that the flags name; a server has its own.
func (a *app) resumes(c *cobra.Command, fl *resumeFlags, typed string) (s backend, run string, err error) {
	remote, err := a.selectedServer(c)
	if err != nil {
		return nil, "", err
	}
	if remote != nil {
		if err := onlyHere(c, "tools", "replies", "prices", "approve-all", "take-over", "trust", "driver"); err != nil {
			return nil, "", err
		}
		if run, err = a.runID(c.Context(), remote, typed); err != nil {
			return nil, "", errors.Join(err, remote.Close())
		}
		return remote, run, nil
	}
	files, err := a.files(fl.files)
	if err != nil {
		return nil, "", err
	}
	if err := a.connectForDriver(c, fl.driver); err != nil {
		return nil, "", err
	}
	cfg := a.config()
	cfg.ApproveAll = fl.approveAll
	if err := a.requireStore(c.Context()); err != nil {
		return nil, "", err
	}
	here, err := service.Look(c.Context(), cfg)
	if err != nil {
		return nil, "", err
	}
	a.workTemporal(c.Context(), here)
	if run, err = a.runID(c.Context(), here, typed); err == nil && (files.Tools != nil || files.Replies != nil) {
		err = here.Give(run, files)
	}
	if err != nil {
		return nil, "", errors.Join(err, here.Close())
	}
	return here, run, nil
}

// refused returns an error that explains why an answer or larger limits were not accepted, with the
// text of the error's code; the run is unchanged.
func refused(err error, q service.AnswerRequest, rec service.Recorded) error {
	run := rec.Head.Run
	switch service.Describe(err).Code {
	case errcode.WaitAmbiguous:
		waiting := rec.Object().Waiting
		lines := []string{fmt.Sprintf("run %s waits for %d answers; name one:", run, len(waiting))}
		for _, w := range waiting {
			lines = append(lines, fmt.Sprintf("  --wait %s    %s at %s", w.ID, w.Kind, clean(w.Node)))
		}
		return usageErrorf("%s", strings.Join(lines, "\n"))
	case errcode.WaitNotFound, errcode.WaitClosed:
		if q.Wait == "" && q.Node == "" {
			err = errcode.New(errcode.RunNotWaiting, errcode.Fields{"run": run, "status": string(rec.Head.Status)}, err)
		}
	case errcode.RunEnded, errcode.RunNotReopenable, errcode.RunParentBudget, errcode.WaitNoApproval,
		errcode.WaitAnswered, errcode.WaitRole, errcode.InvalidAnswer:
	default:
		if service.CodeOf(err) != service.CodeConflict {
			return err
		}
	}
	d := service.Describe(err)
	text := d.Message
	if hint := errcode.Hint(d.Code, d.Fields, errcode.Command); hint != "" {
		text += "; " + hint
	}
	if !strings.HasPrefix(text, "run "+run+" ") {
		text = "run " + run + ": " + text
	}
	return usageErrorf("%s; nothing was changed%s", clean(text), retryHint(rec))
}

// retryHint returns how to continue a run that has ended without success, or "" for other runs.
func retryHint(rec service.Recorded) string {
	verb, flags := "retry", ""
	switch o := rec.Object(); {
	case rec.Head.Status == journal.StatusFailed && o.Error != nil:
		verb, flags = continuation(o)
	case rec.Head.Status != journal.StatusFailed && rec.Head.Status != journal.StatusCancelled:
		return ""
	}
	if verb == "" {
		return ""
	}
	return "; to continue from there: hocket " + verb + " " + quote(rec.Head.Run) + flags
}
