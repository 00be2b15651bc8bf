package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/api/transport"
	"github.com/hocket-run/hocket/internal/service"
)

// controlLine, skipLine and runNowLine are the control actions on a schedule in `schedule list
// --json`.
type (
	controlLine struct {
		At string `json:"at"`
		By string `json:"by"`
	}
	skipLine struct {
		Until string `json:"until"`
		By    string `json:"by"`
	}
	runNowLine struct {
		controlLine
		Run string `json:"run"`
	}
	refusedLine struct {
		Since  string `json:"since"`
		Reason string `json:"reason"`
	}
)

func (l *scheduleLine) setControls(sc service.Scheduled) {
	if !sc.Paused.IsZero() {
		l.Paused = &controlLine{timeText(sc.Paused), sc.PausedBy}
	}
	if !sc.SkipUntil.IsZero() {
		l.Skip = &skipLine{timeText(sc.SkipUntil), sc.SkippedBy}
	}
	if sc.AskedRun != "" {
		l.Asked = &runNowLine{controlLine{timeText(sc.Asked), sc.AskedBy}, sc.AskedRun}
	}
	if !sc.Refused.IsZero() {
		l.Refused = &refusedLine{timeText(sc.Refused), sc.Refusal}
	}
}

const controlHelp = `

What is said is kept in the store and in the audit log, holds for each later version
of the workflow, and is obeyed by the scheduler at once. Where the workflow has several
schedules, --branch or --schedule names one. WORKFLOW is also the name of a Go graph that
a program schedules; --program names the program where there are several.`

// scheduleControlCmds returns the verbs that control a schedule.
func (a *app) scheduleControlCmds() []*cobra.Command {
	verb := func(do service.ScheduleControl, short, long string) *cobra.Command {
		q := service.ControlRequest{Do: do, By: access.ActorLocal}
		var asJSON bool
		var tz string
		c := &cobra.Command{
			Use: string(do) + " WORKFLOW", Short: short, Long: long + controlHelp,
			Example: "  hocket schedule " + string(do) + " feeds --branch daily",
			Args:    checkArgs("WORKFLOW"), ValidArgsFunction: func(c *cobra.Command, args []string, prefix string) (
				[]string, cobra.ShellCompDirective) {
				if len(args) > 0 {
					return nil, cobra.ShellCompDirectiveNoFileComp
				}
				return a.completeWorkflow(c, args, prefix)
			},
			RunE: func(c *cobra.Command, args []string) (err error) {
				if q.Zone, err = parseZone(c, tz); err != nil {
					return err
				}
				q.Workflow = args[0]
				return a.controlSchedule(c.Context(), q, asJSON)
			},
		}
		c.Flags().StringVar(&q.Branch, "branch", "", "`ID` of the branch")
		c.Flags().StringVar(&q.Schedule, "schedule", "", "`ID` of the schedule")
		c.Flags().StringVar(&q.Program, "program", "", "`NAME` of the program whose Go graph WORKFLOW is")
		addZoneFlag(c, &tz, "time `ZONE` of calendars whose document names none (default: the machine's)")
		c.Flags().BoolVar(&asJSON, "json", false, "print the schedule as JSON")
		return c
	}
	return []*cobra.Command{
		verb(service.PauseSchedule, "pause a schedule", "Pauses a schedule of a published workflow: nothing starts "+
			"by itself until it is\nresumed. Runs in progress continue."),
		verb(service.ResumeSchedule, "resume a paused schedule",
			"Resumes a schedule. It continues with the next planned time: what was planned before\nis not made up "+
				"for. Skipped times that are still to come are planned again."),
		verb(service.SkipSchedule, "skip the next planned time of a schedule",
			"Skips the next planned time of a schedule; said again, one more. Continuous\nschedules have no "+
				"planned times."),
		verb(service.RunSchedule, "run a schedule now",
			"Asks the scheduler to start a run now, also of a paused schedule, once no other run\nof it is active, "+
				"waits until it has started, and prints its id. If the scheduler\nrefuses the run, the command fails "+
				"with the reason. Ctrl-C ends the waiting, not the\nrequest. If no scheduler is running, the id is "+
				"printed at once, and the next one\nstarts the run; a day later nothing is started."),
	}
}

func (a *app) controlSchedule(ctx context.Context, q service.ControlRequest, asJSON bool) error {
	if err := a.requireStore(ctx); err != nil {
		return err
	}
	s, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	var sc service.Scheduled
	err = a.audited(ctx, s, access.Record{Action: transport.ActSchedule + string(q.Do), Target: q.Workflow},
		func(r *access.Record) error {
			if sc, err = s.ControlSchedule(ctx, q); err == nil {
				r.Target = sc.String()
			}
			return err
		})
	if err != nil {
		return err
	}
	if q.Do == service.RunSchedule {
		if err := a.awaitStart(ctx, s, sc); err != nil {
			return err
		}
	}
	if asJSON {
		return writeJSON(a.Out, lineOfSchedule(sc), a.OutTerminal)
	}
	if q.Do == service.RunSchedule {
		_, err = fmt.Fprintln(a.Out, clean(sc.AskedRun))
		return err
	}
	if a.quiet {
		return nil
	}
	_, err = fmt.Fprintln(a.Err, controlled(sc))
	return err
}

// awaitStart waits until a requested run has started. It says if that takes a while, or if no
// scheduler is running.
func (a *app) awaitStart(ctx context.Context, s *service.Service, sc service.Scheduled) error {
	slow := time.AfterFunc(3*time.Second, func() {
		if !a.quiet {
			fmt.Fprintf(a.Err, "run %s starts when the active run of the schedule has ended; Ctrl-C ends the waiting, "+
				"not the request\n", sc.AskedRun)
		}
	})
	defer slow.Stop()
	err := s.AwaitStart(ctx, sc)
	if !errors.Is(err, service.ErrNoScheduler) {
		return err
	}
	if !a.quiet {
		fmt.Fprintln(a.Err, noScheduler(sc.Program))
	}
	return nil
}

// controlled describes the state of a schedule in one line.
func controlled(sc service.Scheduled) string {
	text := clean(sc.String()) + ": "
	switch {
	case !sc.Paused.IsZero():
		return text + "paused"
	case sc.Next.IsZero():
		return text + "active"
	}
	return text + "next " + sc.Next.Format("Mon 2006-01-02 15:04:05 -07:00")
}
