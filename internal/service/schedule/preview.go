package schedule

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/errcode"
	"github.com/hocket-run/hocket/internal/schedule"
	"github.com/hocket-run/hocket/internal/service/failure"
	"github.com/hocket-run/hocket/workflow"
)

// Preview is the schedule of a document or a stored workflow that Preview looked at.
type Preview struct {
	Branch   string
	Schedule schedule.Schedule
	Zone     *time.Location
	// Times are the planned times; none for a schedule that has none.
	Times []time.Time
}

// PreviewRequest says which planned times are wanted.
type PreviewRequest struct {
	// Branch is the branch; "" is the main graph, or the only thing that is scheduled.
	Branch string
	// Zone, if not nil, is used whatever the document says; Local is that of documents that name none; nil: the machine's.
	Zone, Local *time.Location
	From        time.Time
	Count       int
}

// PreviewOf tells when a workflow would start by itself. Errors: *InvalidError, such as for an unknown branch (S1-21).
func PreviewOf(w *workflow.Workflow, q PreviewRequest) (Preview, error) {
	id, words, err := scheduledPart(w, q.Branch)
	if err != nil {
		return Preview{}, err
	}
	p := Preview{Branch: id, Zone: cmp.Or(q.Zone, q.Local, time.Local)}
	if words == nil {
		return p, nil
	}
	if p.Schedule, err = schedule.Parse(words.Mode, words.Spec); err == nil && q.Zone == nil {
		p.Zone, err = schedule.Zone(words.TimeZone, p.Zone)
	}
	if err != nil {
		return p, failure.Refuse(errcode.InvalidSchedule, nil, err)
	}
	if p.Schedule.IsTimed() {
		for at := q.From; len(p.Times) < q.Count; {
			if at = p.Schedule.NextFrom(q.From, at, p.Zone); at.IsZero() {
				break
			}
			p.Times = append(p.Times, at)
		}
	}
	return p, nil
}

// scheduledPart picks a branch with its schedule, which is nil where there is none.
func scheduledPart(w *workflow.Workflow, branch string) (string, *workflow.Schedule, error) {
	ids := map[string]*workflow.Schedule{}
	var scheduled []string
	for _, b := range w.Branches {
		if b == nil {
			continue
		}
		if ids[b.ID] = b.Schedule; b.Schedule != nil {
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
		return "", nil, failure.Refuse(errcode.BranchNotFound, errcode.Fields{"branch": branch, "branches": names, "meant": diag.DidYouMean(branch, names)}, nil)
	case len(names) == 0:
		return "", w.Schedule, nil
	case len(scheduled) == 1:
		return scheduled[0], ids[scheduled[0]], nil
	}
	return "", nil, failure.Refuse(errcode.BranchNeeded, errcode.Fields{"branches": names}, nil)
}
