package server_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/api/httpapi"
	"github.com/hocket-run/hocket/internal/documents/linked"
	"github.com/hocket-run/hocket/internal/server"
	"github.com/hocket-run/hocket/internal/service"
)

// signIn begins a session with a token or a code, and returns its cookie in the form in which a
// browser sends it.
func (s *served) signIn(t *testing.T, token string) string {
	t.Helper()
	answer := s.with(t, token, "POST", "/api/v1/session", "")
	if answer.StatusCode != http.StatusCreated {
		t.Fatalf("sign in: %s", answer.Status)
	}
	c, err := http.ParseSetCookie(answer.Header.Get("Set-Cookie"))
	if err != nil {
		t.Fatal(err)
	}
	if !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Path != "/" || c.MaxAge < 29*24*3600 ||
		!strings.HasPrefix(c.Name, "hocket_") {
		t.Errorf("the cookie %s", answer.Header.Get("Set-Cookie"))
	}
	return c.Name + "=" + c.Value
}

// SEC9: a session is valid only for pages of this server; without their header a cookie reads and
// changes nothing, and foreign pages cannot send the header.
func TestSession(t *testing.T) {
	t.Parallel()
	s := serve(t,
		server.Config{Service: service.Config{Documents: linked.Kit(), DB: filepath.Join(t.TempDir(), "hocket.db")}})
	token, made := s.create(t, access.Grant{Name: "ann", Namespace: "b", Role: access.RoleEdit, Approve: true})
	cookie := s.signIn(t, token)
	const own = "Hocket-Page"
	who := s.with(t, "", "GET", "/api/v1/session", "", "Cookie", cookie, own, "1")
	var is httpapi.Session
	if err := json.NewDecoder(who.Body).Decode(&is); err != nil || is.Name != "ann" || is.Namespace != "b" ||
		is.Role != access.RoleEdit || !is.Approve || !is.ByCookie {
		t.Fatalf("%s: %+v, %v", who.Status, is, err)
	}
	for name, c := range map[string]struct {
		method, path string
		headers      []string
		want         int
	}{
		"with the header":      {"GET", "/api/v1/runs", []string{own, "1"}, 200},
		"from the same origin": {"GET", "/api/v1/runs", []string{own, "1", "Sec-Fetch-Site", "same-origin"}, 200},
		"the cookie alone":     {"GET", "/api/v1/runs", nil, 401},
		"a change by it":       {"DELETE", "/api/v1/session", nil, 401},
		"an image elsewhere": {"GET", "/api/v1/runs", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode",
			"no-cors", "Sec-Fetch-Dest", "image"}, 401},
		"a form elsewhere": {"POST", "/api/v1/runs", []string{"Sec-Fetch-Site", "cross-site", "Origin",
			"https://evil.example", "Content-Type", "text/plain"}, 403},
		"a fetch elsewhere":       {"GET", "/api/v1/runs", []string{own, "1", "Origin", "https://evil.example"}, 403},
		"a page of the same site": {"GET", "/api/v1/runs", []string{own, "1", "Sec-Fetch-Site", "same-site"}, 401},
		"a stream elsewhere": {"GET", "/api/v1/runs/x/events",
			[]string{"Accept", "text/event-stream", "Sec-Fetch-Site", "cross-site"}, 401},
		"asking first": {"OPTIONS", "/api/v1/runs", []string{"Origin", "https://evil.example",
			"Access-Control-Request-Method", "GET", "Access-Control-Request-Headers", own}, 403},
		"another way in": {"POST", "/mcp", nil, 401},
	} {
		t.Run(name, func(t *testing.T) {
			answer := s.with(t, "", c.method, c.path, "", append(c.headers, "Cookie", cookie)...)
			if answer.StatusCode != c.want || answer.Header.Get("Access-Control-Allow-Origin") != "" {
				t.Errorf("%s %v, want %d", answer.Status, answer.Header, c.want)
			}
		})
	}
	if got := s.with(t, strings.SplitN(cookie, "=", 2)[1], "GET", "/api/v1/runs",
		"").StatusCode; got != http.StatusUnauthorized {
		t.Errorf("the secret of a session as a token: %d", got)
	}
	if got := s.with(t, "", "GET", "/api/v1/runs", "", "Cookie", strings.Split(cookie, "=")[0]+"="+token, own,
		"1").StatusCode; got != http.StatusUnauthorized {
		t.Errorf("a token as a session: %d", got)
	}
	// Signing out applies here and in the other tabs; the token remains.
	other := s.signIn(t, token)
	end := s.with(t, "", "DELETE", "/api/v1/session", "", "Cookie", cookie, own, "1")
	if c := end.Header.Get("Set-Cookie"); end.StatusCode != http.StatusNoContent || !strings.Contains(c, "Max-Age=0") {
		t.Errorf("sign out: %s %q", end.Status, c)
	}
	if got := s.with(t, "", "GET", "/api/v1/session", "", "Cookie", cookie, own,
		"1").StatusCode; got != http.StatusUnauthorized {
		t.Errorf("signed out: %d", got)
	}
	if got := s.with(t, "", "GET", "/api/v1/session", "", "Cookie", other, own, "1").StatusCode; got != http.StatusOK {
		t.Errorf("the other session: %d", got)
	}
	admin, _ := s.create(t, access.Grant{Name: "root", Namespace: "b", Role: access.RoleAdmin})
	if got := s.with(t, admin, "DELETE", "/api/v1/tokens/"+made.ID, "").StatusCode; got != http.StatusNoContent {
		t.Fatal(got)
	}
	if got := s.with(t, "", "GET", "/api/v1/session", "", "Cookie", other, own,
		"1").StatusCode; got != http.StatusUnauthorized {
		t.Errorf("the session of a revoked token: %d", got)
	}
}

