package mcpserver_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/api/mcpserver"
	"github.com/hocket-run/hocket/internal/model/modeltest"
	"github.com/hocket-run/hocket/internal/service"
)

func (c *client) read(uri string) *sdk.ResourceContents {
	c.t.Helper()
	res, err := c.ReadResource(c.t.Context(), &sdk.ReadResourceParams{URI: uri})
	if err != nil || len(res.Contents) != 1 {
		c.t.Fatalf("%s: %v", uri, err)
	}
	return res.Contents[0]
}

// TestResources checks that workflows, agents and runs are listed page by page and can be read.
func TestResources(t *testing.T) {
	t.Parallel()
	c := newWorld(t, mcpserver.Config{}, echoModel).admin(nil)
	id := c.pair()
	var runs []string
	for range 2 {
		runs = append(runs, c.mustCall("execute_workflow", object{"id": id})["runId"].(string))
	}
	const many = 120
	for i := range many {
		c.mustCall("create_workflow", object{"name": fmt.Sprintf("W %03d", i)})
	}
	seen := map[string]int{}
	for r, err := range c.Resources(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		seen[r.URI]++
	}
	if len(seen) != 3+1+many+2 || seen["hocket://workflows/talk"] != 1 || seen["hocket://workflows/w-119"] != 1 ||
		seen["hocket://runs/"+runs[0]] != 1 {
		t.Errorf("%d resources are listed: %v", len(seen), seen)
	}
	pages, err := c.ListResources(t.Context(), nil)
	if err != nil || len(pages.Resources) != 53 || pages.NextCursor == "" {
		t.Errorf("the first page has %d resources, %v", len(pages.Resources), err)
	}
	if got := c.read("hocket://workflows/talk"); got.MIMEType != "application/json" ||
		!strings.Contains(got.Text, `"maxRounds": 2`) {
		t.Errorf("workflow: %+v", got)
	}
	var run object
	if err := json.Unmarshal([]byte(c.read("hocket://runs/"+runs[0]).Text), &run); err != nil ||
		run["status"] != "completed" || len(run["trail"].([]any)) != 4 {
		t.Errorf("run: %v, %v", run, err)
	}
	if lines := strings.Split(strings.TrimSpace(c.read("hocket://runs/"+runs[0]+"/events").Text),
		"\n"); !strings.Contains(lines[0], `"type":"run.created"`) ||
		!strings.Contains(lines[len(lines)-1], `"type":"run.completed"`) {
		t.Errorf("events: %v", lines)
	}
	mustContain(t, c.read("hocket://runs").Text, runs[0], runs[1])
	mustContain(t, c.read("hocket://agents/ann").Text, `"You are Ann."`)
	for _, uri := range []string{"hocket://runs/nope", "hocket://workflows/", "hocket://workflows/talk/events",
		"hocket://secrets", "file:///etc/passwd", "hocket://runs/%zz"} {
		if res, err := c.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: uri}); err == nil {
			t.Errorf("%s: %v", uri, res.Contents[0])
		}
	}
	for _, tc := range []struct{ uri, value, want string }{
		{"hocket://workflows/{id}", "ta", "[talk]"}, {"hocket://agents/{id}", "ta", "[]"},
		{"hocket://agents/{id}", "", "[ann bob]"}, {"hocket://runs/{id}", "ta", "[]"},
		{"hocket://runs/{id}", runs[0], "[" + runs[0] + "]"},
		{"hocket://runs/{id}/events", runs[1], "[" + runs[1] + "]"}, {"hocket://secrets/{id}", "", "[]"},
	} {
		got, err := c.Complete(t.Context(), &sdk.CompleteParams{Ref: &sdk.CompleteReference{Type: "ref/resource",
			URI: tc.uri}, Argument: sdk.CompleteParamsArgument{Name: "id", Value: tc.value}})
		if err != nil || fmt.Sprint(got.Completion.Values) != tc.want {
			t.Errorf("%s, begun with %q: %v, %v; want %s", tc.uri, tc.value, got, err, tc.want)
		}
	}
	all, err := c.Complete(t.Context(), &sdk.CompleteParams{Ref: &sdk.CompleteReference{Type: "ref/resource",
		URI: "hocket://workflows/{id}"}, Argument: sdk.CompleteParamsArgument{Name: "id", Value: "w-"}})
	if err != nil || len(all.Completion.Values) != 100 || all.Completion.Total != many || !all.Completion.HasMore {
		t.Errorf("%d of %d ids, more %v, %v", len(all.Completion.Values), all.Completion.Total, all.Completion.HasMore,
			err)
	}
	templates, err := c.ListResourceTemplates(t.Context(), nil)
	if err != nil || len(templates.ResourceTemplates) != 6 {
		t.Errorf("templates %v, %v", templates, err)
	}
	if _, err := c.ListResources(t.Context(), &sdk.ListResourcesParams{Cursor: "bad"}); err == nil {
		t.Error("a foreign cursor is taken")
	}
}

