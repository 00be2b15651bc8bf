package server

import (
	"cmp"
	"context"
	"net/http"
	"strconv"
	"strings"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/api/transport"
)

// actorOpen is the actor of a caller that came through a transport without tokens.
const actorOpen = "by link"

// AuditLog writes deeds to the audit log of their namespace. It implements [transport.Audit]. Each
// write has the timeout auditTime; records of outcomes are also written after ctx is done.
type AuditLog struct{ Log access.Log }

// Intend implements transport.Audit.
func (l AuditLog) Intend(ctx context.Context, d transport.Deed) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, auditTime)
	defer cancel()
	return l.Log.Intend(ctx, recordOf(d))
}

// Record implements transport.Audit.
func (l AuditLog) Record(ctx context.Context, d transport.Deed) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), auditTime)
	defer cancel()
	return l.Log.Record(ctx, recordOf(d))
}

// recordOf returns the record of a deed.
func recordOf(d transport.Deed) access.Record {
	r := access.Record{ID: d.Intent, At: d.At, Channel: d.Channel, Action: d.Action, Target: d.Target,
		Outcome: outcome(d.Status), Request: d.RequestID, Remote: d.Remote}.By(d.Principal)
	if r.Action == "" {
		r.Action = d.Route
		if !strings.HasPrefix(r.Action, d.Method+" ") {
			r.Action = strings.TrimSpace(d.Method + " " + r.Action)
		}
	}
	r.Actor, r.Namespace = cmp.Or(r.Actor, actorOpen), cmp.Or(r.Namespace, access.DefaultNamespace)
	return r
}

// codes maps HTTP statuses to their problem codes, for those that have one.
var codes = map[int]string{
	http.StatusBadRequest: "invalid", http.StatusUnauthorized: "unauthorized", http.StatusForbidden: "forbidden",
	http.StatusNotFound: "not_found", http.StatusConflict: "conflict",
	http.StatusGone: "gone", http.StatusRequestEntityTooLarge: "too_large", http.StatusUnprocessableEntity: "invalid",
	http.StatusTooManyRequests:     "limit",
	http.StatusInternalServerError: "internal", http.StatusMethodNotAllowed: "method_not_allowed",
	http.StatusServiceUnavailable: "unavailable",
}

// outcome returns the audit log's term for a status.
func outcome(status int) string {
	if status < http.StatusBadRequest {
		return access.OutcomeOK
	}
	return cmp.Or(codes[status], strconv.Itoa(status))
}
