package memory_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/tool"
	"github.com/hocket-run/hocket/internal/tool/memory"
	"github.com/hocket-run/hocket/internal/tool/tooltest"
)

// TestSearch_ContextDone checks that a search checks its context before each entry, and that the
// number of its words is limited.
func TestSearch_ContextDone(t *testing.T) {
	t.Parallel()
	ts := open(t, &memory.Kept{}, "w", tool.Spec{})
	const entries = 100
	for i := range entries {
		call(t, ts, "a", "add_memory", fmt.Sprint(i), `{"memory":"word"}`)
	}
	tools, err := ts.Tools(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range tools {
		if one.Def().Name != "search_memories" {
			continue
		}
		search := tool.Call{Agent: "a", Name: "search_memories", Arguments: json.RawMessage(`{"query":"word"}`)}
		whole := &tooltest.Countdown{Context: context.Background(), Until: 1 << 40}
		if _, err := one.Call(whole, search); err != nil || whole.Asked < entries {
			t.Errorf("it asked %d times: %v", whole.Asked, err)
		}
		half := &tooltest.Countdown{Context: context.Background(), Until: entries / 2}
		if _, err := one.Call(half, search); !errors.Is(err, context.Canceled) {
			t.Errorf("it went on to its end: %v", err)
		}
	}
	long := call(t, ts, "a", "search_memories", "", `{"query":"`+strings.Repeat("a ", 1001)+`"}`)
	if !long.IsError || !strings.Contains(long.Text, "more than the limit of 2000") {
		t.Errorf("got %+v", long)
	}
}
