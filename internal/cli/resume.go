package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/expr"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/workflow"
)

type resumeFlags struct {
	approve, reject      bool
	note, input          string
	wait, node           string
	json, events, all    bool
	maxSteps             int
	timeout              time.Duration
	budget               string
	hasInput, hasReopens bool
}

func (a *app) resumeCmd() *cobra.Command {
	fl := &resumeFlags{}
	c := &cobra.Command{
		Use:   "resume RUN",
		Short: "continue an interrupted run, or answer the wait of a paused one",
		Example: "  hocket resume 01a2… --approve --note \"looks good\"\n  hocket resume 01a2… --input \"blue\" --wait w7\n" +
			"  hocket resume 01a2… --max-steps 2000",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeRuns,
		RunE: func(c *cobra.Command, args []string) error {
			fl.hasInput = c.Flags().Changed("input")
			fl.hasReopens = c.Flags().Changed("max-steps") || c.Flags().Changed("timeout") || c.Flags().Changed("budget")
			return a.resume(c, fl, args[0])
		},
	}
	f := c.Flags()
	f.BoolVar(&fl.approve, "approve", false, "approve what waits")
	f.BoolVar(&fl.reject, "reject", false, "reject what waits")
	f.StringVar(&fl.note, "note", "", "`TEXT` that goes with the decision")
	f.StringVar(&fl.input, "input", "", "answer: `TEXT_OR_JSON`")
	f.StringVar(&fl.wait, "wait", "", "`ID` of the wait, where several are open")
	f.StringVar(&fl.node, "node", "", "`ID` of the node that waits")
	f.IntVar(&fl.maxSteps, "max-steps", 0, "reopen a run that ended by its step limit with `N` steps in all")
	f.DurationVar(&fl.timeout, "timeout", 0, "reopen a run that ended by its time limit")
	f.StringVar(&fl.budget, "budget", "", "reopen a run that ended by its budget: tokens such as `200000`, or money such as 2.50usd")
	f.BoolVar(&fl.json, "json", false, "print the run object instead of the final output")
	f.BoolVar(&fl.events, "events", false, "print every event as one JSON line while the run goes on")
	f.BoolVar(&fl.all, "approve-all", false, "answer every approval with approve")
	c.MarkFlagsMutuallyExclusive("approve", "reject", "input")
	c.MarkFlagsMutuallyExclusive("wait", "node")
	return c
}

// answer gives the answer of the flags; false where they hold none.
func (fl *resumeFlags) answer() (service.AnswerRequest, bool, error) {
	q := service.AnswerRequest{Wait: fl.wait, Node: fl.node, Note: fl.note}
	switch {
	case fl.approve:
		q.Value = expr.Quote(workflow.PortApprove)
	case fl.reject:
		q.Value = expr.Quote(workflow.PortReject)
	case fl.hasInput:
		q.Value = textOrJSON(fl.input)
	case fl.note != "" || fl.wait != "" || fl.node != "":
		return q, false, usef("say what the answer is: --approve, --reject or --input")
	default:
		return q, false, nil
	}
	return q, true, nil
}

// limits gives the limits of a reopening.
func (fl *resumeFlags) limits() (workflow.Limits, error) {
	var l workflow.Limits
	if fl.maxSteps != 0 {
		if fl.maxSteps < 0 {
			return l, usef("--max-steps %d: it cannot be negative", fl.maxSteps)
		}
		l.MaxSteps = &fl.maxSteps
	}
	if fl.timeout < 0 {
		return l, usef("--timeout %s: it must be above 0", fl.timeout)
	}
	l.Timeout = workflow.Duration(fl.timeout)
	if fl.budget != "" {
		var money float64
		var tokens int64
		if n, err := fmt.Sscanf(fl.budget, "%gusd", &money); err == nil && n == 1 && money > 0 {
			l.MaxCostUSD = money
		} else if n, err := fmt.Sscanf(fl.budget, "%d", &tokens); err == nil && n == 1 && tokens > 0 && fmt.Sprint(tokens) == fl.budget {
			l.MaxTokens = tokens
		} else {
			return l, usef("--budget %q: it is a number of tokens, or money such as 2.50usd", fl.budget)
		}
	}
	return l, nil
}

func (a *app) resume(c *cobra.Command, fl *resumeFlags, run string) error {
	ctx := c.Context()
	answer, answers, err := fl.answer()
	if err != nil {
		return err
	}
	limits, err := fl.limits()
	if err != nil {
		return err
	}
	if answers && fl.hasReopens {
		return usef("answer the run or raise its limits, not both at once")
	}
	fo := a.newFollower(fl.json, fl.events, false)
	cfg := a.config()
	cfg.ApproveAll = fl.all
	fo.attach(&cfg)
	s, err := service.Open(ctx, cfg)
	if err != nil {
		return err
	}
	fo.service = s
	defer fo.close()
	rec, err := s.Read(ctx, run)
	if err != nil {
		return notFound(err, run)
	}
	fo.tell(run, rec.Workflow, rec.Events)
	switch {
	case fl.hasReopens:
		if err := s.Reopen(ctx, run, limits); err != nil {
			return err
		}
	case answers:
		if err := s.Answer(ctx, run, answer); err != nil {
			return refused(err, run)
		}
		if err := a.takeUp(ctx, s, run); err != nil {
			return err
		}
	case rec.Head.Status.IsEnded():
		return usef("run %s has ended (%s); there is nothing to resume", run, rec.Head.Status)
	default:
		if err := a.takeUp(ctx, s, run); err != nil {
			return err
		}
	}
	return fo.follow(ctx, run)
}

// takeUp drives a run that has no owner; one that another process drives is followed there.
func (a *app) takeUp(ctx context.Context, s *service.Service, run string) error {
	err := s.Resume(ctx, run)
	var owned *journal.OwnedError
	switch {
	case errors.As(err, &owned), errors.Is(err, engine.ErrEnded):
		return nil
	}
	return err
}

// refused words the errors of answers.
func refused(err error, run string) error {
	switch {
	case errors.Is(err, engine.ErrWaitNotFound), errors.Is(err, engine.ErrWaitAnswered), errors.Is(err, engine.ErrWaitClosed),
		errors.Is(err, engine.ErrWaitAmbiguous), errors.Is(err, engine.ErrAnswer), errors.Is(err, engine.ErrEnded):
		return usef("run %s: %v", run, err)
	}
	return err
}

func notFound(err error, run string) error {
	if errors.Is(err, journal.ErrNotFound) {
		return usef("there is no run %s in this store", run)
	}
	return err
}

func (a *app) cancelCmd() *cobra.Command {
	reason := ""
	c := &cobra.Command{
		Use: "cancel RUN", Short: "stop a run", Args: cobra.ExactArgs(1), ValidArgsFunction: a.completeRuns,
		RunE: func(c *cobra.Command, args []string) error {
			s, err := a.open(c.Context())
			if err != nil {
				return err
			}
			defer s.Close()
			if err := s.Cancel(c.Context(), args[0], reason); err != nil {
				if errors.Is(err, engine.ErrEnded) {
					return usef("run %s has ended already", args[0])
				}
				return notFound(err, args[0])
			}
			st, err := s.Wait(c.Context(), args[0])
			if err != nil {
				return err
			}
			if !a.quiet {
				fmt.Fprintf(a.Err, "run %s: %s\n", args[0], st.Status)
			}
			return nil
		},
	}
	c.Flags().StringVar(&reason, "reason", "", "`TEXT` that is kept with the run")
	return c
}
