package driver

import (
	"context"
	"fmt"
	"testing"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/text"
	"github.com/hocket-run/hocket/workflow"
)

// clientFunc implements model.Client with a function.
type clientFunc func(model.Request) model.Reply

func (f clientFunc) Call(_ context.Context, req model.Request, _ func(model.Delta)) (model.Reply, error) {
	return f(req), nil
}

// TestMemos checks that a conversation finds its memo while its model requests tools, and that no
// memos are kept for ended conversations or beyond the limit.
func TestMemos(t *testing.T) {
	t.Parallel()
	asksForTool := true
	kept := map[string]any{}
	k := &RunResources{Models: clientFunc(func(req model.Request) model.Reply {
		kept[req.Agent] = req.Memo.Take()
		req.Memo.Keep(req.Agent)
		m := chat.Message{Role: chat.RoleAssistant, Text: text.Of("x")}
		if asksForTool {
			m.ToolCalls = []chat.ToolCall{{ID: "1", Name: "t"}}
		}
		return model.Reply{Message: m}
	})}
	call := func(agent string) any {
		k.CallModel(t.Context(), &Info{}, &engine.CallModel{ID: "1", Conversation: "shared",
			Agent: &workflow.Agent{ID: agent, Name: agent}}, nil)
		return kept[agent]
	}
	if got := call("a"); got != nil {
		t.Errorf("the first call finds %v", got)
	}
	if got := call("b"); got != nil {
		t.Errorf("another agent finds %v", got)
	}
	if got := call("a"); got != "a" {
		t.Errorf("the second call finds %v", got)
	}
	asksForTool = false
	call("a")
	if got := call("a"); got != nil {
		t.Errorf("after an answer there is %v", got)
	}
	asksForTool = true
	for i := range 3 * maxMemos {
		call(fmt.Sprint(i))
	}
	if len(k.memos.kept) != maxMemos {
		t.Errorf("%d memos, want %d", len(k.memos.kept), maxMemos)
	}
	if first, last := call("0"), call(fmt.Sprint(3*maxMemos-1)); first != nil || last == nil {
		t.Errorf("kept %v of the oldest and %v of the newest", first, last)
	}
}
