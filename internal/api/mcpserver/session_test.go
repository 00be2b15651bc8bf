package mcpserver_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/api/mcpserver"
	"github.com/hocket-run/hocket/internal/api/transport"
	"github.com/hocket-run/hocket/internal/model/modeltest"
	"github.com/hocket-run/hocket/internal/service"
)

// TestSession_BoundToPrincipal checks that a session id does not exist for another token,
// whatever its permissions and namespace, and that nothing is served without a token (SEC1, SEC10).
func TestSession_BoundToPrincipal(t *testing.T) {
	t.Parallel()
	w := newWorld(t, mcpserver.Config{}, echoModel)
	mine := w.token(access.RoleEdit, false)
	session := w.connect(mine, nil).ID()
	post := func(token, session, accept string) int {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.url,
			strings.NewReader(`{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{}}`))
		if err != nil {
			t.Fatal(err)
		}
		req.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {accept}, "Mcp-Session-Id": {session},
			"Authorization": {"Bearer " + token}, "Hocket-Request": {"1"}}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		return resp.StatusCode
	}
	const both = "application/json, text/event-stream"
	if got := post(mine, session, both); got != http.StatusOK {
		t.Errorf("own session: %d", got)
	}
	for name, token := range map[string]string{
		"the same rights": w.token(access.RoleEdit, false), "an admin who approves": w.token(access.RoleAdmin, true),
		"another namespace": w.tokenOf("other", access.RoleEdit, false),
	} {
		if got := post(token, session, both); got != http.StatusNotFound {
			t.Errorf("%s: %d, want 404", name, got)
		}
	}
	if got := post(mine, "no-such-session", both); got != http.StatusNotFound {
		t.Errorf("random session: %d", got)
	}
	if got := post("missing", session, both); got != http.StatusUnauthorized {
		t.Errorf("unknown token: %d", got)
	}
	for _, method := range []string{http.MethodGet, http.MethodDelete} {
		req, err := http.NewRequestWithContext(t.Context(), method, w.url, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header = http.Header{"Accept": {"text/event-stream"}, "Mcp-Session-Id": {session},
			"Authorization": {"Bearer " + w.token(access.RoleAdmin, true)}}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusNotFound {
			t.Errorf("%s with another token: %d", method, resp.StatusCode)
		}
	}
	if got := post(mine, session, both); got != http.StatusOK {
		t.Errorf("own session after all that: %d", got)
	}
}

// TestNamespaces checks that workflows, agents, runs, resources and notifications are not shared
// between namespaces, and that ids of other namespaces are answered like ids that do not exist
// (SEC10).
func TestNamespaces(t *testing.T) {
	t.Parallel()
	w := newWorld(t, mcpserver.Config{Workflows: []string{mcpserver.All}}, echoModel)
	a := w.admin(nil)
	id := a.pair()
	run := a.mustCall("execute_workflow", object{"id": id})["runId"].(string)
	b := w.connect(w.tokenOf("other", access.RoleAdmin, true), nil)
	for name := range strings.FieldsSeq(mcpserver.Names()) {
		if strings.HasPrefix(name, "create_") || strings.HasPrefix(name, "list_") || name == "count_runs" {
			continue
		}
		args, random := object{"id": id}, object{"id": "nope"}
		switch {
		case name == "signal_run":
			args["signal"], random["signal"] = "paid", "paid"
			args["id"] = run
		case strings.HasSuffix(name, "_run") || name == "run_events":
			args["id"] = run
		case strings.HasSuffix(name, "_agent"):
			args["id"] = "ann"
		case name == "control_schedule":
			args["control"], random["control"] = "pause", "pause"
		case name == "update_workflow":
			args["maxRounds"], random["maxRounds"] = 1, 1
		}
		foreign, none := b.mustFail("not_found", name, args), b.mustFail("not_found", name, random)
		if strings.ReplaceAll(foreign, args["id"].(string), "nope") != none {
			t.Errorf("%s: %q and %q differ", name, foreign, none)
		}
	}
	for list, key := range map[string]string{"list_agents": "agents", "list_workflows": "workflows",
		"list_runs": "runs"} {
		if got := b.mustCall(list, object{})[key].([]any); len(got) > 0 {
			t.Errorf("%s gives %v", list, got)
		}
	}
	if got := b.mustCall("count_runs", object{"q": "echo*"}); got["total"] != 0.0 {
		t.Errorf("count_runs gives %v", got)
	}
	for _, uri := range []string{"hocket://workflows/" + id, "hocket://agents/ann", "hocket://runs/" + run,
		"hocket://runs/" + run + "/events"} {
		if _, err := a.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: uri}); err != nil {
			t.Errorf("%s: %v", uri, err)
		}
		if res, err := b.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: uri}); err == nil {
			t.Errorf("%s is read by another namespace: %v", uri, res)
		}
		if err := b.Subscribe(t.Context(), &sdk.SubscribeParams{URI: uri}); err == nil {
			t.Errorf("%s is subscribed to by another namespace", uri)
		}
	}
	for tl, err := range b.Tools(t.Context(), nil) {
		if err != nil || tl.Name == id {
			t.Errorf("the tools of another namespace: %v, %v", tl, err)
		}
	}
}

