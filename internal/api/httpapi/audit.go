package httpapi

import (
	"context"
	"net/http"
	"time"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/api/transport"
)

// registerAudit registers the operations that show the audit log.
func (a *API) registerAudit() {
	add(a, route{
		Method: http.MethodGet, Path: "/audit", ID: "listAudit", Tag: tagAccess, Role: access.RoleAdmin,
		Summary: "List audit records, newest first", Errors: []int{http.StatusNotFound},
		Description: "Requests that changed, or tried to change, something in the caller's namespace; admins of the " +
			"namespace `default` may name another namespace.",
	}, a.listAudit)
}

// AuditRecord describes one request that changed something or attempted to.
type AuditRecord struct {
	ID        int64     `json:"id" doc:"Number of the record in its namespace"`
	At        time.Time `json:"at" doc:"Time of the request"`
	Namespace string    `json:"namespace"`
	Token     string    `json:"token" doc:"Id of the token; empty without a token"`
	Actor     string    `json:"actor" doc:"Token name, local (no server), or an approve link's endpoint" example:"ann"`
	Channel   string    `json:"channel" doc:"Interface: cli, http, mcp, openai, link or hooks" example:"http"`
	Action    string    `json:"action" doc:"Action, or method and path of the request" example:"runs.start"`
	Target    string    `json:"target" doc:"Object of the action"`
	Outcome   string    `json:"outcome" doc:"ok, the problem's code, or unknown" example:"ok"`
	Request   string    `json:"request" doc:"Id of the request in the server's log"`
	Remote    string    `json:"remote" doc:"Address of the client"`
}

type auditQuery struct {
	Page
	InNamespace
	Since time.Time `query:"since" doc:"Only records from this time on"`
}

func (a *API) listAudit(ctx context.Context, c *transport.Caller, in *auditQuery) (*listAnswer[AuditRecord], error) {
	namespace, err := a.namespace(ctx, c, in.InNamespace)
	if err != nil {
		return nil, err
	}
	page, err := a.cfg.Access.Records(ctx, access.Query{Namespace: namespace, Since: in.Since, Limit: in.Limit,
		Cursor: in.Cursor})
	if err != nil {
		return nil, err
	}
	items := make([]AuditRecord, len(page.Items))
	for i, r := range page.Items {
		items[i] = AuditRecord(r)
	}
	return listOf(items, page.Next), nil
}
