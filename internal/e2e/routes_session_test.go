//go:build unix

package e2e_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/client/api"
)

// controls pauses the schedule of the workflow feeds, resumes it, skips a time and requests a run.
func (tr *tour) controls(t *testing.T) {
	daily := new("daily")
	paused := must(tr.c.PauseScheduleWithResponse(tr.ctx, "feeds", &api.PauseScheduleParams{Branch: daily}))
	if s := checkStatus(t, paused, 200, paused.JSON200); s.Paused == nil || s.Next != nil {
		t.Errorf("paused %s", paused.Body)
	}
	resumed := must(tr.c.ResumeScheduleWithResponse(tr.ctx, "feeds", &api.ResumeScheduleParams{Branch: daily}))
	if s := checkStatus(t, resumed, 200, resumed.JSON200); s.Paused != nil {
		t.Errorf("resumed %s", resumed.Body)
	}
	skipped := must(tr.c.SkipScheduleWithResponse(tr.ctx, "feeds", &api.SkipScheduleParams{Branch: daily}))
	if s := checkStatus(t, skipped, 200, skipped.JSON200); s.Skip == nil {
		t.Errorf("skipped %s", skipped.Body)
	}
	asked := must(tr.c.RunScheduleWithResponse(tr.ctx, "feeds", &api.RunScheduleParams{Branch: daily}))
	if s := checkStatus(t, asked, 200, asked.JSON200); s.Asked == nil && s.LastRun == nil {
		t.Errorf("asked for a run: %s", asked.Body)
	}
	refused(t, must(tr.c.PauseScheduleWithResponse(tr.ctx, "poem", nil)), 422, "invalid")
}

// signedIn signs a browser in with a code, and signs it out.
func (tr *tour) signedIn(t *testing.T) {
	code := must(tr.c.CreateSessionCodeWithResponse(tr.ctx))
	text := checkStatus(t, code, 201, code.JSON201).Code
	browser := tr.client(text)
	in := must(browser.CreateSessionWithResponse(tr.ctx))
	if s := checkStatus(t, in, 201, in.JSON201); !s.ByCookie || s.Role != "admin" {
		t.Errorf("signed in %s", in.Body)
	}
	refused(t, must(browser.CreateSessionWithResponse(tr.ctx)), 401, "unauthorized")
	cookie, err := http.ParseSetCookie(in.HTTPResponse.Header.Get("Set-Cookie"))
	if err != nil || !cookie.Secure || !cookie.HttpOnly {
		t.Fatalf("%v: the cookie %v", err, cookie)
	}
	page := func(_ context.Context, r *http.Request) error {
		r.Header.Del("Authorization")
		r.Header.Set("Hocket-Page", "1")
		r.AddCookie(&http.Cookie{Name: cookie.Name, Value: cookie.Value})
		return nil
	}
	who := must(tr.c.GetSessionWithResponse(tr.ctx, page))
	if s := checkStatus(t, who, 200, who.JSON200); !s.ByCookie || !s.Approve || s.Version == "" {
		t.Errorf("the session is %s", who.Body)
	}
	if out := must(tr.c.EndSessionWithResponse(tr.ctx, page)); out.StatusCode() != http.StatusNoContent {
		t.Errorf("signed out: %s", out.Status())
	}
	refused(t, must(tr.c.GetSessionWithResponse(tr.ctx, page)), 401, "unauthorized")
}

// feed lists what happened to runs, and streams it.
func (tr *tour) feed(t *testing.T) {
	res := must(tr.c.ListFeedWithResponse(tr.ctx, &api.ListFeedParams{Limit: new(int64(1000))}))
	all := checkStatus(t, res, 200, res.JSON200)
	if n := len(all.Items); n == 0 || all.Items[n-1].Id != all.Last {
		t.Fatalf("the feed %s", res.Body)
	}
	behind := must(tr.c.ListFeedWithResponse(tr.ctx, &api.ListFeedParams{After: new(all.Items[0].Id)}))
	if l := checkStatus(t, behind, 200, behind.JSON200); len(l.Items) != len(all.Items)-1 {
		t.Errorf("behind the first of %d are %d", len(all.Items), len(l.Items))
	}
	system := must(tr.c.GetSystemWithResponse(tr.ctx))
	if s := checkStatus(t, system, 200, system.JSON200); s.Version == "" || len(s.Processes) != 1 ||
		s.Processes[0].Kind != "serve" {
		t.Errorf("system %s", system.Body)
	}
}

// page requests the files of the page and its routes, without a token.
func (tr *tour) page(t *testing.T) {
	_, open := tr.routes()
	for _, r := range open {
		path, ok := strings.CutPrefix(r, "GET ")
		if !ok || strings.HasPrefix(path, "/approve/") || strings.HasSuffix(path, "z") {
			continue
		}
		a := tr.do("GET", path, "", "Authorization", "").is(200)
		if a.header.Get("X-Content-Type-Options") != "nosniff" || a.header.Get("Cache-Control") != "no-cache" {
			t.Errorf("%s: %v", path, a.header)
		}
	}
	if a := tr.do("GET", "/", "", "Authorization", ""); !strings.Contains(a.body,
		`<meta name="hocket-base" content="/">`) || !strings.Contains(a.header.Get("Content-Security-Policy"),
		"trusted-types 'none'") {
		t.Errorf("the page: %v %s", a.header, a.body)
	}
}
