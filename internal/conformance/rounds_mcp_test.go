package conformance_test

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/api/mcpserver"
	"github.com/hocket-run/hocket/internal/api/transport"
	"github.com/hocket-run/hocket/internal/project"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/internal/tool"
)

// assistant is a session of the official MCP client with a world.
type assistant struct {
	t *testing.T
	*sdk.ClientSession
}

// newAssistant opens a session with the world over HTTP.
func newAssistant(t *testing.T, w *world, who access.Principal) assistant {
	t.Helper()
	server := mcpserver.New(mcpserver.Config{Version: "test"})
	handler := server.Handler()
	web := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		handler.ServeHTTP(rw,
			r.WithContext(transport.With(r.Context(), &transport.Caller{Principal: who, Service: w.Service})))
	}))
	session, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(),
		&sdk.StreamableClientTransport{Endpoint: web.URL}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = session.Close() // the server may have closed first
		if err := server.Close(); err != nil {
			t.Error(err)
		}
		web.Close()
	})
	return assistant{t, session}
}

// call calls a tool and returns its result or the text of its error.
func (a assistant) call(name string, args map[string]any) (out map[string]any, failed string) {
	a.t.Helper()
	res, err := a.CallTool(a.t.Context(), &sdk.CallToolParams{Name: name, Arguments: args})
	if err != nil {
		a.t.Fatalf("%s: %v", name, err)
	}
	if res.IsError {
		return nil, res.Content[0].(*sdk.TextContent).Text
	}
	return res.StructuredContent.(map[string]any), ""
}

// mustCall calls a tool that must succeed and returns its result.
func (a assistant) mustCall(name string, args map[string]any) map[string]any {
	a.t.Helper()
	out, failed := a.call(name, args)
	if failed != "" {
		a.t.Fatalf("%s: %s", name, failed)
	}
	return out
}

var roundsMCP = []rule{
	{name: "S1-40 workflows are made, changed, run and looked at by MCP tools", outside: true,
		test: func(t *testing.T) {
			w := newWorld(t)
			w.says("ann", "from ann", "from ann")
			a := newAssistant(t, w, access.Principal{Token: "t", Name: "t", Namespace: access.DefaultNamespace,
				Role: access.RoleEdit})
			a.mustCall("create_agent", map[string]any{"id": "ann", "name": "ann"})
			made := a.mustCall("create_workflow", map[string]any{"name": "Morning news"})
			id := made["id"]
			doc := func() map[string]any {
				return a.mustCall("get_workflow", map[string]any{"id": id})["document"].(map[string]any)
			}
			same(t, "an empty workflow", asJSON(doc()),
				asJSON(map[string]any{"id": id, "name": "Morning news", "nodes": []any{}, "edges": []any{}}))

			// Only the top-level keys in the request are replaced; the response has diagnostics.
			node := map[string]any{"id": "n", "type": "agent", "config": map[string]any{"agentId": "ann"}}
			a.mustCall("update_workflow", map[string]any{"workflowId": id, "nodes": []any{node}, "maxRounds": 3,
				"branches": []any{map[string]any{"id": "b", "nodes": []any{node}, "edges": []any{}}}})
			changed := a.mustCall("update_workflow",
				map[string]any{"id": id, "edges": []any{map[string]any{"id": "e", "from": "n", "to": "gone"}}})
			same(t, "the document", asJSON(doc()), asJSON(map[string]any{
				"id": id, "name": "Morning news", "nodes": []any{node},
				"edges": []any{map[string]any{"id": "e", "from": "n", "to": "gone"}}, "maxRounds": 3,
				"branches": []any{map[string]any{"id": "b", "nodes": []any{node}, "edges": []any{}}},
			}))
			if !strings.Contains(asJSON(changed["diagnostics"]), `Edge target \"gone\" not found`) {
				t.Errorf("the answer has no warning: %v", changed["diagnostics"])
			}
			if _, failed := a.call("update_workflow",
				map[string]any{"id": id,
					"nodes": []any{map[string]any{"id": "n", "type": "agent"}}}); !strings.Contains(failed,
				"missing agentId in config") {
				t.Errorf("a document with errors: %q", failed)
			}

			for _, run := range []struct {
				args   map[string]any
				branch any
			}{{map[string]any{"id": id, "input": "x"}, nil},
				{map[string]any{"workflowId": id, "branchId": "b", "input": "x"}, "b"}} {
				started := a.mustCall("execute_workflow", run.args)
				for _, name := range []string{"id", "runId"} {
					got := a.mustCall("get_run", map[string]any{name: started["runId"]})
					if got["status"] != "completed" || got["output"] != "from ann" || got["error"] != nil ||
						len(got["trail"].([]any)) != 1 ||
						got["targetType"] != "workflow" || got["targetId"] != id ||
						got["targetBranchId"] != run.branch {
						t.Errorf("get_run: %s", asJSON(got))
					}
				}
				newest := a.mustCall("list_runs", nil)["runs"].([]any)[0].(map[string]any)
				if newest["id"] != started["runId"] || newest["targetType"] != "workflow" || newest["targetId"] != id ||
					newest["targetBranchId"] != run.branch {
					t.Errorf("list_runs: %v, want %v first", newest, started["runId"])
				}
			}
		}},
}

func TestRoundsMCP(t *testing.T) {
	covered(t, roundsMCP, "S1-40")
	check(t, roundsMCP)
}

// startHeldByMCP starts doc as a stored workflow through MCP; decisions are made with a token that
// has permission to approve (D32).
func startHeldByMCP(t *testing.T, doc string, p *payServer) heldRun {
	w := newWorld(t, onDisk(filepath.Join(t.TempDir(), "hocket.db")), func(c *service.Config) {
		c.Permissions, c.Starts.Tools = tool.Permissions{Ask: []string{"pay"}}, []byte(p.toolset())
	})
	w.replies = passing
	if _, problems, err := w.Apply(t.Context(), service.ApplyRequest{ID: "held",
		Documents: []service.Document{{File: "doc", Data: []byte(doc)}}}); err != nil || problems.HasErrors() {
		t.Fatal(problems, err)
	}
	person := access.Principal{Token: "p", Name: "p", Namespace: access.DefaultNamespace, Role: access.RoleRun,
		Approve: true}
	run := newAssistant(t, w, person).mustCall("execute_workflow", map[string]any{"id": "held", "input": "go"})["runId"]
	again := func() assistant {
		w = w.restart()
		return newAssistant(t, w, person)
	}
	return heldRun{
		show: func() []project.Waiting {
			again()
			o, err := w.Show(t.Context(), run.(string))
			if err != nil {
				t.Fatal(err)
			}
			return o.Waiting
		},
		answer: func(wait, decision, note string) string {
			out := again().mustCall("resume_run", map[string]any{"id": run, "wait": wait, "decision": decision,
				"note": note})
			return out["output"].(string)
		},
	}
}
