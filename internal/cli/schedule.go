package cli

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/schedule"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/workflow"
)

func (a *app) scheduleCmd() *cobra.Command {
	list := a.scheduleListCmd()
	c := &cobra.Command{
		Use: "schedule", Short: "list, preview, pause, resume, skip and run schedules",
		Long: "Lists the schedules of all published workflows, previews their times, and pauses,\nresumes, skips and " +
			"runs them. Without a subcommand, it lists them. `hocket scheduler`\nruns them; see " +
			"docs/schedules.md.",
		Example: "  hocket schedule list\n  hocket schedule preview feeds.json --branch daily --tz " +
			"America/New_York\n  hocket schedule pause feeds --branch daily",
		Args: checkArgs(), RunE: list.RunE,
	}
	c.Flags().AddFlagSet(list.Flags())
	c.AddCommand(list, a.schedulePreviewCmd())
	c.AddCommand(a.scheduleControlCmds()...)
	return c
}

// addZoneFlag adds --tz.
func addZoneFlag(c *cobra.Command, tz *string, usage string) {
	c.Flags().StringVar(tz, "tz", "", usage)
	must(c.RegisterFlagCompletionFunc("tz",
		cobra.FixedCompletions(schedule.ZoneNames(), cobra.ShellCompDirectiveNoFileComp)))
}

// parseZone parses --tz; it returns nil if the flag is not set.
func parseZone(c *cobra.Command, tz string) (*time.Location, error) {
	if !c.Flags().Changed("tz") {
		return nil, nil
	}
	loc, err := schedule.Zone(tz, time.Local)
	if err != nil {
		return nil, usageErrorf("--tz: %v", err)
	}
	return loc, nil
}

// scheduleLine is a schedule in `schedule list --json`.
type scheduleLine struct {
	// Program is the Go program whose graph Workflow names; null means that Workflow is a stored
	// workflow.
	Program  *string `json:"program"`
	Workflow string  `json:"workflow"`
	Branch   *string `json:"branch"`
	ID       *string `json:"id"`
	Mode     string  `json:"mode"`
	Schedule string  `json:"schedule"`
	TimeZone *string `json:"timeZone"`
	// Inputs are the inputs of its runs; null means none.
	Inputs json.RawMessage `json:"inputs"`
	// Next is null if there is no planned time, or if it is not known yet.
	Next    *string      `json:"next"`
	LastRun *lastRunLine `json:"lastRun"`
	// Paused, Skip and Asked are null if the schedule has no such setting.
	Paused *controlLine `json:"paused"`
	Skip   *skipLine    `json:"skip"`
	Asked  *runNowLine  `json:"asked"`
	Error  *string      `json:"error"`
	// Refused is null unless the last start was refused.
	Refused *refusedLine `json:"refused"`
}

type lastRunLine struct {
	ID string `json:"id"`
	// Status is null for a run that was pruned.
	Status *string `json:"status"`
}

