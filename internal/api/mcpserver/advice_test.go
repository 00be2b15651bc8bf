package mcpserver_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/api/mcpserver"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/model/modeltest"
	"github.com/hocket-run/hocket/internal/service"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestToolErrors_Hints checks that a tool error says what to do next, in terms of tools, since a
// model has no command line, because assistants do everything through tools.
func TestToolErrors_Hints(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	w := newWorld(t, mcpserver.Config{}, func(r modeltest.Request) modeltest.Answer {
		if strings.Contains(r.LastUser(), "slow") {
			<-release
		}
		return echoModel(r)
	})
	c := w.admin(nil)
	id := c.pair()
	c.mustCall("create_workflow", object{"name": "Lost"})
	done := c.mustCall("execute_workflow", object{"id": id, "idempotencyKey": "once"})["runId"]
	c.mustCall("execute_workflow", object{"id": id, "input": "slow", "session": "s", "waitSeconds": 0})
	reader := w.connect(w.token(access.RoleRun, false), nil)
	for _, tc := range []struct {
		by   *client
		code string
		tool string
		args object
		says string
	}{
		{c, "not_found", "get_agent", object{"id": "zz"}, "Next: list_agents lists"},
		{c, "not_found", "update_agent", object{"id": "zz"}, "create_agent creates one"},
		{c, "not_found", "get_workflow", object{"id": "zz"}, "Next: list_workflows lists"},
		{c, "not_found", "execute_workflow", object{"id": "zz"}, "create_workflow creates one"},
		{c, "not_found", "get_run", object{"id": "zz"}, "list_runs lists"},
		{c, "not_found", "resume_run", object{"id": done, "wait": "w99"}, "Next: get_run shows what the run waits for"},
		{c, "conflict", "resume_run", object{"id": done}, "execute_workflow runs the workflow again"},
		{c, "conflict", "delete_agent", object{"id": "ann"},
			"Next: Remove it from them with update_workflow, or give force: true"},
		{c, "conflict", "create_agent", object{"id": "ann", "name": "x"}, "change it with update_agent"},
		{c, "conflict", "update_agent", object{"id": "ann", "name": "x", "etag": "old"}, "read it again and repeat"},
		{c, "conflict", "execute_workflow", object{"id": id, "session": "s"}, "ifBusy queue or cancel_previous"},
		{c, "invalid", "list_runs", object{"cursor": "x"}, "Next: Give `next` of the previous page"},
		{c, "invalid", "update_workflow", object{"id": "lost", "nodes": nodes("missing")},
			"hint: list_agents lists the agents; create_agent creates one"},
		{c, "invalid", "update_workflow", object{"id": "lost", "nodes": nodes("missing")}, "Next: Fix these problems"},
		{c, "invalid", "update_workflow", object{"id": id, "maxRounds": nil}, "Next: Fix these problems"},
		{reader, "forbidden", "create_agent", object{"name": "x"}, "Next: Tell the user that this needs a token"},
	} {
		if text := tc.by.mustFail(tc.code, tc.tool, tc.args); !strings.Contains(text, tc.says) ||
			strings.Contains(text, "hocket agents apply") {
			t.Errorf("%s %v: %q does not say %q", tc.tool, tc.args, text, tc.says)
		}
	}
	close(release)
}

// TestInternalErrors_Logged checks that an internal error is logged with its cause, that the model
// does not see the cause, and that the model is told to retry if that can help.
func TestInternalErrors_Logged(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		err  error
		says string
		logs bool
	}{
		{fmt.Errorf("claim run on disk canary: %w", service.ErrUnavailable), "unavailable", true},
		{errors.New("canary"), "internal", true},
		{fmt.Errorf("canary: %w", journal.ErrCursor), "invalid", false},
	} {
		var log bytes.Buffer
		s := mcpserver.New(mcpserver.Config{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		res := s.Failed(t.Context(), "get_run", tc.err)
		text := res.Content[0].(*sdk.TextContent).Text
		if !strings.HasPrefix(text, tc.says+": ") || !strings.Contains(text, "\nNext: ") || tc.logs &&
			strings.Contains(text, "canary") {
			t.Errorf("%v: %q", tc.err, text)
		}
		if got := strings.Contains(log.String(), "canary") &&
			strings.Contains(log.String(), "get_run"); got != tc.logs {
			t.Errorf("%v: the log has %q", tc.err, &log)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestUnusableAgents checks that whatever keeps an agent from working is reported when the agent is
// stored, not only when it runs.
func TestUnusableAgents(t *testing.T) {
	t.Parallel()
	c := newWorld(t, mcpserver.Config{}, echoModel).admin(nil)
	text := c.mustFail("invalid", "create_agent", object{"name": "Eve", "toolsets": []object{{"type": "fetsch"}},
		"sytemPrompt": "x"})
	if !strings.Contains(text, `did you mean "fetch"?`) || !strings.Contains(text, `did you mean "systemPrompt"?`) {
		t.Errorf("misspellings: %s", text)
	}
	made := c.mustCall("create_agent", object{"name": "Eve", "toolsets": []object{{"type": "pigeon"}}, "mood": "x"})
	told := made["diagnostics"].([]any)
	all := stringOf(t, told)
	if len(told) != 2 || !strings.Contains(all, "pigeon") || !strings.Contains(all, `the key \"mood\" is not known`) ||
		strings.Contains(all, `"error"`) {
		t.Errorf("diagnostics: %s", all)
	}
	if good := c.mustCall("update_agent",
		object{"id": "eve", "toolsets": []object{{"type": "fetch"}}}); good["diagnostics"] != nil {
		t.Errorf("diagnostics: %v", good)
	}
	if bare := c.mustCall("update_agent", object{"id": "eve", "toolsets": nil, "tools": nil}); at(t, bare, "agent",
		"toolsets") != nil {
		t.Errorf("null does not remove a list: %v", bare)
	}
	mustContain(t, c.mustFail("invalid", "create_agent", object{"name": "x", "toolsets": []object{{"kind": "fetch"}}}),
		"toolsets.0", `"type"`)
}
