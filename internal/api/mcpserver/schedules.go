package mcpserver

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/api/transport"
	"github.com/hocket-run/hocket/internal/service"
)

var scheduleOut = closedObject(
	opt("program", aText, "The Go program whose graph it is; absent: a stored workflow."), req("workflowId", aText, ""),
	opt("branchId", aText, "Absent: the main graph."),
	opt("schedule", aText, "The id of the schedule; absent: it has none."),
	req("mode", aText, ""), req("spec", aText, "The schedule as the document has it."), opt("zone", aText,
		"The time zone of a calendar."), opt("inputs", anything, "The inputs of its runs, by name."),
	opt("next", aText, "The next time at which it starts a run; absent: unknown, or it is paused."),
	opt("lastRun", aText, "The last run that it started."), opt("lastStatus", aText, ""),
	opt("pausedAt", aText, "Since when it is paused; absent: it is not."), opt("pausedBy", aText, ""),
	opt("skipUntil", aText, "The last planned time that is skipped."), opt("skippedBy", aText, ""),
	opt("askedRun", aText, "The id of a run that was asked for and starts soon."), opt("askedBy", aText, ""),
	opt("problem", aText, "Why it cannot be read."),
	opt("refusedSince", aText, "Since when its runs are refused; absent: the last one was accepted, or none came."),
	opt("refusal", aText, "Why they are refused."),
)

func scheduleTools() []*tool {
	return []*tool{
		{
			name: "list_schedules", title: "List schedules", role: access.RoleRun, effect: reads,
			about: "Lists the schedules of published workflows with their next times, by workflow, branch and id, " +
				"and behind them those of Go programs.",
			takes: []prop{opt("id", aText, "Only those of this workflow.")},
			gives: closedObject(req("schedules", list(scheduleOut), "")),
			do:    listSchedules,
		},
		{
			name: "control_schedule", title: "Pause, resume, skip or run a schedule", role: access.RoleEdit,
			effect: acts,
			about: "Says one thing of a schedule of a published workflow. pause: nothing starts by itself until " +
				"resume. resume: it continues with the next planned time; nothing is made up for. " +
				"skip: the next planned time starts nothing. run: a run starts, also of a paused schedule; " +
				"askedRun is its id, and a run that is refused is an error with the reason. " +
				`Example: {"id": "WORKFLOW", "control": "pause"}`,
			takes: slices.Concat(workflowID, []prop{
				req("control", oneOf("pause", "resume", "skip", "run"), "What to do."),
				opt("branch", aText, "The branch, where several branches have schedules."),
				opt("schedule", aText, "The id of the schedule, where the workflow has several."), opt("program", aText,
					"The Go program whose graph id names, where several schedule one of that name."),
			}),
			gives: scheduleOut, do: controlSchedule,
		},
	}
}

type scheduleFact struct {
	Program    string          `json:"program,omitempty"`
	WorkflowID string          `json:"workflowId"`
	BranchID   string          `json:"branchId,omitempty"`
	Schedule   string          `json:"schedule,omitempty"`
	Mode       string          `json:"mode"`
	Spec       string          `json:"spec"`
	Zone       string          `json:"zone,omitempty"`
	Inputs     json.RawMessage `json:"inputs,omitempty"`
	Next       *time.Time      `json:"next,omitempty"`
	LastRun    string          `json:"lastRun,omitempty"`
	LastStatus string          `json:"lastStatus,omitempty"`
	PausedAt   *time.Time      `json:"pausedAt,omitempty"`
	PausedBy   string          `json:"pausedBy,omitempty"`
	SkipUntil  *time.Time      `json:"skipUntil,omitempty"`
	SkippedBy  string          `json:"skippedBy,omitempty"`
	AskedRun   string          `json:"askedRun,omitempty"`
	AskedBy    string          `json:"askedBy,omitempty"`
	Problem    string          `json:"problem,omitempty"`
	Refused    *time.Time      `json:"refusedSince,omitempty"`
	Refusal    string          `json:"refusal,omitempty"`
}

func scheduleOf(s service.Scheduled) scheduleFact {
	some := func(t time.Time) *time.Time {
		if t.IsZero() {
			return nil
		}
		return &t
	}
	f := scheduleFact{
		Program: s.Program, WorkflowID: s.Workflow, BranchID: s.Key.Branch, Schedule: s.Key.Schedule,
		Mode: s.Schedule.Mode, Spec: s.Schedule.Spec, Zone: s.Zone, Inputs: s.Schedule.Inputs, Next: some(s.Next),
		LastRun: s.LastRun, LastStatus: string(s.LastStatus), PausedAt: some(s.Paused), PausedBy: s.PausedBy,
		SkipUntil: some(s.SkipUntil), SkippedBy: s.SkippedBy,
		AskedRun: s.AskedRun, AskedBy: s.AskedBy, Refused: some(s.Refused), Refusal: s.Refusal,
	}
	if s.Err != nil {
		f.Problem = s.Err.Error()
	}
	return f
}

func listSchedules(ctx context.Context, c *call) (any, error) {
	var args struct {
		ID string `json:"id"`
	}
	if err := c.decode(&args); err != nil {
		return nil, err
	}
	all, _, _, err := c.Service.Schedules(ctx, nil)
	if err != nil {
		return nil, err
	}
	facts := []scheduleFact{}
	for _, s := range all {
		if args.ID == "" || s.Workflow == args.ID {
			facts = append(facts, scheduleOf(s))
		}
	}
	return map[string]any{"schedules": facts}, nil
}

type controlArgs struct {
	workflowArgs
	Control  string `json:"control"`
	Branch   string `json:"branch"`
	Schedule string `json:"schedule"`
	Program  string `json:"program"`
}

func controlSchedule(ctx context.Context, c *call) (any, error) {
	var args controlArgs
	id, err := c.decodeID(&args)
	if err != nil {
		return nil, err
	}
	s, err := c.Service.ControlSchedule(ctx, service.ControlRequest{Program: args.Program, Workflow: id,
		Branch: args.Branch, Schedule: args.Schedule, Do: service.ScheduleControl(args.Control), By: c.Name})
	if err != nil {
		return nil, err
	}
	c.record(transport.ActSchedule+args.Control, s.String())
	if service.ScheduleControl(args.Control) == service.RunSchedule {
		if err := c.Service.AwaitDecision(ctx, s); err != nil {
			return nil, err
		}
	}
	return scheduleOf(s), nil
}