// TestRun_OutlivesRequest checks that a cancelled request, a request that does not wait and the end
// of a session leave the run alone, and that cancel_run ends it. The same idempotency key starts
// nothing twice (P19, P24).
func TestRun_OutlivesRequest(t *testing.T) {
	t.Parallel()
	asked, release := make(chan struct{}, 10), make(chan struct{})
	w := newWorld(t, mcpserver.Config{}, func(modeltest.Request) modeltest.Answer {
		asked <- struct{}{}
		return modeltest.Answer{Text: "late", Wait: release}
	})
	token := w.token(access.RoleAdmin, false)
	c := w.connect(token, nil)
	id := c.pair()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		_, err := c.CallTool(ctx,
			&sdk.CallToolParams{Name: "execute_workflow", Arguments: object{"id": id, "idempotencyKey": "once"}})
		done <- err
	}()
	<-asked
	cancel()
	if err := <-done; err == nil {
		t.Error("the call was not cancelled")
	}
	again := c.mustCall("execute_workflow", object{"id": id, "idempotencyKey": "once", "waitSeconds": 0})
	if again["again"] != true || again["status"] != "running" {
		t.Fatalf("the same request: %v", again)
	}
	c.mustFail("invalid", "execute_workflow", object{"id": id, "idempotencyKey": "once", "input": "another"})
	second := c.mustCall("execute_workflow", object{"id": id, "wait": 0, "session": "s"})
	<-asked
	mustContain(t, c.mustFail("conflict", "execute_workflow", object{"id": id, "session": "s"}),
		second["runId"].(string))
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	c = w.connect(token, nil)
	for range 2 {
		if out := c.mustCall("cancel_run",
			object{"id": second["runId"], "reason": "no more"}); out["status"] != "cancelled" {
			t.Errorf("cancel_run: %v", out)
		}
	}
	c.mustFail("conflict", "resume_run", object{"id": second["runId"]})
	close(release)
	out := c.mustCall("execute_workflow", object{"id": id, "idempotencyKey": "once"})
	if out["runId"] != again["runId"] || out["status"] != "completed" || out["output"] != "late" {
		t.Errorf("the run that was left: %v", out)
	}
	c.mustFail("conflict", "cancel_run", object{"id": again["runId"]})
	if got := c.mustCall("list_runs", object{})["runs"].([]any); len(got) != 2 ||
		at(t, got[0], "id") != second["runId"] {
		t.Errorf("newest first: %v", got)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !slices.Contains(w.audited, "runs.start") || !slices.Contains(w.audited, "runs.cancel") ||
		!slices.Contains(w.audited, "workflows.update") {
		t.Errorf("the audit log heard %v", w.audited)
	}
}

