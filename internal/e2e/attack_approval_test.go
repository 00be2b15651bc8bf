//go:build unix

package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hocket-run/hocket/internal/client/api"
)

// TestAttackApprovalWithoutRight reproduces attack 1 in the list of repairs: clients with tokens
// that may not approve, and that accept every form that a server could show, try to have approvals
// decided through every transport. No approval is accepted, and no form is shown (D32, SEC12).
// HOCKET_LOAD is ten times the number of clients.
func TestAttackApprovalWithoutRight(t *testing.T) {
	t.Parallel()
	clients := 6
	if n, err := strconv.Atoi(os.Getenv("HOCKET_LOAD")); err == nil {
		clients = max(clients, n/10)
	}
	w := newWorld(t, "")
	admin := w.client(testToken)
	res := must(admin.CreateWorkflowWithResponse(t.Context(), api.CreateBody{Id: new("gate"), Document: gate}))
	checkStatus(t, res, 201, res.JSON201)
	tokens := map[string]string{}
	for _, role := range []string{"run", "edit", "admin"} {
		res := must(admin.CreateTokenWithResponse(t.Context(),
			api.TokenBody{Name: "bot of " + role, Role: api.TokenBodyRole(role)}))
		tokens[role] = checkStatus(t, res, 201, res.JSON201).Token
	}
	var (
		forms, refused, tries atomic.Int64
		mu                    sync.Mutex
		runs                  []string
		all                   sync.WaitGroup
	)
	accept := &sdk.ClientOptions{
		ElicitationHandler: func(context.Context, *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
			forms.Add(1)
			return &sdk.ElicitResult{Action: "accept", Content: map[string]any{"note": "yes", "answer": "retry"}}, nil
		}}
	for i := range clients {
		role := []string{"run", "edit", "admin"}[i%3]
		all.Go(func() {
			token := tokens[role]
			s, err := sdk.NewClient(&sdk.Implementation{Name: "bot", Version: "1"}, accept).Connect(t.Context(),
				&sdk.StreamableClientTransport{Endpoint: w.p.url + "/mcp",
					HTTPClient: &http.Client{Transport: bearer{w, token}}}, nil)
			if err != nil {
				t.Error(err)
				return
			}
			defer s.Close()
			m := &byMCP{w, s}
			var o struct {
				RunID, Status string
				Waiting       []struct{ ID string }
			}
			if text := m.call(t, "execute_workflow", map[string]any{"id": "gate", "waitSeconds": 60}, &o); text != "" ||
				o.Status != "paused" {
				t.Errorf("%s: started %+v %s", role, o, text)
				return
			}
			mu.Lock()
			runs = append(runs, o.RunID)
			mu.Unlock()
			wait := o.Waiting[0].ID
			for _, args := range []map[string]any{
				{}, {"wait": wait}, {"node": "ok"}, {"decision": "approve"}, {"input": "approve"},
				{"input": map[string]any{"decision": "approve"}},
				{"wait": wait, "decision": "approve", "note": "accepted"},
			} {
				args["id"] = o.RunID
				tries.Add(1)
				if text := m.call(t, "resume_run", args, &struct{}{}); strings.Contains(text,
					"only a person can decide this") {
					refused.Add(1)
				}
			}
			for _, body := range []string{`{"decision":"approve"}`, `{"input":"yes"}`,
				fmt.Sprintf(`{"decision":"approve","wait":%q}`, wait), `{"decision":"approve","node":"ok"}`} {
				tries.Add(1)
				if w.withTest(t).do("POST", "/api/v1/runs/"+o.RunID+"/resume", body, "Authorization",
					"Bearer "+token).status == http.StatusForbidden {
					refused.Add(1)
				}
			}
			// The same through a chat that was started with the same token.
			chat := func(messages ...map[string]string) (status int, body string) {
				text, err := json.Marshal(map[string]any{"model": "gate", "messages": messages})
				if err != nil {
					t.Error(err)
				}
				a := w.withTest(t).do("POST", "/v1/chat/completions", string(text), "Authorization", "Bearer "+token)
				return a.status, a.body
			}
			_, asked := chat(map[string]string{"role": "user", "content": "x"})
			var said struct {
				Choices []struct{ Message struct{ Content string } }
				Hocket  struct{ Run string } `json:"x_hocket"`
			}
			if err := json.Unmarshal([]byte(asked), &said); err != nil || len(said.Choices) == 0 ||
				said.Hocket.Run == "" {
				t.Errorf("chat: %v %s", err, asked)
				return
			}
			mu.Lock()
			runs = append(runs, said.Hocket.Run)
			mu.Unlock()
			tries.Add(1)
			if status, _ := chat(map[string]string{"role": "user", "content": "x"},
				map[string]string{"role": "assistant", "content": said.Choices[0].Message.Content},
				map[string]string{"role": "user", "content": "approve"}); status == http.StatusForbidden {
				refused.Add(1)
			}
		})
	}
	all.Wait()
	taken := 0
	for _, run := range runs {
		body := w.do("GET", "/api/v1/runs/"+run+"/events?limit=1000", "").is(200).body
		taken += strings.Count(body, `"type":"wait.answered"`)
		if o := (&byAPI{w, admin}).show(t, run); o.Status != "paused" {
			t.Errorf("run %s is %s", run, o.Status)
		}
	}
	t.Logf("%d clients, %d runs, %d decisions tried: %d refused, %d forms shown, %d approvals taken", clients,
		len(runs), tries.Load(), refused.Load(), forms.Load(), taken)
	if taken > 0 || forms.Load() > 0 || refused.Load() != tries.Load() || len(runs) != 2*clients {
		t.Error("an approval was decided, or put to a client that may not decide")
	}
}
