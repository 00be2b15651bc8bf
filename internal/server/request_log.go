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

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/api/transport"
)

// auditTime is the timeout for writing to the audit log.
const auditTime = 5 * time.Second

// recordOutcome reports the outcome of a request to the log, the metrics and the audit log. r is
// the request as its transport received it, on which the transport's mux set the pattern.
func (s *Server) recordOutcome(v *guardedRequest, a *responseWriter, r *http.Request) {
	status := a.status
	if status == 0 {
		status = http.StatusOK // the transport did not set one
	}
	route := cmp.Or(r.Pattern, v.pattern) // the transport's pattern if the mux set none
	if v.mount == nil {
		route = ""
	}
	s.metrics.answered(route, r.Method, status, time.Since(v.began), v.stream)
	s.logRequest(v, a, r, route, status)
	s.audited(v, a, r, route, status)
}

func (s *Server) logRequest(v *guardedRequest, a *responseWriter, r *http.Request, route string, status int) {
	level := slog.LevelInfo
	switch {
	case status >= http.StatusInternalServerError:
		level = slog.LevelWarn
	case v.mount != nil && (v.mount.Name == "health" || v.mount.Name == "page"):
		level = slog.LevelDebug
	}
	attrs := []slog.Attr{
		slog.String("request", v.ID), slog.String("method", r.Method), slog.String("route", route),
		slog.Int("status", status), slog.Int64("bytes", a.bytes),
		slog.Duration("took", time.Since(v.began).Round(time.Microsecond)), slog.String("remote", v.Remote),
	}
	// a path is logged for known principals only: paths of open routes are secrets, and unknown
	// clients may send anything
	if v.known {
		attrs = append(attrs, slog.String("path", r.URL.Path), slog.String("namespace", v.principal.Namespace),
			slog.String("token", v.principal.Name))
	}
	if err := v.Cause(); err != nil {
		attrs = append(attrs, slog.String("err", err.Error()))
	}
	s.log.LogAttrs(r.Context(), level, "request", attrs...)
}

// from returns the client address of a request, for the log and the audit log: the address of the
// connection, or the address reported by a trusted proxy, without a port.
func (v *guardedRequest) from(r *http.Request) string {
	if conn, err := netip.ParseAddrPort(r.RemoteAddr); err != nil || !v.remote.IsValid() ||
		conn.Addr().Unmap().WithZone("") == v.remote {
		return r.RemoteAddr
	}
	return v.remote.String()
}

// deed returns the audit record of a request, without an action.
func (v *guardedRequest) deed(r *http.Request, who access.Principal, route string, status int) transport.Deed {
	return transport.Deed{
		At: v.began.UTC().Truncate(time.Microsecond), Principal: who, Channel: channelOf(v.mount), Method: r.Method,
		Route: route, Status: status, RequestID: v.ID, Remote: v.Remote, Intent: v.intent,
	}
}

// intend writes to the audit log, once for each request, that a principal may change something:
// what is not recorded is not done. If the outcome cannot be written, this record stays, with the
// outcome unknown.
func (s *Server) intend(ctx context.Context, v *guardedRequest, r *http.Request, who access.Principal) error {
	if v.intent != 0 {
		return nil
	}
	d := v.deed(r, who, v.pattern, 0)
	if v.known { // paths of open routes are secrets
		d.Target = r.URL.Path
	}
	intent, err := s.audit.Intend(ctx, d)
	v.intent = intent
	return err
}

// audited writes changes, or attempts at changes, by a known principal to the audit log; for open
// routes, it writes the deeds that they report.
func (s *Server) audited(v *guardedRequest, a *responseWriter, r *http.Request, route string, status int) {
	who := v.principal
	if !v.known {
		who = v.Who()
	}
	deeds, reported := v.Deeds(v.deed(r, who, route, status))
	if !reported && v.intent == 0 && (!v.known || safe(r.Method)) {
		return
	}
	// the id that the transport's mux found in the path, or that of the created object in the
	// response's Location
	if !reported && v.known {
		deeds[0].Target = cmp.Or(r.PathValue("id"), path.Base("/"+a.Header().Get("Location")))
		deeds[0].Target = strings.Trim(deeds[0].Target, "/")
	}
	for _, d := range deeds {
		if err := s.audit.Record(r.Context(), d); err != nil {
			s.log.Error("audit record not written", "request", v.ID, "action", d.Action, "target", d.Target, "err", err)
		}
	}
}

// channelOf returns the channel name under which answers through a mount are recorded.
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

// safe reports whether a method changes nothing.
func safe(method string) bool {
	return method == http.MethodGet || method == http.MethodHead || method == http.MethodOptions
}
