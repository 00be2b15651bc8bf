package client_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/hocket-run/hocket/internal/client"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/waits"
	"github.com/hocket-run/hocket/internal/errcode"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/leaktest"
	"github.com/hocket-run/hocket/internal/op"
	"github.com/hocket-run/hocket/internal/service"
)

func TestMain(m *testing.M) {
	leaktest.Main(m, goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start"))
}

// at returns a client of a server that responds with handle.
func at(t *testing.T, handle http.HandlerFunc) *client.Remote {
	t.Helper()
	srv := httptest.NewServer(handle)
	t.Cleanup(srv.Close)
	r, err := client.New(client.Config{URL: srv.URL, Token: "hk_1"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// line returns an event as servers show it.
func line(seq int, kind, data string) string {
	return fmt.Sprintf(
		"id: %d\nevent: %s\ndata: "+
			"{\"run\":\"r\",\"seq\":%d,\"time\":\"2026-01-01T00:00:00.000000Z\",\"type\":%q,\"node\":null,"+
			"\"step\":null,\"data\":%s}\n\n", seq, kind, seq, kind, data)
}

// TestWatch checks P22 on the client side: a stream that breaks is resumed where it broke, and no
// event is delivered twice.
func TestWatch(t *testing.T) {
	t.Parallel()
	var asked []string
	r := at(t, func(w http.ResponseWriter, req *http.Request) {
		asked = append(asked, req.Header.Get("Last-Event-ID")+" "+req.Header.Get("Accept")+" "+
			req.Header.Get("Authorization"))
		if len(asked) == 2 {
			w.WriteHeader(http.StatusBadGateway) // from a proxy in between
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, ": heartbeat\n\n", line(1, "run.created", `{"version":1,"digest":"x","limits":{}}`),
			"event: model.delta\ndata: "+
				"{\"run\":\"r\",\"node\":\"a\",\"step\":1,\"call\":\"c\",\"attempt\":1,\"offset\":0,"+
				"\"text\":\"Hi\"}\n\n")
		if len(asked) == 1 {
			fmt.Fprint(w, "id: 2\nevent: run.sta") // the connection ends within a message
			return
		}
		fmt.Fprint(w, line(2, "run.started", `{}`), "event: end\ndata: {}\n\n")
	})
	var got []string
	for u, err := range r.Watch(t.Context(), "r", 0) {
		switch {
		case err != nil:
			t.Fatal(err)
		case u.Delta != nil:
			got = append(got, u.Delta.Text)
		default:
			got = append(got, fmt.Sprintf("%d %s", u.Event.Seq, u.Event.Data.Type()))
		}
	}
	if want := "1 run.created,Hi,Hi,2 run.started"; strings.Join(got, ",") != want {
		t.Errorf("got %v, want %s", got, want)
	}
	want := "0 text/event-stream Bearer hk_1,1 text/event-stream Bearer hk_1,1 text/event-stream Bearer hk_1"
	if strings.Join(asked, ",") != want {
		t.Errorf("asked %v, want %s", asked, want)
	}
}

// TestWatchEnds checks that a stream that the server rejects, or whose context is done, is not
// opened again.
func TestWatchEnds(t *testing.T) {
	t.Parallel()
	requests := 0
	r := at(t, func(w http.ResponseWriter, _ *http.Request) {
		requests++
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprintf(w, `{"title": "There is no such thing", "status": 404, "code": "not_found", "reason": `+
			`"run-not-found", "detail": %q}`, "read: "+journal.ErrNotFound.Error())
	})
	var last error
	for _, err := range r.Watch(t.Context(), "r", 0) {
		last = err
	}
	if !errors.Is(last, journal.ErrNotFound) || requests != 1 {
		t.Errorf("%d requests, %v", requests, last)
	}
	gone := at(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	for u, err := range gone.Watch(t.Context(), "r", 7) {
		t.Errorf("a run that has ended gives %v, %v", u, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, err := range gone.Watch(ctx, "r", 7) {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	}
}

// TestProblems checks that errors belong to the same family as on the server.
func TestProblems(t *testing.T) {
	t.Parallel()
	for text, c := range map[string]struct {
		status int
		reason errcode.Code
		is     error
		code   service.Code
	}{
		"run r: " + waits.ErrAnswered.Error(): {409, errcode.WaitAnswered, waits.ErrAnswered,
			service.CodeInvalid},
		"run r: " + waits.ErrClosed.Error(): {410, errcode.WaitClosed, waits.ErrClosed,
			service.CodeInvalid},
		waits.ErrAnswer.Error() + ": no": {422, errcode.InvalidAnswer, waits.ErrAnswer, service.CodeInvalid},
		"this needs the role edit":       {403, "", nil, service.CodeInvalid},
		"":                               {500, "", nil, service.CodeInternal},
	} {
		r := at(t, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(c.status)
			fmt.Fprintf(w, `{"title": "Title", "status": %d, "code": "x", "reason": %q, "detail": %q}`, c.status,
				c.reason, text)
		})
		err := r.Answer(t.Context(), "r", service.AnswerRequest{Value: event.Value(`"x"`)})
		if err == nil || c.is != nil && !errors.Is(err, c.is) || !strings.Contains(err.Error(), text) ||
			service.CodeOf(err) != c.code {
			t.Errorf("%q: %v, %s", text, err, service.CodeOf(err))
		}
	}
	r := at(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprint(w, `{"title": "Authentication required", "status": 401, "code": "unauthorized"}`)
	})
	if _, err := r.Show(t.Context(), "r"); service.CodeOf(err) != service.CodeInvalid ||
		!strings.Contains(errcode.Text(err, errcode.Command), "HOCKET_TOKEN") {
		t.Errorf("no token: %v", err)
	}
	for _, answer := range []string{"<html>", "OK", "[]", "{}", `{"ok": true}`, `{"data": [], "error": null}`} {
		r = at(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, answer) })
		for verb, err := range map[string]error{
			"show":      second(r.Show(t.Context(), "r")),
			"workflows": second(r.Entries(t.Context())),
			"agents":    second(r.Agents(t.Context())),
			"fork":      second(client.Call(t.Context(), r, op.ForkRun, &op.ForkIn{RunPath: op.RunPath{ID: "r"}})),
			"prune":     second(r.Prune(t.Context(), journal.PruneQuery{})),
		} {
			if err == nil || !strings.Contains(err.Error(), "is not a Hocket server: its answer is not one of the "+
				"API") {
				t.Errorf("another server answers %s with %s: %v", verb, answer, err)
			}
		}
		_, _, err := r.List(t.Context(), journal.Query{})
		if err == nil || !strings.Contains(err.Error(), "is not a Hocket server") {
			t.Errorf("another server answers runs with %s: %v", answer, err)
		}
	}
	r = at(t, func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"runs": 0, "values": 0, "freedBytes": 0}`)
	})
	if _, err := r.Prune(t.Context(), journal.PruneQuery{}); err != nil {
		t.Errorf("nothing was deleted: %v", err)
	}
	// a newer server has more keys, an older one may have fewer
	for _, answer := range []string{`{"runs": 0, "files": 0}`, `{"freedBytes": 0}`} {
		r = at(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, answer) })
		if _, err := r.Prune(t.Context(), journal.PruneQuery{}); err != nil {
			t.Errorf("another version answers %s: %v", answer, err)
		}
	}
	for _, answer := range []string{`{"items": null, "total": 0}`, `{"items": [], "total": 0}`} {
		r = at(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, answer) })
		_, _, err := r.List(t.Context(), journal.Query{})
		if err != nil {
			t.Errorf("another version answers %s: %v", answer, err)
		}
		if _, err := r.Entries(t.Context()); err != nil {
			t.Errorf("another version answers %s: %v", answer, err)
		}
	}
	for _, bad := range []string{"", "nowhere", "ftp://a", "http://", "http://u:p@a", "http://a?x=1",
		"http://a/path?x=1", "http://a/path#code=x"} {
		if _, err := client.New(client.Config{URL: bad}); service.CodeOf(err) != service.CodeInvalid {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// second returns the error of a call.
func second[T any](_ T, err error) error { return err }

// TestBelowPath checks that a proxy may serve the server under a path, with or without a trailing
// slash.
func TestBelowPath(t *testing.T) {
	t.Parallel()
	var asked []string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.EscapedPath())
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"items": []}`)
	}))
	t.Cleanup(srv.Close)
	for _, path := range []string{"", "/", "/hocket", "/hocket/", "/a%20b/c"} {
		r, err := client.New(client.Config{URL: srv.URL + path, Token: "hk_1"})
		if err != nil {
			t.Fatal(err)
		}
		below := strings.TrimRight(path, "/")
		if _, err := r.Entries(t.Context()); err != nil || asked[len(asked)-1] != below+"/api/v1/workflows" ||
			r.DB() != srv.URL+below {
			t.Errorf("%q: asked at %s, and is called %s: %v", path, asked[len(asked)-1], r.DB(), err)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestWaitInBranches checks P1: a run that is paused within branches is at rest, although their
// fork has not ended.
func TestWaitInBranches(t *testing.T) {
	t.Parallel()
	r := at(t, func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"id": "r", "status": "paused", "steps": [{"node": "all", "kind": "parallel", "status": `+
			`"running"}, {"node": "a", "kind": "agent", "status": "waiting"}]}`)
	})
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	if st, err := r.Wait(ctx, "r"); err != nil || st.Status != event.StatusPaused {
		t.Errorf("got %+v, %v", st, err)
	}
}

// TestEndlessAnswers checks that a server cannot fill the memory of a client, by one response or by
// ever more pages.
func TestEndlessAnswers(t *testing.T) {
	t.Parallel()
	n := 0
	r := at(t, func(w http.ResponseWriter, req *http.Request) {
		n++
		switch {
		case strings.HasSuffix(req.URL.Path, "/definition"):
			for req.Context().Err() == nil {
				if _, err := fmt.Fprint(w, strings.Repeat(" ", 1<<10)); err != nil {
					return
				}
			}
		case strings.HasSuffix(req.URL.Path, "/events"):
			fmt.Fprint(w, `{"items":[],"next":"7"}`)
		case strings.Contains(req.URL.Path, "/runs/"):
			fmt.Fprintf(w, `{"id":"r","steps":[],"stepsNext":"%d"}`, n)
		default:
			fmt.Fprintf(w, `{"items":[{"id":"a%d","name":"a"}],"next":"%d"}`, n, n)
		}
	})
	r.Bound(10_000)
	_, agents := r.Agents(t.Context())
	_, entries := r.Entries(t.Context())
	_, versions := r.Versions(t.Context(), "a")
	_, steps := r.Show(t.Context(), "r")
	for what, err := range map[string]error{"agents": agents, "entries": entries, "versions": versions,
		"steps": steps} {
		if err == nil || !strings.Contains(err.Error(), "sent more than 10000 bytes") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, _, err := r.RunDefinition(t.Context(), "r"); err == nil || !strings.Contains(err.Error(), "sent more than") {
		t.Errorf("definition: %v", err)
	}
	err := r.EachShort(t.Context(), "r", 0, nil, func(event.Event) error { return nil })
	if err == nil || !strings.Contains(err.Error(), "the page after event 7 is that after event 7") {
		t.Errorf("events: %v", err)
	}
}
