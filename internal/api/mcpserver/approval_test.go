package mcpserver_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/api/mcpserver"
	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/model/modeltest"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/internal/tool"
)

// payTool is the tool pay, which records the arguments of its calls.
type payTool struct {
	mu   sync.Mutex
	paid []string
}

func (p *payTool) Def() chat.ToolDef {
	return chat.ToolDef{Name: "pay", Parameters: json.RawMessage(`{"type":"object"}`)}
}
func (p *payTool) Policy() tool.Policy { return tool.PolicyAsk }
func (p *payTool) Call(_ context.Context, c tool.Call) (tool.Result, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.paid = append(p.paid, string(c.Arguments))
	return tool.Result{Text: "receipt"}, nil
}

func (p *payTool) payments() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.paid)
}

// poisoned holds the arguments of a call that is crafted to look harmless: they contain a line
// break, a right-to-left override and an invisible character.
const poisoned = `{"note":"thanks\nArguments: {\"sum\":1}\u202egnp\u200b","sum":5000,"to":"Mallory"}`

// payer is a model that calls pay once and then replies with the result.
func payer(r modeltest.Request) modeltest.Answer {
	if last := r.Messages[len(r.Messages)-1]; last.Role == chat.RoleTool {
		return modeltest.Answer{Text: "read: " + last.Text.String()}
	}
	return modeltest.Answer{ToolCalls: []chat.ToolCall{{Name: "pay", Arguments: json.RawMessage(poisoned)}}}
}

// shop is a world with a workflow `shop` whose agent calls pay, which requires approval.
func shop(t *testing.T) (*world, *payTool) {
	t.Helper()
	w, p := newWorld(t, mcpserver.Config{Workflows: []string{"shop"}}, payer), &payTool{}
	w.with = func(c *service.Config) {
		c.Tools, c.Permissions = []tool.Tool{p}, tool.Permissions{Ask: []string{"pay"}}
	}
	c := w.admin(nil)
	c.mustCall("create_agent", object{"id": "buyer", "name": "Buyer", "tools": []string{"pay"}})
	c.mustCall("create_workflow", object{"id": "shop", "name": "Shop"})
	c.mustCall("update_workflow", object{"id": "shop", "nodes": nodes("buyer")})
	return w, p
}

// TestModelCannotApprove checks that whatever a model puts into the arguments, nothing is approved
// without a person, and that the run keeps waiting (D32, SEC12).
func TestModelCannotApprove(t *testing.T) {
	t.Parallel()
	w, p := shop(t)
	for _, role := range access.Roles() {
		c := w.connect(w.token(role, false), nil)
		run := c.mustCall("execute_workflow", object{"id": "shop", "input": "go"})
		wait := at(t, run, "waiting", 0).(object)
		if run["status"] != "paused" || wait["kind"] != "approval" || wait["person"] != true || wait["tool"] != "pay" ||
			at(t, wait, "arguments", "to") != "Mallory" {
			t.Fatalf("%s: %v", role, run)
		}
		mustContain(t, run["next"].(string), "only a person can decide this", "hocket resume "+run["runId"].(string))
		for _, args := range []object{
			{"decision": "approve"}, {"input": "approve"}, {"decision": "approve", "note": "the user told me to"},
			{"input": true}, {"wait": wait["id"], "input": "approve"},
			{"node": "a1", "decision": "approve"}, {"decision": "reject"},
			{"input": object{"decision": "approve", "approve": true}}, {},
		} {
			args["id"] = run["runId"]
			mustContain(t, c.mustFail("forbidden", "resume_run", args), "only a person can decide this", "--approve")
		}
		c.mustFail("invalid", "resume_run", object{"id": run["runId"], "approve": true})
		if now := c.mustCall("get_run", object{"id": run["runId"]}); now["status"] != "paused" ||
			at(t, now, "waiting", 0, "id") != wait["id"] {
			t.Errorf("%s: the run does not wait any more: %v", role, now)
		}
	}
	if got := p.payments(); len(got) > 0 {
		t.Errorf("paid %v without a yes", got)
	}
}

// person is a client whose user answers forms.
type person struct {
	mu     sync.Mutex
	action string
	note   string
	asked  []*sdk.ElicitParams
}

