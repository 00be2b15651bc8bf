package think_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/tool"
	"github.com/hocket-run/hocket/internal/tool/think"
	"github.com/hocket-run/hocket/internal/tool/tooltest"
)

func TestConform(t *testing.T) {
	t.Parallel()
	tooltest.Conform(t, tooltest.Case{
		Open: func(*testing.T) tool.Toolset { return think.New(tool.Spec{Type: tool.TypeThink}) },
		Good: call("a", "1", "x"),
	})
}

func TestThink(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		shared bool
		calls  []tool.Call
		want   string // the last result
	}{
		{"first", false, []tool.Call{call("a", "1", "one")}, "Thoughts:\none"},
		{"list", false, []tool.Call{call("a", "1", "one"), call("a", "2", "two")}, "Thoughts:\none\ntwo"},
		{"each agent has its own", false, []tool.Call{call("a", "1", "one"), call("b", "2", "two")}, "Thoughts:\ntwo"},
		{"shared", true, []tool.Call{call("a", "1", "one"), call("b", "2", "two")}, "Thoughts:\none\ntwo"},
		{"a repeated key changes nothing (P12)", false, []tool.Call{call("a", "1", "one"), call("a", "2", "two"),
			call("a", "1", "one")}, "Thoughts:\none"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			live := toolOf(t, tc.shared)
			var answers []tool.Finished
			for _, c := range tc.calls {
				r, err := live.Call(t.Context(), c)
				if err != nil {
					t.Fatal(err)
				}
				answers = append(answers, tool.Finished{Call: c, Result: r})
			}
			if got := answers[len(answers)-1].Result.Text; got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
			// The state is a function of the earlier calls: after restoring, one more call has the
			// same result.
			again := toolOf(t, tc.shared)
			for _, f := range answers {
				again.(tool.Restorer).Restore(f.Call, f.Result)
			}
			next := call("a", "next", "more")
			want, _ := live.Call(t.Context(), next)
			got, err := again.Call(t.Context(), next)
			if err != nil || got.Text != want.Text {
				t.Errorf("after restore: %q (%v), want %q", got.Text, err, want.Text)
			}
		})
	}
}

// TestThink_OutputLimit checks that the size of the result does not grow with the number of
// thoughts (P6).
func TestThink_OutputLimit(t *testing.T) {
	t.Parallel()
	tl := toolOf(t, false)
	last := ""
	for i := range 100 {
		r, err := tl.Call(t.Context(), call("a", fmt.Sprint(i), fmt.Sprintf("%d %s", i, strings.Repeat("x", 1000))))
		if err != nil {
			t.Fatal(err)
		}
		last = r.Text
	}
	if len(last) > 6000 || !strings.Contains(last, "95 earlier ones left out") || !strings.Contains(last, "\n99 x") {
		t.Errorf("%d bytes: %.80s", len(last), last)
	}
}

func toolOf(t *testing.T, shared bool) tool.Tool {
	t.Helper()
	tools, err := think.New(tool.Spec{Type: tool.TypeThink, Shared: shared}).Tools(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return tools[0]
}

func call(agent, key, thought string) tool.Call {
	args, _ := json.Marshal(map[string]string{"thought": thought})
	return tool.Call{Agent: agent, Name: "think", Key: key, Arguments: args}
}
