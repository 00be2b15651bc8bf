package httpapi

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/api/transport"
	"github.com/hocket-run/hocket/internal/journal"
)

// registerPrune registers the operations that delete runs in bulk.
func (a *API) registerPrune() {
	add(a, route{
		Method: http.MethodPost, Path: "/runs/prune", ID: "pruneRuns", Tag: tagRuns, Role: access.RoleAdmin,
		Summary: "Delete old runs, or the given runs",
		Description: "Deletes runs that ended, or have been paused, before a given time, and the given runs if they " +
			"have ended or are paused. If one of the given runs " +
			"cannot be deleted, nothing is deleted. A run in progress is never deleted.",
		Errors: []int{http.StatusNotFound, http.StatusConflict},
	}, pruneRuns)
}

// PruneBody is the body of pruneRuns.
type PruneBody struct {
	EndedBefore  time.Time `json:"endedBefore,omitzero" doc:"Delete runs that ended before this time"`
	PausedBefore time.Time `json:"pausedBefore,omitzero" doc:"Delete paused runs whose last event is before this time"`
	Runs         []string  `json:"runs,omitempty" maxItems:"1000" nullable:"false" doc:"Delete these runs at any age"`
}

// Pruned lists what was deleted.
type Pruned struct {
	Runs   int   `json:"runs" doc:"Number of runs"`
	Values int   `json:"values" doc:"Number of large values that no other run has"`
	Freed  int64 `json:"freedBytes" doc:"Bytes by which the store shrank; negative if other processes wrote meanwhile"`
}

type pruneInput struct{ Body PruneBody }

type pruneAnswer struct{ Body Pruned }

func pruneRuns(ctx context.Context, c *transport.Caller, in *pruneInput) (*pruneAnswer, error) {
	b := in.Body
	if b.EndedBefore.IsZero() && b.PausedBefore.IsZero() && len(b.Runs) == 0 {
		return nil, badField("body", "missing endedBefore, pausedBefore or runs")
	}
	for _, run := range b.Runs {
		if err := deletable(ctx, c, run); errors.Is(err, journal.ErrNotFound) {
			return nil, problemInRun(err, run)
		} else if err != nil {
			return nil, err
		}
	}
	res, err := c.Service.Prune(ctx, journal.PruneQuery{EndedBefore: b.EndedBefore, PausedBefore: b.PausedBefore,
		Runs: b.Runs})
	if err != nil {
		return nil, err
	}
	return &pruneAnswer{Pruned{Runs: res.Runs, Values: res.Blobs, Freed: res.Freed}}, nil
}

func deleteRun(ctx context.Context, c *transport.Caller, in *RunPath) (*struct{}, error) {
	if err := deletable(ctx, c, in.ID); err != nil {
		return nil, err
	}
	_, err := c.Service.Prune(ctx, journal.PruneQuery{Runs: []string{in.ID}})
	return nil, err
}

// problemInRun returns the problem for err that names the run it is about.
func problemInRun(err error, run string) *Problem {
	p := problemOf(err)
	p.Detail = strconv.Quote(run) + ": " + p.Detail
	return p
}

// deletable returns nil if a run is at rest. Otherwise the error is journal.ErrNotFound with the
// run, or a *Problem if the run is still running.
func deletable(ctx context.Context, c *transport.Caller, run string) error {
	switch h, err := c.Service.Head(ctx, run); {
	case err != nil:
		return err
	case !h.Status.Ended() && h.Status != journal.StatusPaused:
		return &Problem{Title: "Conflict with the current state", Status: http.StatusConflict, Code: "conflict",
			Detail: "run " + run + " is in progress; cancel it first"}
	}
	return nil
}
