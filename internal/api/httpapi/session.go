package httpapi

import (
	"context"
	"net/http"
	"time"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/api/transport"
)

// Sessions holds the functions with which the API starts and ends browser sessions.
type Sessions struct {
	// Begin starts a session with the permissions of p. Code creates a one-time code for such a
	// session. Both return the expiry time.
	Begin, Code func(ctx context.Context, p access.Principal) (text string, until time.Time, err error)
	// End ends the session with the given secret; it does nothing if there is no such session.
	End func(ctx context.Context, text string) error
	// Cookie is the template of a session cookie, without its value.
	Cookie http.Cookie
}

// registerSession registers the operations that sign a browser in and out.
func (a *API) registerSession() {
	const how = "A browser has its session in a cookie, which no script can read. It counts only in requests of the " +
		"server's own pages, which send the header `Hocket-Page`."
	add(a, route{
		Method: http.MethodGet, Path: "/session", ID: "getSession", Tag: tagAccess, Role: access.RoleRun,
		Summary: "Show who the caller is", Description: "With a token or a session. " + how,
	}, a.getSession)
	add(a, route{
		Method: http.MethodPost, Path: "/session", ID: "createSession", Tag: tagAccess, Role: access.RoleRun,
		Status:  http.StatusCreated,
		Summary: "Sign a browser in",
		Description: "With a token, or with a one-time code in its place, which is used up. The session has the " +
			"rights of the token, and ends with it. " + how,
	}, a.createSession)
	add(a, route{
		Method: http.MethodDelete, Path: "/session", ID: "endSession", Tag: tagAccess, Role: access.RoleRun,
		Status:      http.StatusNoContent,
		Summary:     "Sign a browser out",
		Description: "Ends the session of the request, with its streams. A token is not revoked.",
	}, a.endSession)
	add(a, route{
		Method: http.MethodPost, Path: "/session/codes", ID: "createSessionCode", Tag: tagAccess, Role: access.RoleRun,
		Status:      http.StatusCreated,
		Summary:     "Create a one-time code that signs a browser in",
		Description: "It lasts ten minutes, works once, and has the rights of the token of the caller.",
	}, a.createSessionCode)
}

// Session describes the identity and permissions of a caller.
type Session struct {
	Name      string      `json:"name" doc:"Name of the token"`
	Namespace string      `json:"namespace"`
	Role      access.Role `json:"role" enum:"run,edit,admin"`
	Approve   bool        `json:"approve" doc:"Right to answer approvals"`
	Version   string      `json:"version" doc:"Version of the server"`
	ByCookie  bool        `json:"byCookie" doc:"The caller is known by the session of a browser"`
}

func (a *API) sessionOf(c *transport.Caller) Session {
	return Session{c.Name, c.Namespace, c.Role, c.Approve, a.cfg.Version, c.Session != ""}
}

func (a *API) getSession(_ context.Context, c *transport.Caller, _ *struct{}) (*struct{ Body Session }, error) {
	return &struct{ Body Session }{a.sessionOf(c)}, nil
}

type sessionMade struct {
	SetCookie http.Cookie `header:"Set-Cookie"`
	Body      Session
}

func (a *API) createSession(ctx context.Context, c *transport.Caller, _ *struct{}) (*sessionMade, error) {
	text, until, err := a.cfg.Sessions.Begin(ctx, c.Principal)
	if err != nil {
		return nil, err
	}
	transport.RecordAction(ctx, "session.begin", c.Token)
	cookie := a.cfg.Sessions.Cookie //nolint:gosec // Secure depends on whether the server is reached over HTTPS
	cookie.Value, cookie.Expires, cookie.MaxAge = text, until, int(time.Until(until).Seconds())
	made := a.sessionOf(c)
	made.ByCookie = true
	return &sessionMade{cookie, made}, nil
}

type sessionEnded struct {
	SetCookie http.Cookie `header:"Set-Cookie"`
}

func (a *API) endSession(ctx context.Context, c *transport.Caller, _ *struct{}) (*sessionEnded, error) {
	transport.RecordAction(ctx, "session.end", c.Token)
	if err := a.cfg.Sessions.End(ctx, c.Session); err != nil {
		return nil, err
	}
	cookie := a.cfg.Sessions.Cookie //nolint:gosec // Secure depends on whether the server is reached over HTTPS
	cookie.MaxAge = -1
	return &sessionEnded{cookie}, nil
}

// SessionCode is a one-time code.
type SessionCode struct {
	Code  string    `json:"code" doc:"The secret, for the fragment of a link (#code=CODE). It is shown only now"`
	Until time.Time `json:"until" doc:"Until when it can be used"`
}

func (a *API) createSessionCode(ctx context.Context, c *transport.Caller, _ *struct{}) (
	*struct{ Body SessionCode }, error) {
	text, until, err := a.cfg.Sessions.Code(ctx, c.Principal)
	if err != nil {
		return nil, err
	}
	transport.RecordAction(ctx, "session.code", c.Token)
	return &struct{ Body SessionCode }{SessionCode{text, until}}, nil
}
