package errcode

import "net/http"

// Family is the group of an error that decides its HTTP status and the exit status of the command
// line. It is the `code` of a problem.
type Family string

const (
	// Internal is a bug or a failure of the machine.
	Internal Family = "internal"
	// Invalid means that the document, flags, request or answer is not valid; nothing changed.
	Invalid Family = "invalid"
	// NotFound means that there is no such run, workflow or wait.
	NotFound Family = "not_found"
	// Conflict means that the current state does not allow the operation.
	Conflict Family = "conflict"
	// Gone means that the wait is closed.
	Gone Family = "gone"
	// Unusable means that the store, or its data for this run, cannot be used; nothing ran (P17).
	Unusable Family = "unusable"
	// Limit means that a limit of the service was reached; nothing changed, and the same request
	// may succeed later.
	Limit Family = "limit"
	// Unavailable means that the store does not respond at the moment, for example because its disk
	// is full; nothing changed, and the same request may succeed later.
	Unavailable Family = "unavailable"
	// Unauthorized means that the caller is not known.
	Unauthorized Family = "unauthorized"
	// Forbidden means that the caller is known and does not have the permission.
	Forbidden Family = "forbidden"
	// TooLarge means that the request is larger than the server accepts.
	TooLarge Family = "too_large"
	// MethodNotAllowed means that the path does not support the method.
	MethodNotAllowed Family = "method_not_allowed"
	// Timeout means that the request did not arrive in time.
	Timeout Family = "timeout"
	// ModelNotFound means that there is no such model; it occurs only at the OpenAI endpoint.
	ModelNotFound Family = "model_not_found"
	// Unsupported means that the OpenAI endpoint, the only one where it occurs, does not support a
	// parameter.
	Unsupported Family = "unsupported"
	// StreamReplaced means that the streamed text is invalid, because the step was retried; it
	// occurs only at the OpenAI endpoint.
	StreamReplaced Family = "stream_replaced"
	// Interrupted means that the server shut down before the run ended; it occurs only at the
	// OpenAI endpoint.
	Interrupted Family = "interrupted"
)

// Group is the table row of a family.
type Group struct {
	Family Family
	// Status is the HTTP status, Title the title of problems.
	Status int
	Title  string
	// Detail is the detail of problems whose errors are not described to callers; "" means none.
	Detail string
	// Next tells a model over MCP how to proceed, if neither the code nor the error says so; ""
	// means nothing.
	Next string
	// Meaning, Cause and Repair are the texts of the reference.
	Meaning, Cause, Repair string
	// OpenAI marks the families that only the OpenAI endpoint reports.
	OpenAI bool
}

// Groups returns the rows of all families, sorted by name. Callers must not modify the slice.
func Groups() []Group { return groups[:] }

// GroupOf returns the row of a family, or that of Internal if the family is unknown.
func GroupOf(f Family) Group {
	internal := Group{}
	for _, g := range groups {
		if g.Family == f {
			return g
		}
		if g.Family == Internal {
			internal = g
		}
	}
	return internal
}

