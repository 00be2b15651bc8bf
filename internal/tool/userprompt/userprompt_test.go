package userprompt_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/tool"
	"github.com/hocket-run/hocket/internal/tool/tooltest"
	"github.com/hocket-run/hocket/internal/tool/userprompt"
)

func TestConform(t *testing.T) {
	t.Parallel()
	tooltest.Conform(t, tooltest.Case{
		Open: func(t *testing.T) tool.Toolset {
			t.Helper()
			ts, err := userprompt.Type().Open(tool.Spec{Type: tool.TypeUserPrompt})
			if err != nil {
				t.Fatal(err)
			}
			return ts
		},
		Good:  tool.Call{Name: userprompt.Name, Arguments: json.RawMessage(`{"message":"Which colour?"}`)},
		Holds: tool.HoldQuestion,
	})
}

// TestCall checks that a call asks a person a question that names the agent that asks, and that it
// has no result of its own (P8).
func TestCall(t *testing.T) {
	t.Parallel()
	s, err := tool.NewSet(tool.Config{
		Agents: map[string]tool.Grant{"root": {Toolsets: []tool.Spec{{Type: tool.TypeUserPrompt}}}},
		Types:  map[string]tool.Type{tool.TypeUserPrompt: userprompt.Type()},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	for name, tc := range map[string]struct {
		args    string
		prompt  string
		options []string
		problem string
	}{
		"message": {`{"message":"Which colour?"}`, `Agent "root" asks: Which colour?`, nil, ""},
		"title":   {`{"message":"Which?","title":"Colour"}`, "Agent \"root\" asks: Colour\nWhich?", nil, ""},
		"options": {`{"message":"Which?","options":["red","blue"]}`, `Agent "root" asks: Which?`,
			[]string{"red", "blue"}, ""},
		"enum": {`{"message":"Where?","schema":{"type":"string","enum":["dev","prod"]}}`,
			`Agent "root" asks: Where?`, []string{"dev", "prod"}, ""},
		"yes or no": {`{"message":"Sure?","schema":{"type":"boolean"}}`, `Agent "root" asks: Sure?`,
			[]string{"true", "false"}, ""},
		"no message": {`{}`, "", nil, "message"},
		"bad schema": {`{"message":"x","schema":{"type":7}}`, "", nil, "the user was not asked"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := s.Call(t.Context(),
				tool.Call{Agent: "root", Name: userprompt.Name, Arguments: json.RawMessage(tc.args), Key: "k"})
			var hold *tool.HoldError
			if !errors.As(err, &hold) {
				if tc.problem == "" || err == nil || !strings.Contains(err.Error(), tc.problem) {
					t.Errorf("got %v, want a question, or an error with %q", err, tc.problem)
				}
				return
			}
			if h := hold.Hold; tc.problem != "" || h.Kind != tool.HoldQuestion || h.Prompt != tc.prompt ||
				!slices.Equal(h.Options, tc.options) || h.Binding == "" {
				t.Errorf("got %+v, want %q with options %q", h, tc.prompt, tc.options)
			}
		})
	}
}
