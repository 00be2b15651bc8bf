package conformance_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/cli"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/expr"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/project"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/internal/tool"
)

// payServer is a server with the tool pay, which records the arguments of its calls.
type payServer struct {
	*httptest.Server
	mu   sync.Mutex
	paid []string
}

func newTill(t *testing.T) *payServer {
	t.Helper()
	p := &payServer{}
	p.Server = httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server {
		srv := sdk.NewServer(&sdk.Implementation{Name: "till", Version: "1"}, nil)
		srv.AddTool(&sdk.Tool{Name: "pay", InputSchema: map[string]any{"type": "object"}},
			func(_ context.Context, q *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
				p.mu.Lock()
				defer p.mu.Unlock()
				p.paid = append(p.paid, string(q.Params.Arguments))
				return &sdk.CallToolResult{
					Content: []sdk.Content{&sdk.TextContent{Text: fmt.Sprintf("receipt %d", len(p.paid))}},
				}, nil
			})
		return srv
	}, nil))
	t.Cleanup(p.Close)
	return p
}

// payments returns the arguments of the calls so far.
func (p *payServer) payments() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string{}, p.paid...)
}

// toolset returns a toolset file that names the server.
func (p *payServer) toolset() string {
	return fmt.Sprintf("toolsets:\n  - {type: mcp, name: till, remote: {url: %q}}\n", p.URL)
}

// passing is a model whose agents hand the work on while they can, call pay if they have it, and
// then reply with what they read.
func passing(q model.Request, _ int) line {
	switch last := q.Messages[len(q.Messages)-1]; {
	case last.Role == chat.RoleTool:
		return say("read: " + last.Text.String())
	case q.Tools[0].Name == "pay":
		return use("pay", `{ "to": "Bob", "sum": 5 }`)
	}
	return use(q.Tools[0].Name, `{"input":"on"}`)
}

// heldRun is a run in which a call of pay by the third agent waits for a person. Every step of it
// uses another process, or another service on the same store.
type heldRun struct {
	// show returns the open waits.
	show func() []project.Waiting
	// answer submits a decision and returns the run's output.
	answer func(wait, decision, note string) string
}

// heldByService starts doc through the service API.
func heldByService(t *testing.T, doc string, p *payServer) heldRun {
	w := newWorld(t, onDisk(filepath.Join(t.TempDir(), "hocket.db")), func(c *service.Config) {
		c.Permissions = tool.Permissions{Ask: []string{"pay"}}
	})
	w.replies = passing
	r := w.runs(doc, "go", func(q *service.StartRequest) { q.Tools = []byte(p.toolset()) })
	again := func() {
		w = w.restart()
		r = &run{w, r.id}
	}
	return heldRun{
		show: func() []project.Waiting {
			again()
			return r.show().Waiting
		},
		answer: func(wait, decision, note string) string {
			again()
			if err := w.Answer(t.Context(), r.id, service.AnswerRequest{By: event.LocalBy(event.ChannelProgram),
				Wait: wait, Value: expr.Quote(decision), Note: note}); err != nil {
				t.Fatal(err)
			}
			return text(r.is(event.StatusCompleted).Output)
		},
	}
}

// heldByCommandLine starts doc with hocket run.
func heldByCommandLine(t *testing.T, doc string, p *payServer) heldRun {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	f := newFake(t)
	f.replies = passing
	fixed := []string{"--db", filepath.Join(dir, "hocket.db"), "--config",
		file("hocket.yaml", "permissions: {ask: [pay]}\n")}
	hocket := func(want int, args ...string) string {
		sh := commandLine(t, f, doc, "", append(args, fixed...)...)
		if sh.status != want {
			t.Fatalf("%v: status %d, want %d:\n%s", args, sh.status, want, sh.err)
		}
		return sh.out
	}
	hocket(cli.ExitPaused, "run", "DOC", "go", "--tools", file("tools.yaml", p.toolset()), "--run-id", "r1")
	return heldRun{
		show: func() []project.Waiting {
			var o struct {
				Waiting []project.Waiting `json:"waiting"`
			}
			if err := json.Unmarshal([]byte(hocket(cli.ExitOK, "runs", "show", "r1", "--json")), &o); err != nil {
				t.Fatal(err)
			}
			return o.Waiting
		},
		answer: func(wait, decision, note string) string {
			args := []string{"resume", "r1", "--wait", wait, "--" + decision}
			if note != "" {
				args = append(args, "--note", note)
			}
			return strings.TrimSuffix(hocket(cli.ExitOK, args...), "\n")
		},
	}
}

// heldEverywhere starts documents with three levels of agents of the same name through every
// transport.
func heldEverywhere(t *testing.T) {
	docs := map[string]string{
		"steps": `agents:
  one: {name: Same, instruction: x, sub_agents: [two]}
  two: {name: Same, instruction: x, sub_agents: [three]}
  three: {name: Same, instruction: x, tools: [pay]}
workflow:
  - {type: agent, name: one}
`,
		"canvas": canvas("s -> one; one:subagent -> two; two:subagent -> three", start(),
			node("one", "agent", `{"agentName":"Same",`+mayAsk+`}`),
			node("two", "agent", `{"agentName":"Same",`+mayAsk+`}`),
			node("three", "agent", `{"agentName":"Same","tools":{"pay":true}}`)),
	}
	for door, begin := range map[string]func(*testing.T, string, *payServer) heldRun{"service": heldByService,
		"command line": heldByCommandLine, "mcp": startHeldByMCP} {
		for format, doc := range docs {
			for decision, tc := range map[string]struct {
				note, output string
				paid         []string
			}{
				"approve": {"", "read: read: read: receipt 1", []string{`{"sum":5,"to":"Bob"}`}},
				"reject": {"too much", "read: read: read: A person rejected the call of tool pay; it was not made. " +
					"Reason: too much", []string{}},
			} {
				t.Run(strings.Join([]string{door, format, decision}, "/"), func(t *testing.T) {
					t.Parallel()
					p := newTill(t)
					r := begin(t, doc, p)
					waits := r.show()
					if len(waits) != 1 || waits[0].Kind != "approval" || waits[0].Tool != "pay" ||
						string(waits[0].Arguments) != `{"sum":5,"to":"Bob"}` {
						t.Fatalf("waits %s, want the one call", asJSON(waits))
					}
					same(t, "calls without approval", p.payments(), []string{})
					for range 2 { // the second answer is a double click (P24)
						same(t, "what the agents read", r.answer(waits[0].ID, decision, tc.note), tc.output)
						same(t, "calls", p.payments(), tc.paid)
					}
				})
			}
		}
	}
}
