package schedule

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/errcode"
	"github.com/hocket-run/hocket/internal/schedule"
	"github.com/hocket-run/hocket/internal/scheduler"
	"github.com/hocket-run/hocket/internal/service/failure"
	"github.com/hocket-run/hocket/workflow"
)

// Preview is the previewed schedule of a document or a stored workflow.
type Preview struct {
	Branch string
	// ID is the schedule's id, "" if it has none.
	ID       string
	Schedule schedule.Schedule
	Zone     *time.Location
	// Inputs are the inputs of its runs; nil means none.
	Inputs json.RawMessage
	// Times are the planned times; none for a schedule that has none.
	Times []time.Time
}

// PreviewRequest specifies the planned times to return.
type PreviewRequest struct {
	// Branch is the branch; "" is the main graph, or the only scheduled item.
	Branch string
	// ID is the schedule's id; "" means the only one.
	ID string
	// Zone, if not nil, overrides the document's zone; Local is the zone of documents that specify
	// none; nil means the machine's.
	Zone, Local *time.Location
	From        time.Time
	Count       int
}

// LastYear is the last year of planned times: later ones have no form in JSON.
const LastYear = 9999

// PreviewOf returns the times at which a workflow would start automatically. It returns an
// *InvalidError, for example for an unknown branch (S1-21).
func PreviewOf(w *workflow.Workflow, q PreviewRequest) (Preview, error) {
	branch, list, err := scheduledPart(w, q.Branch)
	if err != nil {
		return Preview{}, err
	}
	words, err := pick(w.ID, branch, list, q.ID)
	if err != nil {
		return Preview{}, err
	}
	p := Preview{Branch: branch, Zone: cmp.Or(q.Zone, q.Local, time.Local)}
	if words == nil {
		return p, nil
	}
	p.ID, p.Inputs = words.ID, words.Inputs
	if p.Schedule, err = schedule.Parse(words.Mode, words.Spec); err == nil && q.Zone == nil {
		p.Zone, err = schedule.Zone(words.TimeZone, p.Zone)
	}
	if err != nil {
		return p, failure.Refuse(errcode.InvalidSchedule, nil, err)
	}
	if p.Schedule.IsTimed() {
		for at := q.From; len(p.Times) < q.Count; {
			if at = p.Schedule.NextFrom(q.From, at, p.Zone); at.IsZero() || at.Year() > LastYear {
				break
			}
			p.Times = append(p.Times, at)
		}
	}
	return p, nil
}

// pick returns the schedule with that id, or the only one; nil if there is none.
func pick(workflowID, branch string, list []workflow.Schedule, id string) (*workflow.Schedule, error) {
	if id == "" && len(list) == 0 {
		return nil, nil
	}
	if id == "" && len(list) == 1 {
		return &list[0], nil
	}
	var names []string
	for i := range list {
		if list[i].ID == id {
			return &list[i], nil
		}
		names = append(names, nameOf(scheduler.Key{Branch: branch, Schedule: list[i].ID}))
	}
	switch name := nameOf(scheduler.Key{Branch: branch, Schedule: id}); {
	case len(list) == 0:
		return nil, failure.Refuse(errcode.ScheduleMissing, errcode.Fields{"id": workflowID}, nil)
	case id == "":
		return nil, failure.Refuse(errcode.ScheduleNeeded, errcode.Fields{"id": workflowID, "schedules": names}, nil)
	default:
		return nil, failure.Refuse(errcode.ScheduleNotFound, errcode.Fields{"id": workflowID, "schedule": name,
			"schedules": names, "meant": diag.DidYouMean(name, names)}, nil)
	}
}

// scheduledPart returns a branch with its schedules.
func scheduledPart(w *workflow.Workflow, branch string) (string, []workflow.Schedule, error) {
	ids := map[string][]workflow.Schedule{}
	var scheduled []string
	for _, b := range w.Branches {
		if b == nil {
			continue
		}
		if ids[b.ID] = b.Schedules; len(b.Schedules) > 0 {
			scheduled = append(scheduled, b.ID)
		}
	}
	names := slices.Sorted(maps.Keys(ids))
	sch, ok := ids[branch]
	switch {
	case ok:
		return branch, sch, nil
	case branch != "" && len(names) == 0:
		return "", nil, failure.Refuse(errcode.NoBranches, errcode.Fields{"branch": branch}, nil)
	case branch != "":
		return "", nil, failure.Refuse(errcode.BranchNotFound, errcode.Fields{"branch": branch, "branches": names,
			"meant": diag.DidYouMean(branch, names)}, nil)
	case len(names) == 0:
		return "", w.Schedules, nil
	case len(scheduled) == 1:
		return scheduled[0], ids[scheduled[0]], nil
	}
	return "", nil, failure.Refuse(errcode.BranchNeeded, errcode.Fields{"branches": names}, nil)
}
