package tool_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/hocket-run/hocket/internal/tool"
)

func TestDecode(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, arguments, want string
		wrong                 bool
	}{
		{"nothing stands for {}", "", "", false},
		{"null stands for {}", "null", "", false},
		{"object", `{"text":"x"}`, "x", false},
		{"another type", `{"text":1}`, "", true},
		{"no object", `[]`, "", true},
		{"no JSON", `{`, "", true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var into struct{ Text string }
			err := tool.Call{Name: "say", Arguments: json.RawMessage(test.arguments)}.Decode(&into)
			e, ok := errors.AsType[*tool.Error](err)
			if into.Text != test.want || (err != nil) != test.wrong || test.wrong &&
				(!ok || e.Kind != tool.KindInvalidArguments || e.Tool != "say") {
				t.Errorf("got %q, %v", into.Text, err)
			}
		})
	}
}