// await fails unless a matching value arrives.
func await[T any](t *testing.T, what string, from <-chan T, fits func(T) bool) {
	t.Helper()
	deadline := time.After(5 * time.Minute)
	for {
		select {
		case x := <-from:
			if fits(x) {
				return
			}
		case <-deadline:
			t.Fatalf("no notification of %s", what)
		}
	}
}

// TestNotifications checks that clients are notified of resources that they subscribed to and of
// added and removed tools, including changes made through other interfaces.
func TestNotifications(t *testing.T) {
	t.Parallel()
	updated, tools := make(chan string, 1000), make(chan bool, 1000)
	w := newWorld(t, mcpserver.Config{Workflows: []string{mcpserver.All}}, echoModel)
	c := w.admin(&sdk.ClientOptions{
		ResourceUpdatedHandler: func(_ context.Context, n *sdk.ResourceUpdatedNotificationRequest) {
			updated <- n.Params.URI
		},
		ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) { tools <- true },
	})
	is := func(uri string) func(string) bool { return func(got string) bool { return got == uri } }
	has := func(name string, want bool) func(bool) bool {
		return func(bool) bool {
			for tl, err := range c.Tools(t.Context(), nil) {
				if err != nil {
					t.Fatal(err)
				}
				if tl.Name == name {
					return want
				}
			}
			return !want
		}
	}
	id := c.pair()
	await(t, "the tool talk", tools, has("talk", true))
	if out := c.mustCall("talk", object{"input": "x"}); out["status"] != "completed" {
		t.Errorf("the workflow as a tool: %v", out)
	}
	for _, uri := range []string{"hocket://workflows/talk", "hocket://runs"} {
		if err := c.Subscribe(t.Context(), &sdk.SubscribeParams{URI: uri}); err != nil {
			t.Fatal(err)
		}
	}
	// Another program changes the workflow.
	doc := `{"id": "talk", "name": "Talk", "description": "Two who talk.", "nodes": [{"id": "a1", "type": "agent", ` +
		`"config": {"agentId": "ann"}}], "edges": []}`
	if _, problems, err := w.service("default").Apply(t.Context(), service.ApplyRequest{
		Documents: []service.Document{{File: "talk.json", Data: []byte(doc)}},
	}); err != nil || problems.HasErrors() {
		t.Fatal(problems, err)
	}
	await(t, "the workflow", updated, is("hocket://workflows/talk"))
	run := c.mustCall("execute_workflow", object{"id": id, "waitSeconds": 0})["runId"].(string)
	await(t, "the list of runs", updated, is("hocket://runs"))
	mustContain(t, c.read("hocket://runs").Text, run)
	c.mustCall("delete_workflow", object{"id": id})
	await(t, "the tool that went", tools, has("talk", false))
}

