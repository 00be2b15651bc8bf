package server

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"net/netip"
	"path"
	"strings"
	"time"

	"github.com/hocket-run/hocket/internal/api/transport"
)

// auditTime bounds how long the audit log is waited for.
const auditTime = 5 * time.Second

// after tells log, metrics and audit what became of a request. r is the request as its transport got it, which its mux wrote the pattern on.
func (s *Server) after(v *visit, a *answer, r *http.Request) {
	status := a.status
	if status == 0 {
		status = http.StatusOK // a transport that says nothing
	}
	route := cmp.Or(r.Pattern, v.pattern) // that of the transport where it had no say
	if v.mount == nil {
		route = ""
	}
	s.metrics.answered(route, r.Method, status, time.Since(v.began), v.stream)
	s.logRequest(v, a, r, route, status)
	s.audited(v, a, r, route, status)
}

func (s *Server) logRequest(v *visit, a *answer, r *http.Request, route string, status int) {
	level := slog.LevelInfo
	switch {
	case status >= http.StatusInternalServerError:
		level = slog.LevelWarn
	case v.mount != nil && (v.mount.Name == "health" || v.mount.Name == "page"):
		level = slog.LevelDebug
	}
	attrs := []slog.Attr{
		slog.String("request", v.ID), slog.String("method", r.Method), slog.String("route", route), slog.Int("status", status), slog.Int64("bytes", a.bytes),
		slog.Duration("took", time.Since(v.began).Round(time.Microsecond)), slog.String("remote", v.Remote),
	}
	if v.known { // a path is logged for known principals only: paths of open routes are secrets, and unknown clients write anything
		attrs = append(attrs, slog.String("path", r.URL.Path), slog.String("namespace", v.principal.Namespace), slog.String("token", v.principal.Name))
	}
	if err := v.Cause(); err != nil {
		attrs = append(attrs, slog.String("err", err.Error()))
	}
	s.log.LogAttrs(r.Context(), level, "request", attrs...)
}

// from is the address that a request came from, for log and audit: that of the connection, or without a port what a trusted proxy says.
func (v *visit) from(r *http.Request) string {
	if conn, err := netip.ParseAddrPort(r.RemoteAddr); err != nil || !v.remote.IsValid() || conn.Addr().Unmap().WithZone("") == v.remote {
		return r.RemoteAddr
	}
	return v.remote.String()
}

// audited tells the audit log of what was changed, or tried to be, by a known principal; through open routes, of what they say was done.
func (s *Server) audited(v *visit, a *answer, r *http.Request, route string, status int) {
	who := v.principal
	if !v.known {
		who = v.Who()
	}
	deeds, told := v.Deeds(transport.Deed{
		At: v.began.UTC().Truncate(time.Microsecond), Principal: who, Channel: channelOf(v.mount), Method: r.Method, Route: route, Status: status, RequestID: v.ID, Remote: v.Remote,
	})
	if !told && (!v.known || safe(r.Method)) {
		return
	}
	if !told { // the mux of the transport knows what the path names; what was made is where the answer says
		deeds[0].Target = cmp.Or(r.PathValue("id"), path.Base("/"+a.Header().Get("Location")))
		deeds[0].Target = strings.Trim(deeds[0].Target, "/")
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), auditTime)
	defer cancel()
	for _, d := range deeds {
		if err := s.audit.Record(ctx, d); err != nil {
			s.log.Error("audit record not written", "request", v.ID, "action", d.Action, "target", d.Target, "err", err)
		}
	}
}

// channelOf names a way in as answers are recorded that came by it.
func channelOf(d *Mount) string {
	switch {
	case d == nil:
		return ""
	case d.Name == "api":
		return "http"
	case d.Name == "approve":
		return "link"
	}
	return d.Name
}

// safe tells of methods that change nothing.
func safe(method string) bool {
	return method == http.MethodGet || method == http.MethodHead || method == http.MethodOptions
}