var groups = [...]Group{
	{
		Family: Conflict, Status: http.StatusConflict, Title: "Conflict with the current state",
		Next:    "Read the current state (get_workflow, get_agent or get_run) and repeat what is still needed.",
		Meaning: "The request conflicts with the current state.",
		Cause:   "The resource was changed by another client, is in use, or has ended.",
		Repair:  "Read it again and repeat the request. Status 409.",
	},
	{
		Family: Forbidden, Status: http.StatusForbidden, Title: "Permission denied",
		Next: "Tell the user that this needs a token with more rights; the listed tools are those that you " +
			"may call.",
		Meaning: "The token does not allow this.", Cause: "Its role or namespace does not include the operation.",
		Repair: "Use another token. Status 403.",
	},
	{
		Family: Gone, Status: http.StatusGone, Title: "Closed",
		Next:    "It has ended: get_run shows how, and execute_workflow runs the workflow again.",
		Meaning: "The resource is closed.",
		Cause:   "The wait was closed without an answer, because its run ended or its deadline passed.",
		Repair:  "Read the run to see how it ended. Status 410.",
	},
	{
		Family: Internal, Status: http.StatusInternalServerError, Title: "Internal server error",
		Next:    "Call again once. If it fails again, tell the user: the server's log has the cause.",
		Meaning: "An error in the server or program.",
		Cause: "The server logs it with the id of the request; in a run, a function panicked or returned a value " +
			"that is not JSON.",
		Repair: "Report it with the log. Status 500.",
	},
	{
		Family: Interrupted, Status: http.StatusServiceUnavailable, OpenAI: true,
		Meaning: "The server shut down before the run ended.",
		Cause:   "A restart or a deployment. The run is stored and continues when the server starts.",
		Repair:  "Send the request again with the same idempotency key, or read the run by its id. Status 503.",
	},
	{
		Family: Invalid, Status: http.StatusUnprocessableEntity, Title: "Invalid request; nothing was changed",
		Meaning: "The request is malformed or contains an invalid document.",
		Cause:   "See the message, the fields in `errors` and the `diagnostics`.",
		Repair:  "Correct the request. Status 400 if it cannot be read, 415 for a wrong content type, 422 otherwise.",
	},
	{
		Family: Limit, Status: http.StatusTooManyRequests, Title: "Limit reached; nothing was changed",
		Next:    "Wait until other runs have ended (list_runs), or stop one (cancel_run), and call again.",
		Meaning: "A limit of the server is reached.",
		Cause:   "Too many runs, requests or sessions at once. Nothing was changed.",
		Repair:  "Wait as long as `Retry-After` says, or raise `server.limits`. Status 429.",
	},
	{
		Family: MethodNotAllowed, Status: http.StatusMethodNotAllowed, Title: "Method not allowed",
		Meaning: "The path does not support this method.", Cause: "For example, a GET where a POST is needed.",
		Repair: "Use a method in the header `Allow`. Status 405.",
	},
	{
		Family: ModelNotFound, Status: http.StatusNotFound, OpenAI: true,
		Meaning: "The model does not exist.",
		Cause:   "In a request to the OpenAI endpoint, `model` is not the id of a published workflow.",
		Repair:  "List the models with `GET /v1/models`. Status 404.",
	},
	{
		Family: NotFound, Status: http.StatusNotFound, Title: "Not found",
		Meaning: "The resource does not exist.", Cause: "The id or path is wrong, or belongs to another namespace.",
		Repair: "List the resources to find the id. Status 404.",
	},
	{
		Family: StreamReplaced, Status: http.StatusInternalServerError, OpenAI: true,
		Meaning: "The streamed text is void.",
		Cause:   "The step was tried again after a part of its reply had been streamed by the OpenAI endpoint.",
		Repair:  "Read the run for its output. Status 500.",
	},
	// no texts here: the reference explains this code as one of runs
	{Family: Timeout, Status: http.StatusRequestTimeout, Title: "Request timeout"},
	{
		Family: TooLarge, Status: http.StatusRequestEntityTooLarge, Title: "Request too large",
		Meaning: "The request is too large.", Cause: "It exceeds the limit in the message.",
		Repair: "Send less, or raise `server.limits.body`. Status 413.",
	},
	{
		Family: Unauthorized, Status: http.StatusUnauthorized, Title: "Authentication required",
		Next:    "Tell the user that the client needs another token.",
		Meaning: "Authentication is required.", Cause: "The request has no token, or the token is invalid or revoked.",
		Repair: "Send `Authorization: Bearer TOKEN`. Status 401.",
	},
	{
		Family: Unavailable, Status: http.StatusServiceUnavailable, Title: "Temporarily unavailable",
		Detail: "the store is temporarily unavailable; only stored changes took effect, and the request may " +
			"be retried",
		Next:    "Call again with the same arguments after some seconds. If it still fails, tell the user.",
		Meaning: "The server is temporarily unable to do this.",
		Cause:   "The store is locked, full or does not respond, or too many bytes are in flight. Nothing was changed.",
		Repair:  "Repeat the request after the time in `Retry-After`. Status 503.",
	},
	{
		Family: Unsupported, Status: http.StatusBadRequest, OpenAI: true,
		Meaning: "The OpenAI endpoint does not support a parameter.", Cause: "It has no meaning for a workflow.",
		Repair: "Remove it. Status 400.",
	},
	{
		Family: Unusable, Status: http.StatusInternalServerError, Title: "Stored data cannot be used",
		Next:    "Tell the user: the operator of the server must repair the stored data.",
		Meaning: "The stored data of this resource cannot be used.",
		Cause:   "The store is damaged, or was written by a newer version.",
		Repair:  "Check the store with `hocket doctor`. Status 500.",
	},
}