// TestSubscribe_Run checks that a client that subscribes to a run and to its events receives
// notifications while the run is active and when it ends, and that resources whose subscribers
// unsubscribed or ended their session are no longer read (SEC17).
func TestSubscribe_Run(t *testing.T) {
	t.Parallel()
	go1, updated := make(chan struct{}), make(chan string, 1000)
	w := newWorld(t, mcpserver.Config{}, func(r modeltest.Request) modeltest.Answer {
		if strings.Contains(r.System, "Bob") {
			<-go1
		}
		return echoModel(r)
	})
	opts := &sdk.ClientOptions{ResourceUpdatedHandler: func(_ context.Context,
		n *sdk.ResourceUpdatedNotificationRequest) {
		updated <- n.Params.URI
	}}
	token := w.token(access.RoleAdmin, false)
	c, other := w.connect(token, opts), w.connect(token, nil)
	run := c.mustCall("execute_workflow", object{"id": c.pair(), "waitSeconds": 0})["runId"].(string)
	uri := "hocket://runs/" + run
	for _, s := range []*client{c, other} {
		for _, uri := range []string{uri, uri + "/events"} {
			if err := s.Subscribe(t.Context(), &sdk.SubscribeParams{URI: uri}); err != nil {
				t.Fatal(err)
			}
		}
	}
	close(go1)
	ended, events := false, false // in either order
	await(t, "the end of the run and its events", updated, func(got string) bool {
		events = events || got == uri+"/events"
		ended = ended || got == uri && strings.Contains(c.read(uri).Text, `"status":"completed"`)
		return ended && events
	})
	if err := c.Subscribe(t.Context(), &sdk.SubscribeParams{URI: "hocket://runs/nope"}); err == nil {
		t.Error("a run that is not there can be subscribed to")
	}
	if err := c.Unsubscribe(t.Context(), &sdk.UnsubscribeParams{URI: uri}); err != nil {
		t.Fatal(err)
	}
	if n := w.server.Watched(); n != 2 {
		t.Errorf("%d resources are watched, and the other session watches two", n)
	}
	if err := other.Unsubscribe(t.Context(), &sdk.UnsubscribeParams{URI: uri}); err != nil {
		t.Fatal(err)
	}
	if n := w.server.Watched(); n != 1 {
		t.Errorf("%d resources are watched after both left one of two", n)
	}
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	if err := c.Unsubscribe(t.Context(), &sdk.UnsubscribeParams{URI: uri + "/events"}); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); w.server.Watched() != 0; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("what a session watched that has ended is looked at still")
		}
	}
}

// TestToolName checks that tool names of workflows depend only on the id, and clash neither with
// each other nor with fixed tools.
func TestToolName(t *testing.T) {
	t.Parallel()
	fixed := strings.Fields(mcpserver.Names())
	seen := map[string]string{}
	for _, id := range []string{"newsroom", "get_run", "a b", "a_b", "a.b", "a-b", "ünïcode", strings.Repeat("x", 300),
		strings.Repeat("x", 299), "日本"} {
		name := mcpserver.ToolName(id, fixed)
		if len(name) > 48 || strings.Trim(name,
			"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") != "" || seen[name] != "" {
			t.Errorf("%s is the tool %s, as is %q", id, name, seen[name])
		}
		seen[name] = id
		for _, f := range fixed {
			if name == f {
				t.Errorf("%s hides the fixed tool %s", id, f)
			}
		}
	}
	if mcpserver.ToolName("newsroom", fixed) != "newsroom" ||
		mcpserver.ToolName("a b", fixed) != mcpserver.ToolName("a b", nil) {
		t.Error("a good id is no name, or names are not stable")
	}
}