// TestSessionEnds checks that a stream of a session ends within a second after the session, which
// ends with its token or on sign-out, even if another process revokes it.
func TestSessionEnds(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(t *testing.T, s *world, made access.Token, cookie string) error{
		"signed out": func(t *testing.T, s *world, _ access.Token, cookie string) error {
			rec := s.ask(t, "DELETE", "/api/v1/session", "", byCookie(cookie))
			if rec.Code != http.StatusNoContent {
				return errors.New(rec.Body.String())
			}
			return nil
		},
		"revoked here": func(t *testing.T, s *world, made access.Token, _ string) error {
			if rec := s.ask(t, "DELETE", "/api/v1/tokens/"+made.ID, "", nil); rec.Code != http.StatusNoContent {
				return errors.New(rec.Body.String())
			}
			return nil
		},
		"revoked elsewhere": func(t *testing.T, s *world, made access.Token, _ string) error {
			_, err := s.Store().Revoke(t.Context(), made.Namespace, made.ID) // as another process would
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := open(t, server.Config{})
				if err := s.AddMount(server.Mount{Name: "stay", Patterns: []string{"/stay"}, Routes: []string{
					"GET /stay",
				}, Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
					<-r.Context().Done()
				})}); err != nil {
					t.Fatal(err)
				}
				text, made := s.create(t, access.Grant{Name: "ann", Role: access.RoleRun})
				begun := s.ask(t, "POST", "/api/v1/session", "", func(r *http.Request) {
					r.Header.Set("Authorization", "Bearer "+text)
				})
				cookie, _, _ := strings.Cut(begun.Header().Get("Set-Cookie"), ";")
				ended := make(chan time.Time, 1)
				go func() {
					rec := s.ask(t, "GET", "/stay", "", func(r *http.Request) {
						byCookie(cookie)(r)
						r.Header.Set("Accept", "text/event-stream")
					})
					if rec.Code != http.StatusOK {
						t.Errorf("the stream: %d %s", rec.Code, rec.Body)
					}
					ended <- time.Now()
				}()
				time.Sleep(time.Minute + 300*time.Millisecond)
				if len(ended) > 0 {
					t.Fatal("the stream ended before the session")
				}
				at := time.Now()
				if err := end(t, s, made, cookie); err != nil {
					t.Fatal(err)
				}
				if late := (<-ended).Sub(at); late > time.Second {
					t.Errorf("the stream ended after %v", late)
				}
			})
		})
	}
}