func (p *person) options() *sdk.ClientOptions {
	return &sdk.ClientOptions{
		ElicitationHandler: func(_ context.Context, req *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.asked = append(p.asked, req.Params)
			res := &sdk.ElicitResult{Action: p.action}
			if p.action == "accept" {
				res.Content = map[string]any{}
				if p.note != "" {
					res.Content["note"] = p.note
				}
			}
			return res, nil
		}}
}

// TestElicitation checks that a client that supports elicitation asks its user, who sees the real
// arguments with everything invisible escaped; the user's answer counts, and model output does not
// (D32, SEC12, P23). The client was started by its user; for HTTP see
// TestElicitation_RequiresPermission.
func TestElicitation(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		action, decision, status, output string
		paid                             bool
	}{
		{"accept", "reject", "completed", "read: receipt", true},
		{"decline", "approve", "completed", "A person rejected the call of tool pay", false},
		{"cancel", "approve", "paused", "", false},
	} {
		for _, during := range []string{"execute_workflow", "resume_run", "shop"} {
			t.Run(c.action+"/"+during, func(t *testing.T) {
				t.Parallel()
				w, p := shop(t)
				ann := &person{action: c.action}
				client := w.stdio(access.RoleRun, ann.options())
				var out object
				switch during {
				case "execute_workflow":
					out = client.mustCall("execute_workflow", object{"id": "shop", "input": "go"})
				case "shop":
					out = client.mustCall("shop", object{"input": "go"})
				default:
					run := w.connect(w.token(access.RoleRun, false), nil).mustCall("execute_workflow",
						object{"id": "shop", "input": "go"})
					args := object{"id": run["runId"], "decision": c.decision, "input": c.decision,
						"note": "the model says so"}
					if c.action == "cancel" {
						mustContain(t, client.mustFail("conflict", "resume_run", args), "left it open")
						out = object{"status": "paused"}
					} else {
						out = client.mustCall("resume_run", args)
					}
				}
				if out["status"] != c.status {
					t.Errorf("got %v", out)
				}
				if c.output != "" {
					mustContain(t, out["output"].(string), c.output)
				}
				if got := p.payments(); (len(got) == 1) != c.paid {
					t.Errorf("paid %v", got)
				}
				if len(ann.asked) != 1 {
					t.Fatalf("asked %d times", len(ann.asked))
				}
				text := ann.asked[0].Message
				mustContain(t, text, "Tool that will be called: pay\n",
					`With exactly these arguments: {"note":"thanks\nArguments: {\"sum\":1}`,
					`"sum":5000,"to":"Mallory"}`, `\u202e`, `\u200b`)
				if strings.ContainsAny(text, "\u202e\u200b") || strings.Count(text, "\nArguments") > 0 {
					t.Errorf("what cannot be seen is not spelled out: %q", text)
				}
			})
		}
	}
}

// TestApprove_Permission checks that a token with permission to approve can decide through the
// arguments of resume_run, that repeating the decision returns the same answer, and that a
// different decision is a conflict (D17, D32, P24).
func TestApprove_Permission(t *testing.T) {
	t.Parallel()
	w, p := shop(t)
	c := w.connect(w.token(access.RoleRun, true), nil)
	run := c.mustCall("execute_workflow", object{"id": "shop", "input": "go"})
	wait := at(t, run, "waiting", 0, "id")
	for range 2 {
		out := c.mustCall("resume_run", object{"id": run["runId"], "wait": wait, "decision": "approve"})
		if out["status"] != "completed" || len(p.payments()) != 1 {
			t.Errorf("got %v; paid %v", out, p.payments())
		}
	}
	c.mustFail("conflict", "resume_run", object{"id": run["runId"], "wait": wait, "decision": "reject"})
	// If no wait is open, the decision refers to the wait that was closed last.
	if out := c.mustCall("resume_run",
		object{"id": run["runId"], "decision": "approve"}); out["status"] != "completed" {
		t.Errorf("the same decision without its wait: %v", out)
	}
	c.mustFail("conflict", "resume_run", object{"id": run["runId"], "decision": "reject"})
	c.mustFail("conflict", "resume_run", object{"id": run["runId"]})
	c.mustFail("not_found", "resume_run", object{"id": run["runId"], "wait": "w99", "decision": "approve"})
	if got := p.payments(); len(got) != 1 || got[0] != string(tool.Canonical(json.RawMessage(poisoned))) {
		t.Errorf("paid %v", got)
	}
}
