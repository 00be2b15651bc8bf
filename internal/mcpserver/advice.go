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
		return "Give `next` of the previous page as cursor, or no cursor for the first page."
	case errors.As(err, &none), errors.Is(err, catalog.ErrNotFound):
		if none != nil && strings.EqualFold(none.What, "agent") {
			return "list_agents lists the agents; create_agent creates one."
		}
		return "list_workflows lists the workflows; create_workflow creates one."
	case errors.As(err, &inUse) && tool == "delete_agent":
		return "Remove it from them with update_workflow, or give force: true."
	case errors.Is(err, journal.ErrBusy):
		return "Wait for that run (get_run), stop it (cancel_run), or call again with ifBusy queue or cancel_previous."
	case p.Code == "invalid" && len(p.Diagnostics) > 0:
		return "Fix these problems and call again."
	}
	return steps[p.Code]
}

// steps are what to do by the code of a problem.
var steps = map[string]string{
	"conflict":     "Read the current state (get_workflow, get_agent or get_run) and repeat what is still needed.",
	"gone":         "It has ended: get_run shows how, and execute_workflow runs the workflow again.",
	"limit":        "Wait until other runs have ended (list_runs), or stop one (cancel_run), and call again.",
	"forbidden":    "Tell the user that this needs a token with more rights; the listed tools are those that you may call.",
	"unauthorized": "Tell the user that the client needs another token.",
	"internal":     "Call again once. If it fails again, tell the user: the server's log has the cause.",
	"unavailable":  "Call again with the same arguments after some seconds. If it still fails, tell the user.",
	"unusable":     "Tell the user: the operator of the server must repair the stored data.",
}

// hints are those of diagnostics whose own speak to people at a command line.
var hints = map[string]string{
	"unknown-agent": "list_agents lists the agents; create_agent creates one",
}

// hintOf gives the hint of a diagnostic for a model.
func hintOf(code, hint string) string {
	if better, ok := hints[code]; ok && !strings.HasPrefix(hint, "did you mean") {
		return better
	}
	return hint
}

// personError says that a person decides, and how: the caller may not (SEC12).
type personError struct{ reason string }

func (e *personError) Error() string { return e.reason }
func (e *personError) Unwrap() error { return &door.ForbiddenError{Reason: e.reason} }