// lateCalls sends calls whose client disconnects before they start. It calls before when the HTTP
// request of a call has ended, and handled with the result of the call.
func lateCalls(t *testing.T, w *world, token string, before func(), handled func(message string, err error),
	messages ...string) {
	t.Helper()
	arrived, proceed, done := make(chan struct{}), make(chan struct{}), make(chan error)
	w.server.AlsoOffer(func(s *sdk.Server) {
		s.AddReceivingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
			return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
				if extra := req.GetExtra(); extra == nil || extra.Header.Get("Leaves") == "" {
					return next(ctx, method, req)
				}
				arrived <- struct{}{}
				<-proceed
				res, err := next(ctx, method, req)
				if tool, ok := res.(*sdk.CallToolResult); ok && tool.IsError {
					err = errors.New(textOf(tool))
				}
				done <- err
				return res, err
			}
		})
	})
	session, handler, left := w.connect(token, nil).ID(), w.server.Handler(), make(chan struct{})
	guard := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		ctx := transport.WithRequest(r.Context(), &transport.Request{ID: "late", Remote: "192.0.2.1:7"})
		handler.ServeHTTP(rw, r.WithContext(transport.With(ctx, w.callers[token])))
		left <- struct{}{}
	}))
	t.Cleanup(guard.Close)
	for i, message := range messages {
		ctx, leave := context.WithCancel(t.Context())
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, guard.URL,
			strings.NewReader(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,%s}`, 100+i, message)))
		if err != nil {
			t.Fatal(err)
		}
		req.Header = http.Header{"Content-Type": {"application/json"},
			"Accept": {"application/json, text/event-stream"}, "Mcp-Session-Id": {session}, "Leaves": {"yes"}}
		go func() {
			if resp, err := http.DefaultClient.Do(req); err == nil {
				resp.Body.Close()
			}
		}()
		<-arrived
		leave()
		<-left
		before()
		proceed <- struct{}{}
		handled(message, <-done)
	}
}

const (
	readsList  = `"method":"resources/read","params":{"uri":"hocket://workflows"}`
	makesAgent = `"method":"tools/call","params":{"name":"create_agent","arguments":{"name":"Ann",` +
		`"systemPrompt":"You are Ann."}}`
)

// TestToolCall_ClientDisconnected checks that a client that disconnects before its call starts
// finds the result when it reconnects, and that the audit log records what the call did.
func TestToolCall_ClientDisconnected(t *testing.T) {
	t.Parallel()
	w, heard := newWorld(t, mcpserver.Config{}, echoModel), &auditRecords{}
	w.server.SetAudit(heard)
	token := w.token(access.RoleEdit, false)
	lateCalls(t, w, token, func() {}, func(message string, err error) {
		if err != nil {
			t.Errorf("%s: %v", message, err)
		}
	},
		`"method":"completion/complete","params":{"ref":{"type":"ref/resource","uri":"hocket://workflows/{id}"},`+
			`"argument":{"name":"id","value":"a"}}`,
		`"method":"resources/list","params":{}`, readsList,
		`"method":"resources/subscribe","params":{"uri":"hocket://workflows"}`, makesAgent)
	heard.mu.Lock()
	defer heard.mu.Unlock()
	if len(heard.list) != 1 {
		t.Fatalf("the audit log has %+v", heard.list)
	}
	if d := heard.list[0]; d.Action != "agents.create" || d.Principal.Token != token || d.Channel != "mcp" ||
		d.RequestID != "late" || d.Remote != "192.0.2.1:7" {
		t.Errorf("the audit log has %+v", d)
	}
}

// TestToolCall_TokenRevoked checks that a call that starts after its token was revoked is
// rejected, although it was accepted before.
func TestToolCall_TokenRevoked(t *testing.T) {
	t.Parallel()
	for _, message := range []string{readsList, makesAgent} {
		w, heard := newWorld(t, mcpserver.Config{}, echoModel), &auditRecords{}
		w.server.SetAudit(heard)
		token := w.token(access.RoleEdit, false)
		lateCalls(t, w, token, func() {
			w.server.Revoke(access.DefaultNamespace, token)
		}, func(message string, err error) {
			if err == nil {
				t.Errorf("%s is not refused", message)
			}
		}, message)
		if rows, err := w.service(access.DefaultNamespace).Agents(t.Context()); err != nil || len(rows) != 0 ||
			len(heard.list) != 0 {
			t.Errorf("%d agents, %v; the audit log has %+v", len(rows), err, heard.list)
		}
	}
}

// TestClose_EndsPendingCalls checks that a call that started after its request ended and waits for
// a run does not keep the server from closing.
func TestClose_EndsPendingCalls(t *testing.T) {
	t.Parallel()
	asked, release := make(chan struct{}, 10), make(chan struct{})
	w := newWorld(t, mcpserver.Config{}, func(modeltest.Request) modeltest.Answer {
		asked <- struct{}{}
		return modeltest.Answer{Text: "late", Wait: release}
	})
	t.Cleanup(func() { close(release) })
	token := w.token(access.RoleEdit, false)
	id := w.admin(nil).pair()
	closed := make(chan error, 1)
	lateCalls(t, w, token, func() {
		go func() {
			<-asked // the call waits for its run
			closed <- w.server.Close()
		}()
	}, func(message string, err error) {
		if err != nil && !strings.Contains(err.Error(), "shutting down") {
			t.Errorf("%s: %v", message, err)
		}
	}, `"method":"tools/call","params":{"name":"execute_workflow","arguments":{"id":"`+id+`","waitSeconds":600}}`)
	if err := <-closed; err != nil {
		t.Error(err)
	}
}

// TestProgress checks that a client that sends a progress token receives progress of each step, in
// order.
func TestProgress(t *testing.T) {
	t.Parallel()
	var told []string
	last := 0.0
	heard := make(chan struct{}, 100)
	w := newWorld(t, mcpserver.Config{}, echoModel)
	c := w.admin(&sdk.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, n *sdk.ProgressNotificationClientRequest) {
			if n.Params.Progress <= last {
				t.Errorf("progress %v after %v", n.Params.Progress, last)
			}
			last = n.Params.Progress
			told = append(told, n.Params.Message)
			heard <- struct{}{}
		}})
	id := c.pair()
	p := &sdk.CallToolParams{Name: "execute_workflow", Arguments: object{"id": id}}
	p.SetProgressToken("t")
	if _, out := c.callWith(t.Context(), p); out["status"] != "completed" {
		t.Fatalf("got %v", out)
	}
	want := []string{"Ann started", "Ann completed", "Bob started", "Bob completed", "Ann started", "Ann completed",
		"Bob started", "Bob completed"}
	for range want {
		select {
		case <-heard:
		case <-time.After(5 * time.Minute):
			t.Fatalf("told %v", told)
		}
	}
	if !slices.Equal(told, want) {
		t.Errorf("told %v, want %v", told, want)
	}
}

// TestSession_NewService checks that a session outlives the service with which it was opened:
// nothing uses the service of a namespace without requests, so that it may be closed, and the next
// request uses the new one, and sees what is there.
func TestSession_NewService(t *testing.T) {
	t.Parallel()
	var now atomic.Pointer[service.Service]
	var log bytes.Buffer
	w := newWorld(t, mcpserver.Config{Workflows: []string{mcpserver.All},
		Logger:  slog.New(slog.NewTextHandler(&log, nil)),
		Service: func(context.Context, string) (*service.Service, error) { return now.Load(), nil }}, echoModel)
	old := w.service(access.DefaultNamespace)
	now.Store(old)
	token := w.token(access.RoleEdit, false)
	c := connect(t, &sdk.StreamableClientTransport{Endpoint: w.url, HTTPClient: &http.Client{Transport: bearer{token}},
		DisableStandaloneSSE: true}, nil)
	hasTool := func(name string) bool {
		t.Helper()
		list, err := c.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		return slices.ContainsFunc(list.Tools, func(o *sdk.Tool) bool { return o.Name == name })
	}
	id := c.pair()
	for end := time.Now().Add(time.Minute); w.server.Watching() != 0; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("an account without requests is watched still")
		}
	}
	if !hasTool(id) {
		t.Errorf("there is no tool %s, which was created since the last look", id)
	}
	for w.server.Watching() != 0 {
		time.Sleep(5 * time.Millisecond)
	}
	if err := old.Close(); err != nil {
		t.Fatal(err)
	}
	delete(w.services, access.DefaultNamespace)
	now.Store(w.service(access.DefaultNamespace)) // it has another store, so that it is seen which one is used
	w.mu.Lock()
	w.callers[token] = &transport.Caller{Principal: w.callers[token].Principal, Service: now.Load()}
	w.mu.Unlock()
	if hasTool(id) {
		t.Errorf("there is still a tool %s", id)
	}
	c.mustFail("not_found", "get_workflow", object{"id": id})
	c.pair()
	if err := w.server.Close(); err != nil || log.Len() > 0 {
		t.Errorf("closed with %v, logged %s", err, log.String())
	}
}
