package httpapi

import (
	"context"
	"net/http"
	"time"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/api/transport"
	"github.com/hocket-run/hocket/internal/service"
)

// registerControls registers the operations that control schedules.
func (a *API) registerControls() {
	const where = " `branch` or `schedule` names one of several schedules. The process that runs schedules obeys at " +
		"once, and a new version of the workflow changes nothing about it."
	for _, r := range []struct {
		do             service.ScheduleControl
		id, what, more string
	}{
		{service.PauseSchedule, "pauseSchedule", "Pause a schedule", "Nothing starts by itself until it is resumed." +
			where},
		{service.ResumeSchedule, "resumeSchedule", "Resume a paused schedule",
			"It continues with the next planned time: nothing is made up for. Skipped times that are still to come " +
				"are planned again." + where},
		{service.SkipSchedule, "skipSchedule", "Skip the next planned time of a schedule",
			"Each request skips one more. Continuous schedules have no planned times." + where},
		{service.RunSchedule, "runSchedule", "Run a schedule now",
			"The process that runs schedules starts the run, also of a paused schedule, once no other run of it is " +
				"active; `asked` has the id that the run will have. The answer comes when it has started, after 5 " +
				"seconds at the latest; 422 says why it was refused. If no such process runs for a day, nothing is " +
				"started." + where},
	} {
		add(a, route{
			Method: http.MethodPost, Path: "/schedules/{id}/" + string(r.do), ID: r.id, Tag: tagSchedules,
			Role: access.RoleEdit, Errors: []int{http.StatusNotFound},
			Summary: r.what, Description: r.more,
		}, controlSchedule(r.do))
	}
}

type controlInput struct {
	ID       string `path:"id" doc:"Id of the workflow, or name of the graph"`
	Branch   string `query:"branch" doc:"Branch; absent: the main graph, or the only schedule"`
	Schedule string `query:"schedule" doc:"Id of the schedule, where it has one"`
	Program  string `query:"program" doc:"Program of a Go graph; absent: stored workflow, or the only program with it"`
	TZ       string `query:"tz" doc:"Time zone of schedules without one; absent: the server's" example:"Europe/Berlin"`
}

func controlSchedule(do service.ScheduleControl) func(context.Context, *transport.Caller, *controlInput) (
	*struct{ Body Scheduled }, error) {
	return func(ctx context.Context, c *transport.Caller, in *controlInput) (*struct{ Body Scheduled }, error) {
		zone, err := zoneOf(in.TZ)
		if err != nil {
			return nil, err
		}
		s, err := c.Service.ControlSchedule(ctx, service.ControlRequest{Program: in.Program, Workflow: in.ID,
			Branch: in.Branch, Schedule: in.Schedule, Do: do, By: c.Name, Zone: zone})
		if err != nil {
			return nil, err
		}
		transport.RecordAction(ctx, transport.ActSchedule+string(do), s.String())
		if do == service.RunSchedule {
			if err := c.Service.AwaitDecision(ctx, s); err != nil {
				return nil, err
			}
		}
		return &struct{ Body Scheduled }{scheduledOf(s)}, nil
	}
}

// Said records who controlled a schedule, and when.
type Said struct {
	At time.Time `json:"at"`
	By string    `json:"by" doc:"Name of the token; local: a person at the machine of the store"`
}

// SkipFact describes the skipped times of a schedule.
type SkipFact struct {
	Until time.Time `json:"until" doc:"The last planned time that is skipped"`
	By    string    `json:"by"`
}

// AskedFact is a run that a person requested.
type AskedFact struct {
	Said
	Run string `json:"run" doc:"Id that the run will have"`
}

// RefusedFact says why no runs of a schedule start.
type RefusedFact struct {
	Since  time.Time `json:"since" doc:"Since when runs are refused for this reason"`
	Reason string    `json:"reason"`
}

// setControls fills in how people have controlled a schedule.
func (out *Scheduled) setControls(s service.Scheduled) {
	if !s.Paused.IsZero() {
		out.Paused = &Said{s.Paused, s.PausedBy}
	}
	if !s.SkipUntil.IsZero() {
		out.Skip = &SkipFact{s.SkipUntil, s.SkippedBy}
	}
	if s.AskedRun != "" {
		out.Asked = &AskedFact{Said{s.Asked, s.AskedBy}, s.AskedRun}
	}
	if !s.Refused.IsZero() {
		out.Refused = &RefusedFact{s.Refused, s.Refusal}
	}
}
