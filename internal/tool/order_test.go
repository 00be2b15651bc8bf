package tool_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/hocket-run/hocket/internal/tool"
	"github.com/hocket-run/hocket/internal/tool/tooltest"
)

// reader is a tool that only reads.
type reader struct{ *tooltest.Tool }

func (reader) Concurrent() bool { return true }

// TestSet_Order checks what is known about the order of a call before it is made: whether
// it may be in flight together with neighbours, and whether a person must decide about it.
func TestSet_Order(t *testing.T) {
	t.Parallel()
	write := &tooltest.Tool{Name: "write", Params: json.RawMessage(`{"type":"object","required":["path"]}`)}
	f := tooltest.NewToolset("f", reader{&tooltest.Tool{Name: "read"}}, write)
	s := set(t, tool.Config{
		Agents: map[string]tool.Grant{"a": {Toolsets: []tool.Spec{f.Spec()}}}, Types: tooltest.Types(f),
		Permissions: tool.Permissions{Ask: []string{"write:path=private/*"}},
	})
	for name, c := range map[string]struct {
		tool, args       string
		concurrent, asks bool
	}{
		"reads":             {"read", `{}`, true, false},
		"may write":         {"write", `{"path":"a"}`, false, false},
		"asks":              {"write", `{"path":"private/a"}`, false, true},
		"invalid arguments": {"write", `{}`, true, false},
		"no tool":           {"wrote", `{}`, true, false},
	} {
		concurrent, asks := s.Order(t.Context(), tool.Call{Agent: "a", Name: c.tool,
			Arguments: json.RawMessage(c.args)})
		if concurrent != c.concurrent || asks != c.asks {
			t.Errorf("%s: got concurrent %t and asks %t, want %t and %t", name, concurrent, asks, c.concurrent, c.asks)
		}
	}
	for path, held := range map[string]bool{"a": false, "private/a": true} {
		r, err := s.Call(t.Context(), tool.Call{Agent: "a", Name: "write", CheckOnly: true,
			Arguments: json.RawMessage(`{"path":"` + path + `"}`)})
		if _, isHold := errors.AsType[*tool.HoldError](err); isHold != held || r.Permitted == held {
			t.Errorf("check of %s: %v", path, err)
		}
	}
	if n := len(write.Calls()); n > 0 {
		t.Errorf("%d calls were made, want none", n)
	}
}
