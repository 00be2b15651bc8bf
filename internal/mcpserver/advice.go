package mcpserver

import (
	"errors"
	"strings"

	"github.com/hocket-run/hocket/internal/catalog"
	"github.com/hocket-run/hocket/internal/door"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/service"
)

// advice tells a model what to do next about an error of a tool; "" where the error says so itself. It names tools alone: a model has no command line.
func advice(tool string, err error, p door.Problem) string {
	var (
		said    *conflictError
		missing *missingRunError
		person  *personError
		none    *service.NotFoundError
		inUse   *service.InUseError
	)
	switch {
	case errors.As(err, &said), errors.As(err, &missing), errors.As(err, &person):
		return ""
	case errors.Is(err, engine.ErrWaitNotFound):
		return "get_run shows what the run waits for, with the id of each wait."
	case errors.Is(err, journal.ErrCursor):
		return "Give `next` of the page before as cursor, or no cursor for the first page."
	case errors.As(err, &none), errors.Is(err, catalog.ErrNotFound):
		if none != nil && strings.EqualFold(none.What, "agent") {
			return "list_agents shows the agents that there are; create_agent makes one."
		}
		return "list_workflows shows the workflows that there are; create_workflow makes one."
	case errors.As(err, &inUse) && tool == "delete_agent":
		return "Take it out of them with update_workflow, or give force: true."
	case errors.Is(err, journal.ErrBusy):
		return "Wait for that run (get_run), stop it (cancel_run), or call again with ifBusy queue or cancel_previous."
	case p.Code == "invalid" && len(p.Diagnostics) > 0:
		return "Mend what is named and call again."
	}
	return steps[p.Code]
}

// steps are what to do by the code of a problem.
var steps = map[string]string{
	"conflict":     "Look at it again (get_workflow, get_agent or get_run) and repeat what is still to be done.",
	"gone":         "Nothing changes it any more: get_run shows how it ended, and execute_workflow runs the workflow again.",
	"limit":        "Wait until others have ended (list_runs), or stop one (cancel_run), and call again.",
	"forbidden":    "Tell the person that this needs a token that may do more; the tools that are listed are those that you may call.",
	"unauthorized": "Tell the person that the client needs another token.",
	"internal":     "Call again once. If it fails again, tell the person: the log of the server says why.",
	"unavailable":  "Call again with the same arguments after some seconds. If it still fails, tell the person.",
	"unusable":     "Tell the person: what is stored has to be mended by whoever runs the server.",
}

// hints are those of diagnostics whose own speak to people at a command line.
var hints = map[string]string{
	"unknown-agent": "list_agents shows the agents that there are; create_agent makes one",
}

// hintOf gives the hint of a diagnostic for a model.
func hintOf(code, hint string) string {
	if better, ok := hints[code]; ok && !strings.HasPrefix(hint, "did you mean") {
		return better
	}
	return hint
}

// personError says that a person decides, and how: whoever called may not (SEC12).
type personError struct{ reason string }

func (e *personError) Error() string { return e.reason }
func (e *personError) Unwrap() error { return &door.ForbiddenError{Reason: e.reason} }
