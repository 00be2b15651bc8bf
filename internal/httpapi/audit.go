package httpapi

import (
	"context"
	"net/http"
	"time"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/door"
)

// registerAudit registers what shows the audit log.
func (a *API) registerAudit() {
	add(a, route{
		Method: http.MethodGet, Path: "/audit", ID: "listAudit", Tag: tagAccess, Role: access.RoleAdmin,
		Summary: "List who changed what, newest first", Errors: []int{http.StatusNotFound},
		Description: "Requests that changed something or were to, of the caller's namespace; admins of the namespace `default` may name another one.",
	}, a.listAudit)
}

// AuditRecord tells of one request that changed something, or was to.
type AuditRecord struct {
	ID        int64     `json:"id" doc:"Counts the records of a namespace"`
	At        time.Time `json:"at" doc:"When it was asked for"`
	Namespace string    `json:"namespace"`
	Token     string    `json:"token" doc:"Id of the token that was shown; empty where there was none"`
	Actor     string    `json:"actor" doc:"Name of the token; local is a user of the store without a server; of an approve link, the endpoint that it was sent to" example:"ann"`
	Channel   string    `json:"channel" doc:"The way in: cli, http, mcp, openai, link or hooks" example:"http"`
	Action    string    `json:"action" doc:"What was done, or method and path of the request" example:"runs.start"`
	Target    string    `json:"target" doc:"To what"`
	Outcome   string    `json:"outcome" doc:"ok, or the code of the problem" example:"ok"`
	Request   string    `json:"request" doc:"Id of the request in the server's log"`
	Remote    string    `json:"remote" doc:"Address that the request came from"`
}

type auditQuery struct {
	Page
	InNamespace
	Since time.Time `query:"since" doc:"Only what was asked for from this time on"`
}

func (a *API) listAudit(ctx context.Context, c *door.Caller, in *auditQuery) (*listed[AuditRecord], error) {
	namespace, err := a.namespace(ctx, c, in.InNamespace)
	if err != nil {
		return nil, err
	}
	page, err := a.cfg.Access.Records(ctx, access.Query{Namespace: namespace, Since: in.Since, Limit: in.Limit, Cursor: in.Cursor})
	if err != nil {
		return nil, err
	}
	items := make([]AuditRecord, len(page.Items))
	for i, r := range page.Items {
		items[i] = AuditRecord(r)
	}
	return listOf(items, page.Next), nil
}
