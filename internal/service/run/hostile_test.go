package run_test

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/engine/enginetest"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/project"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/internal/tool"
	"github.com/hocket-run/hocket/workflow"
)

// hostile is a model that, for each agent, produces the worst possible reply. It watches the heap.
type hostile struct {
	flood string
	turns atomic.Int64
	peak  atomic.Uint64
}

func (h *hostile) look() {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	h.peak.Store(max(h.peak.Load(), m.HeapAlloc))
}

func (h *hostile) Call(_ context.Context, q model.Request, _ func(model.Delta)) (model.Reply, error) {
	h.look()
	m := chat.Message{Role: chat.RoleAssistant, Text: chat.NewText("done")}
	switch q.Node {
	case "floods":
		m.Text = chat.NewText(h.flood)
	case "calls":
		for i := range 100_000 {
			m.ToolCalls = append(m.ToolCalls,
				chat.ToolCall{ID: fmt.Sprint(i), Name: "pages", Arguments: json.RawMessage(`{}`)})
		}
	case "loops":
		m.ToolCalls = []chat.ToolCall{
			{ID: "1", Name: "pages", Arguments: fmt.Appendf(nil, `{"page":%d}`, h.turns.Add(1))},
		}
	case "large":
		m.Text = chat.NewText(strings.Repeat("x", 1<<20))
	}
	return model.Reply{Message: m}, nil
}

// pages is a tool that returns the same text with every call: one page, or everything.
type pages struct {
	name, text string
}

func (p pages) Def() chat.ToolDef {
	return chat.ToolDef{Name: p.name, Parameters: json.RawMessage(`{"type":"object"}`)}
}
func (p pages) Policy() tool.Policy { return tool.PolicyRetry }
func (p pages) Call(context.Context, tool.Call) (tool.Result, error) {
	return tool.Result{Text: p.text + "\n"}, nil
}

// SEC17: a run designed to exhaust the server fails alone, at a limit that its error names: a
// concurrent run ends as usual, and memory stays bounded. The test is not parallel, since it
// measures the heap of the process.
func TestHostileWorkflows(t *testing.T) { //nolint:paralleltest // see above
	h := &hostile{flood: strings.Repeat("x", 100<<20)}
	const size = 32 << 20
	s := opened(t, filepath.Join(t.TempDir(), "hocket.db"), nil, func(c *service.Config) {
		c.Models = map[string]model.Client{"own": h}
		c.Tools = []tool.Tool{pages{"flood", h.flood}, pages{"pages", strings.Repeat("x", 64<<10)}}
		c.MaxBytes = size
	})
	agent := func(w *workflow.Workflow, id string, change func(*workflow.Agent)) *workflow.Workflow {
		for i := range w.Agents {
			if w.Agents[i].ID == id {
				change(&w.Agents[i])
			}
		}
		return w
	}
	tools := func(a *workflow.Agent) { a.MaxTurns, a.Tools = 1_000_000, []string{"pages"} }
	var wide []workflow.Node
	var branches []string
	var edges strings.Builder
	for i := range 10_000 {
		id := fmt.Sprintf("b%d", i)
		branches = append(branches, id)
		wide = append(wide, enginetest.In("f", enginetest.Agent(id)))
		fmt.Fprintf(&edges, "; f:%[1]s -> %[1]s; %[1]s -> f/join", id)
	}
	wide = append(enginetest.Fork("f", workflow.Fork{}, branches...), wide...)
	costly := workflow.Condition{Language: workflow.LangExpr, Text: "(" + strings.Repeat("$steps.large.output + ", 40) +
		"'') == ''"}
	for _, tt := range []struct {
		name string
		w    *workflow.Workflow
		code string
		// names is the limit's name in the message.
		names string
	}{
		{"a reply of 100 MB", agentGraph("", enginetest.Agent("floods")), driver.CodeMaxReplyBytes,
			"max_reply_bytes of 16777216"},
		{"a result of 100 MB",
			agentGraph("", workflow.Node{ID: "t", Kind: workflow.KindTool,
				Tool: &workflow.ToolNode{Tool: "flood", Args: json.RawMessage(`{}`)}}), "failed", "limit of 4194304"},
		{"100,000 calls in a reply", agent(agentGraph("", enginetest.Agent("calls")), "calls", tools),
			driver.CodeMaxReplyCalls, "max_reply_calls of 1000"},
		{"a million turns", agent(agentGraph("", enginetest.Agent("loops")), "loops", tools), event.CodeMaxBytes,
			"max_bytes"},
		{"a prompt of copies", agent(agentGraph("large -> z", enginetest.Agent("large"), enginetest.Agent("z")), "z",
			func(a *workflow.Agent) {
				a.System, a.Template = strings.Repeat("{{ $steps.large.output }}", 100_000), true
			}), event.CodeMaxBytes, "max_bytes"},
		{"10,000 branches", agentGraph(strings.TrimPrefix(edges.String(), "; "), wide...), event.CodeMaxSteps,
			"maximum steps (1000)"},
		{"a condition of copies", agentGraph("large -> d; d -> z", enginetest.Agent("large"),
			workflow.Node{ID: "d", Kind: workflow.KindDecide, Decide: &workflow.Decide{
				Cases: []workflow.Case{{Port: "out", When: costly}}, Else: "out",
			}}, enginetest.Agent("z")), event.CodeCondition, "costs more than 1000000 units"},
	} {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		h.peak.Store(m.HeapAlloc)
		bad := begin(t, s, service.StartRequest{Workflow: tt.w})
		honest := begin(t, s,
			service.StartRequest{Workflow: agentGraph("a -> b", enginetest.Agent("a"), enginetest.Agent("b"))})
		if o := ended(t, s, honest); o.Status != event.StatusCompleted || string(o.Output) != `"done"` {
			t.Errorf("%s: the honest run is %s, %v", tt.name, o.Status, o.Error)
		}
		o := ended(t, s, bad)
		if o.Status != event.StatusFailed || o.Error == nil || o.Error.Code != tt.code ||
			!strings.Contains(o.Error.Message, tt.names) {
			t.Errorf("%s: the run is %s, %s; want %s that names %s", tt.name, o.Status, tail(o.Error), tt.code,
				tt.names)
		}
		h.look()
		if more := h.peak.Load() - m.HeapAlloc; h.peak.Load() > m.HeapAlloc && more > 16*size {
			t.Errorf("%s: the heap grew by %d MB", tt.name, more>>20)
		}
	}
}

// tail returns the end of a failure's message, which contains the reason of a condition.
func tail(f *project.Error) string {
	if f == nil {
		return "no failure"
	}
	return f.Code + ": " + f.Message[max(0, len(f.Message)-200):]
}
