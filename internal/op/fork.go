package op

import (
	"context"
	"net/http"

	"github.com/hocket-run/hocket/internal/access"
)

// ForkRun stores a new run with the events of another up to one of them.
var ForkRun = New(Operation{
	ID: "forkRun", Role: access.RoleRun, Effect: Adds, Action: "runs.fork",
	HTTP: HTTP{
		Method: http.MethodPost, Path: "/runs/{id}/fork", Tag: tagRuns, Status: http.StatusCreated,
		Summary: "Fork a run: store a new run with the events of this one up to a given event",
		About: "It continues when it is resumed or answered. If the copied events contain an approval " +
			"decision, the token needs the right `approve`, because the decision applies to the new run too. A run " +
			"with limits above those of its workflow, or of a draft, of a former version or of a document that is " +
			"not stored needs the role edit.",
		Errors: []int{http.StatusNotFound},
	},
}, forkRun, func(in *ForkIn, out *Run) string { return in.ID + " " + out.ID })

// ForkIn names a run to be forked.
type ForkIn struct {
	RunPath
	Body ForkInputBody
}

// ForkInputBody is the body of a fork.
type ForkInputBody struct {
	At uint64 `json:"at" minimum:"1" doc:"Number of the last event of the new run"`
}

func forkRun(ctx context.Context, c *Caller, in *ForkIn) (Run, error) {
	head, err := c.Service.Head(ctx, in.ID)
	if err == nil {
		err = mayRun(ctx, c.Caller, head)
	}
	if err != nil {
		return Run{}, err
	}
	id, err := c.Service.Fork(ctx, in.ID, in.Body.At, forkRights(c.Caller))
	return Run{id}, err
}