// TestResources_LargeOutputs checks that a large value is a reference to a resource with the
// complete value, in chunks (SEC17).
func TestResources_LargeOutputs(t *testing.T) {
	t.Parallel()
	big := strings.Repeat("a long störy ", 100_000)
	c := newWorld(t, mcpserver.Config{}, func(modeltest.Request) modeltest.Answer {
		return modeltest.Answer{Text: big}
	}).admin(nil)
	id := c.pair()
	out := c.mustCall("execute_workflow", object{"id": id})
	run := out["runId"].(string)
	got := c.mustCall("get_run", object{"id": run})
	logs := c.mustCall("get_run", object{"id": run, "view": "logs"})["logs"].([]any)
	for name, v := range map[string]any{"execute_workflow": out["output"], "get_run": got["output"],
		"steps": got["steps"].([]any)[0].(object)["output"], "trail": got["trail"].([]any)[0].(object)["output"],
		"logs": logs[len(logs)-1].(object)["content"]} {
		ref, _ := v.(object)["$value"].(object)
		if ref == nil || ref["bytes"] != float64(len(big)) ||
			!strings.HasPrefix(ref["href"].(string), "hocket://runs/"+run+"/values/text/") {
			t.Fatalf("%s: %.300v", name, v)
		}
		whole := ""
		for uri := ref["href"].(string); uri != ""; {
			res, err := c.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: uri})
			if err != nil || len(res.Contents[0].Text) > 1<<20 {
				t.Fatal(err)
			}
			whole, uri = whole+res.Contents[0].Text, ""
			if len(res.Contents) > 1 {
				uri = res.Contents[1].URI
			}
		}
		if whole != big {
			t.Errorf("%s: the pieces have %d bytes of %d", name, len(whole), len(big))
		}
	}
	for name, got := range map[string]object{"execute_workflow": out, "get_run": got,
		"run_events": c.mustCall("run_events", object{"id": run})} {
		if text := stringOf(t, got); len(text) > 64<<10 || got["truncated"] != nil {
			t.Errorf("%s gives %d bytes, truncated: %v", name, len(text), got["truncated"])
		}
	}
	if text := c.read("hocket://runs/" + run).Text; len(text) > 64<<10 || !strings.Contains(text, "/values/text/") {
		t.Errorf("the resource has %d bytes", len(text))
	}
	for _, bad := range []string{"/values/text/x", "/values/other/" + strings.Repeat("0", 64),
		"/values/json/" + strings.Repeat("0", 64), "/values/text/" + strings.Repeat("0", 64) + "/-1"} {
		if _, err := c.ReadResource(t.Context(),
			&sdk.ReadResourceParams{URI: "hocket://runs/" + run + bad}); err == nil {
			t.Errorf("%s is read", bad)
		}
	}
	last, events := 0.0, 0
	for {
		page := c.mustCall("run_events", object{"id": run, "after": last, "limit": 3})
		events += len(page["events"].([]any))
		if last = page["next"].(float64); last == page["last"] {
			break
		}
	}
	if events != int(last) {
		t.Errorf("pages have %d events of %v", events, last)
	}
}

// TestRunPages checks that steps, trail and log are returned in consecutive pages, and that a
// cursor that no page returned is rejected.
func TestRunPages(t *testing.T) {
	t.Parallel()
	c := newWorld(t, mcpserver.Config{}, func(modeltest.Request) modeltest.Answer {
		return modeltest.Answer{Text: strings.Repeat("x", 3000)}
	}).admin(nil)
	run := c.mustCall("execute_workflow", object{"id": c.pair()})["runId"].(string)
	recipes, texts := stringOf(t, c.mustCall("run_events", object{"id": run})),
		stringOf(t, c.mustCall("run_events", object{"id": run, "expand": true}))
	if !strings.Contains(recipes, `"recipe"`) || strings.Contains(texts, `"recipe"`) ||
		strings.Count(texts, `"input"`) <= strings.Count(recipes, `"input"`) {
		t.Errorf("run_events shows inputs as %.2000s; with expand as %.2000s", recipes, texts)
	}
	all := c.mustCall("get_run", object{"id": run, "limit": 1000})
	logs := c.mustCall("get_run", object{"id": run, "view": "logs", "limit": 1000})
	for _, list := range []struct {
		items, next, view string
	}{{"steps", "stepsNext", "run"}, {"trail", "trailNext", "run"}, {"logs", "logsNext", "logs"}} {
		want := logs["logs"]
		if list.view == "run" {
			want = all[list.items]
		}
		var got []any
		for args := (object{"id": run, "limit": 1, "view": list.view}); ; {
			page := c.mustCall("get_run", args)
			if got = append(got, page[list.items].([]any)...); page[list.next] == "" {
				break
			}
			args["cursor"] = page[list.next]
		}
		names := func(v any) (out []any) { // several values that fit on one page may be references
			for _, one := range v.([]any) {
				out = append(out, one.(object)["seq"], one.(object)["order"], one.(object)["timestamp"],
					one.(object)["type"])
			}
			return out
		}
		if fmt.Sprint(names(got)) != fmt.Sprint(names(want)) || len(got) < 2 {
			t.Errorf("%s: %d on pages, not those at once", list.items, len(got))
		}
	}
	for _, view := range []string{"run", "logs"} {
		mustContain(t, c.mustFail("invalid", "get_run", object{"id": run, "view": view, "cursor": "x"}), "cursor")
	}
}