// textOf returns a pointer to s, or nil if s is empty.
func textOf(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func (a *app) scheduleListCmd() *cobra.Command {
	var (
		asJSON bool
		tz     string
	)
	c := &cobra.Command{
		Use: "list", Short: "list the schedules of published workflows and of Go programs", Args: checkArgs(),
		RunE: func(c *cobra.Command, _ []string) error {
			loc, err := parseZone(c, tz)
			if err != nil {
				return err
			}
			s, err := a.openExisting(c.Context())
			if err != nil {
				return err
			}
			defer s.Close()
			list, leader, alive, err := s.Schedules(c.Context(), loc)
			if err != nil {
				return err
			}
			if asJSON {
				lines := make([]scheduleLine, len(list))
				for i, sc := range list {
					lines[i] = lineOfSchedule(sc)
				}
				return writeJSON(a.Out, lines, a.OutTerminal)
			}
			if err := a.scheduleTable(list); err != nil || a.quiet {
				return err
			}
			switch {
			case len(list) == 0:
				fmt.Fprintln(a.Err, "no schedules")
			case list[0].Program != "": // all of them belong to programs
			case alive:
				fmt.Fprintf(a.Err, "run by %s\n", clean(leader.String()))
			default:
				fmt.Fprintln(a.Err, noScheduler(""))
			}
			for i, sc := range list {
				if sc.Program != "" && !sc.IsRun && (i == 0 || list[i-1].Program != sc.Program) {
					fmt.Fprintln(a.Err, noScheduler(sc.Program))
				}
			}
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print a list as JSON")
	addZoneFlag(c, &tz, "time `ZONE` of calendars whose document names none (default: the machine's)")
	return c
}

func lineOfSchedule(sc service.Scheduled) scheduleLine {
	l := scheduleLine{Program: textOf(sc.Program), Workflow: sc.Workflow, Branch: textOf(sc.Branch.Branch),
		ID: textOf(sc.Key.Schedule), Mode: sc.Schedule.Mode, Schedule: sc.Schedule.Spec, TimeZone: textOf(sc.Zone),
		Inputs: sc.Schedule.Inputs}
	if !sc.Next.IsZero() {
		l.Next = textOf(timeText(sc.Next))
	}
	if sc.LastRun != "" {
		l.LastRun = &lastRunLine{sc.LastRun, textOf(string(sc.LastStatus))}
	}
	l.setControls(sc)
	if sc.Err != nil {
		l.Error = textOf(sc.Err.Error())
	}
	return l
}

// timeText returns a time for programs: RFC 3339, with a fraction only if it is not zero.
func timeText(t time.Time) string { return t.Format(time.RFC3339Nano) }

func (a *app) scheduleTable(list []service.Scheduled) error {
	header, ofPrograms := "WORKFLOW\tBRANCH\tID\tMODE\tSCHEDULE\tZONE\tNEXT\tLAST RUN\tSTATUS", len(list) > 0 &&
		list[len(list)-1].Program != ""
	if ofPrograms {
		header = "PROGRAM\t" + header
	}
	return printTable(a, list, "", header, func(sc service.Scheduled) []string {
		var next string
		switch {
		case sc.Err != nil:
			next = "cannot be read: " + sc.Err.Error()
		case !sc.Paused.IsZero():
			next = "paused by " + sc.PausedBy
		case !sc.Next.IsZero():
			next = sc.Next.Format("Mon 2006-01-02 15:04:05 -07:00")
		case sc.Schedule.Mode == workflow.ModeContinuous:
			next = "after the previous run ends"
		default:
			next = "once a scheduler has registered it"
		}
		if !sc.SkipUntil.IsZero() && sc.Err == nil {
			next += "; " + sc.SkippedBy + " skipped the times before"
		}
		if sc.AskedRun != "" {
			next += "; run " + sc.AskedRun + " starts soon"
		}
		if !sc.Refused.IsZero() {
			next += "; runs are refused since " + sc.Refused.In(time.Local).Format("Mon 2006-01-02 15:04:05") + ": " +
				oneLine(sc.Refusal)
		}
		row := []string{
			clean(sc.Workflow), dash(clean(sc.Branch.Branch)), dash(clean(sc.Key.Schedule)),
			dash(clean(sc.Schedule.Mode)),
			dash(clean(sc.Schedule.Spec)), dash(clean(sc.Zone)), clean(next), dash(sc.LastRun),
			dash(string(sc.LastStatus)),
		}
		if ofPrograms {
			row = append([]string{dash(clean(sc.Program))}, row...)
		}
		return row
	})
}

// noScheduler returns the message that nothing starts the runs of a program's schedules, or of
// stored workflows if program is "".
func noScheduler(program string) string {
	if program == "" {
		return "no scheduler is running; start one with hocket scheduler"
	}
	return "no process of program " + clean(program) + " is running its schedules"
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// maxPreview is the maximum value of --count.
const maxPreview = 10_000

func (a *app) schedulePreviewCmd() *cobra.Command {
	var (
		opts     service.LoadOptions
		q        service.PreviewRequest
		tz, from string
		stored   string
		asJSON   bool
	)
	c := &cobra.Command{
		Use: "preview FILE", Short: "print the next planned times of a workflow",
		Long: "Prints the next planned times of a branch of a document or of a stored workflow.\nIt starts nothing. " +
			"An interval counts from --from, as if the schedule was\n" +
			"registered then.",
		Example: "  hocket schedule preview feeds.json --branch daily --tz Europe/Berlin --count 3\n" +
			"  hocket schedule preview feeds.json --from 2026-03-07T00:00:00Z --json\n  hocket schedule preview " +
			"--workflow feeds --branch daily",
		Args: checkArgs("[FILE]"), ValidArgsFunction: firstIsDocument,
		RunE: func(c *cobra.Command, args []string) error {
			var err error
			if q.Zone, err = parseZone(c, tz); err != nil {
				return err
			}
			if q.Count < 1 || q.Count > maxPreview {
				return mustBe("count", fmt.Sprintf("from 1 to %d", maxPreview), strconv.Itoa(q.Count))
			}
			var w *workflow.Workflow
			switch {
			case len(args) == 1 && stored != "":
				return usageErrorf("give either FILE or --workflow ID")
			case len(args) == 1:
				w, err = a.scheduleOf(c, args[0], opts)
			case c.Flags().Changed("workflow"):
				w, err = a.storedScheduleOf(c, stored)
			default:
				return usageErrorf(
					"hocket schedule preview needs FILE or --workflow ID; see hocket help schedule preview")
			}
			if err != nil {
				return err
			}
			if q.From, err = a.from(from, q.Zone); err != nil {
				return err
			}
			p, err := service.PreviewOf(w, q)
			if err != nil {
				return err
			}
			return a.preview(p, asJSON)
		},
	}
	addLoadFlags(c, &opts)
	c.Flags().StringVar(&q.Branch, "branch", "", "`ID` of the branch")
	c.Flags().StringVar(&q.ID, "schedule", "", "`ID` of the schedule, where there are several")
	addZoneFlag(c, &tz,
		"time `ZONE`, such as Europe/Berlin, overriding the document (default: the document's, else the machine's)")
	c.Flags().StringVar(&from, "from", "", "print times after `TIME`, such as 2026-03-07T12:00:00Z (default: now)")
	c.Flags().IntVar(&q.Count, "count", 10, "print `N` times")
	c.Flags().StringVar(&stored, "workflow", "", "instead of FILE: `ID` of a stored workflow")
	c.Flags().BoolVar(&asJSON, "json", false, "print a list of RFC 3339 times as JSON")
	must(c.RegisterFlagCompletionFunc("workflow", a.completeWorkflow))
	return c
}

// fromForms are the layouts of --from; times without an offset are local to the zone.
var fromForms = []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04:05",
	"2006-01-02 15:04", "2006-01-02"}

func (a *app) from(text string, loc *time.Location) (time.Time, error) {
	if text == "" {
		return time.Now().Truncate(time.Second), nil
	}
	if loc == nil {
		loc = time.Local
	}
	for _, form := range fromForms {
		if t, err := time.ParseInLocation(form, text, loc); err == nil {
			return t, nil
		}
	}
	return time.Time{}, mustBe("from", "a time such as 2026-03-07T12:00:00Z", text)
}

// scheduleOf reads a document for its schedules. Problems that only keep it from running, such as
// an agent that is defined elsewhere, are ignored.
func (a *app) scheduleOf(c *cobra.Command, path string, opts service.LoadOptions) (*workflow.Workflow, error) {
	data, err := service.ReadFile(path, a.In)
	if err != nil {
		return nil, err
	}
	opts.Stdin, opts.Catalog, opts.Operator, opts.Env = a.In, a.catalogAgents, a.operator, a.Env
	w, problems, err := loadDocument(c.Context(), path, data, opts)
	if err != nil {
		return nil, err
	}
	return a.onlySchedules(w, problems)
}

func (a *app) storedScheduleOf(c *cobra.Command, id string) (*workflow.Workflow, error) {
	s, err := a.openExisting(c.Context())
	if err != nil {
		return nil, err
	}
	defer s.Close()
	w, _, problems, err := s.LoadStored(c.Context(), id, service.Which{}, service.LoadOptions{})
	if err != nil {
		return nil, err
	}
	return a.onlySchedules(w, problems)
}

// onlySchedules returns an error if the document or its schedules cannot be read.
func (a *app) onlySchedules(w *workflow.Workflow, problems diag.List) (*workflow.Workflow, error) {
	if w == nil {
		return nil, a.refuse(problems)
	}
	var list diag.List
	for _, d := range problems {
		switch d.Code {
		case schedule.CodeBadSchedule, schedule.CodeMissingSchedule, schedule.CodeUnknownMode, schedule.CodeUnknownZone,
			schedule.CodeTooMany, schedule.CodeDuplicate, schedule.CodeInputs, schedule.CodeConflict:
			list.Add(d)
		default:
			if d.Severity == diag.Error && strings.Contains("."+d.Path, ".schedules[") {
				list.Add(d)
			}
		}
	}
	return w, a.refuse(list)
}

// preview prints planned times.
func (a *app) preview(p service.Preview, asJSON bool) error {
	switch {
	case a.quiet || p.Schedule.IsTimed():
	case p.Schedule.Kind == schedule.KindContinuous:
		fmt.Fprintf(a.Err, "continuous: the first run starts at once, each further run %s after the end of the "+
			"previous one; there are no planned times\n", p.Schedule.Every)
	default:
		fmt.Fprintln(a.Err, "one_time: it has no schedule")
	}
	if len(p.Inputs) > 0 && !a.quiet {
		fmt.Fprintf(a.Err, "inputs: %s\n", printable(string(p.Inputs)))
	}
	if asJSON {
		times := make([]string, len(p.Times))
		for i, t := range p.Times {
			times[i] = timeText(t)
		}
		return writeJSON(a.Out, times, a.OutTerminal)
	}
	for _, t := range p.Times {
		line := timeText(t) + "  " + t.Format("Mon")
		if odd := p.Schedule.Explain(t, p.Zone); odd != "" {
			line += "  " + a.outColor.dim(odd)
		}
		if _, err := fmt.Fprintln(a.Out, line); err != nil {
			return fmt.Errorf("write times: %w", err)
		}
	}
	return nil
}