// byCookie sends the session cookie as the page does.
func byCookie(cookie string) func(*http.Request) {
	return func(r *http.Request) {
		r.Header.Set("Cookie", cookie)
		r.Header.Set("Hocket-Page", "1")
		r.Header.Del("Authorization")
	}
}

// TestSessionCode checks that a code signs one browser in, once, and is valid for nothing else.
func TestSessionCode(t *testing.T) {
	t.Parallel()
	s := serve(t,
		server.Config{Service: service.Config{Documents: linked.Kit(), DB: filepath.Join(t.TempDir(), "hocket.db")}})
	token, _ := s.create(t, access.Grant{Name: "ann", Namespace: "b", Role: access.RoleRun})
	var made httpapi.SessionCode
	if answer := s.with(t, token, "POST", "/api/v1/session/codes", ""); answer.StatusCode != http.StatusCreated ||
		json.NewDecoder(answer.Body).Decode(&made) != nil {
		t.Fatal(answer.Status)
	}
	for _, path := range []string{"GET /api/v1/runs", "GET /api/v1/session", "POST /api/v1/session/codes",
		"DELETE /api/v1/session"} {
		method, path, _ := strings.Cut(path, " ")
		if got := s.with(t, made.Code, method, path, "").StatusCode; got != http.StatusUnauthorized {
			t.Errorf("%s %s with a code: %d", method, path, got)
		}
	}
	cookie := s.signIn(t, made.Code)
	if got := s.with(t, "", "GET", "/api/v1/runs", "", "Cookie", cookie, "Hocket-Page",
		"1").StatusCode; got != http.StatusOK {
		t.Errorf("the session: %d", got)
	}
	if got := s.with(t, made.Code, "POST", "/api/v1/session", "").StatusCode; got != http.StatusUnauthorized {
		t.Errorf("the code again: %d", got)
	}
}

// TestSessionStreams checks that the streams of a session end with it, and that those of another
// session continue.
func TestSessionStreams(t *testing.T) {
	t.Parallel()
	s := serve(t,
		server.Config{Service: service.Config{Documents: linked.Kit(), DB: filepath.Join(t.TempDir(), "hocket.db")}})
	token, _ := s.create(t, access.Grant{Name: "ann", Namespace: "b", Role: access.RoleAdmin})
	s.fill(t, "b", token)
	stream := func(cookie string) *bufio.Reader {
		t.Helper()
		answer := s.with(t, "", "GET", "/api/v1/runs/run-of-b/events", "", "Accept", "text/event-stream", "Cookie",
			cookie, "Hocket-Page", "1")
		if answer.StatusCode != http.StatusOK {
			t.Fatal(answer.Status)
		}
		return bufio.NewReader(answer.Body)
	}
	mine, others := s.signIn(t, token), s.signIn(t, token)
	ends, stays := stream(mine), stream(others)
	if _, err := stays.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	if got := s.with(t, "", "DELETE", "/api/v1/session", "", "Cookie", mine, "Hocket-Page",
		"1").StatusCode; got != http.StatusNoContent {
		t.Fatal(got)
	}
	if _, err := io.Copy(io.Discard, ends); err != nil {
		t.Errorf("the stream broke off: %v", err)
	}
	if got := s.with(t, "", "GET", "/api/v1/session", "", "Cookie", others, "Hocket-Page",
		"1").StatusCode; got != http.StatusOK {
		t.Errorf("the other session: %d", got)
	}
}
