package script_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/model/script"
)

// contract is the example in the contract, verbatim.
const contract = `replies:
  - agent: Writer            # agent name or node id; absent: any agent
    contains: "quarterly"    # optional: the last message must contain this
    text: "A first draft"
  - agent: Writer
    toolCalls: [{name: web_search, arguments: {query: "go 1.26"}}]
  - agent: Critic
    error: {code: rate_limit, message: "slow down"}
  - agent: Critic
    json: {is_approved: true}
    delayMs: 20
    usage: {inputTokens: 10, outputTokens: 3}
    times: 2                 # use this entry twice; ` + "`times: always`" + ` keeps it
`

func TestParse(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		in   string
		want []script.Entry
	}{
		"contract": {contract, []script.Entry{
			{Agent: "Writer", Contains: "quarterly", Text: "A first draft", Times: 1},
			{Agent: "Writer", ToolCalls: []chat.ToolCall{
				{Name: "web_search", Arguments: json.RawMessage(`{"query":"go 1.26"}`)},
			}, Times: 1},
			{Agent: "Critic", Error: &script.Failure{Code: "rate_limit", Message: "slow down"}, Times: 1},
			{Agent: "Critic", Text: `{"is_approved":true}`, Delay: 20 * time.Millisecond,
				Usage: &chat.Usage{InputTokens: 10, OutputTokens: 3}, Times: 2},
		}},
		"JSON": {
			"{\n\t\"replies\": [{\"text\": \"\\ud83c\\udf1e \\/\", \"times\": \"always\"}, {\"json\": [1.50, null, " +
				"12345678901234567890]}, {\"json\": null}]}",
			[]script.Entry{{Text: "🌞 /", Times: script.Always}, {Text: `[1.50,null,12345678901234567890]`, Times: 1},
				{Text: "null", Times: 1}},
		},
		"order of keys": {"replies:\n- json: {z: 1, a: 2}\n", []script.Entry{{Text: `{"z":1,"a":2}`, Times: 1}}},
		"nothing yet":   {"replies:\n", nil},
		"empty":         {"replies: []\n", nil},
		"empty text":    {"replies:\n- text: \"\"\n", []script.Entry{{Times: 1}}},
		"unquoted": {"replies:\n- {agent: 7, contains: 42, text: true}\n",
			[]script.Entry{{Agent: "7", Contains: "42", Text: "true", Times: 1}}},
		"text and calls": {
			"replies:\n- text: Let me look\n  reasoning: hm\n  stopReason: length\n  toolCalls: [{id: x, name: f}]\n",
			[]script.Entry{{Text: "Let me look", Reasoning: "hm", StopReason: "length",
				ToolCalls: []chat.ToolCall{{ID: "x", Name: "f", Arguments: json.RawMessage("{}")}}, Times: 1}},
		},
		"arguments, text": {
			"replies:\n- toolCalls: [{name: f, arguments: '{\"a\": 1}'}, {name: g, arguments: '{bro'}]\n",
			[]script.Entry{{ToolCalls: []chat.ToolCall{{Name: "f", Arguments: json.RawMessage(`{"a": 1}`)},
				{Name: "g", Arguments: json.RawMessage(`"{bro"`)}}, Times: 1}},
		},
		"error": {
			"replies:\n- error: {code: overloaded, retryAfterMs: 1500}\n  usage: {inputTokens: 1, cachedTokens: 1, " +
				"reasoningTokens: 0}\n",
			[]script.Entry{{Error: &script.Failure{Code: "overloaded", Message: "overloaded",
				RetryAfter: 1500 * time.Millisecond}, Usage: &chat.Usage{InputTokens: 1, CachedTokens: 1}, Times: 1}},
		},
		"own error code": {"replies:\n- error: {code: boom}\n",
			[]script.Entry{{Error: &script.Failure{Code: "boom", Message: "boom"}, Times: 1}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, diags := script.Parse("r.yaml", []byte(tc.in))
			if len(diags) > 0 {
				t.Fatalf("got diagnostics:\n%v", diags)
			}
			if d := cmp.Diff(s.Entries, tc.want, cmpopts.IgnoreFields(script.Entry{}, "Span"),
				cmpopts.EquateEmpty()); d != "" {
				t.Errorf("-got +want\n%s", d)
			}
		})
	}
}

func TestParseProblems(t *testing.T) {
	t.Parallel()
	const needs = "an entry needs one of text, json, toolCalls and error"
	for name, tc := range map[string]struct {
		in   string
		want []string
	}{
		"syntax": {"replies: [\n", []string{"r.yaml:2:1: error: * (syntax)"}},
		"no list": {"replies: 3\n",
			[]string{"r.yaml:1:10: error: expected a list, found a number (wrong-type)"}},
		"no replies": {"{}\n", []string{`r.yaml:1:1: error: "replies" is missing (missing-key)`}},
		"a list":     {"- text: x\n", []string{"r.yaml:1:1: error: expected a map, found a list (wrong-type)"}},
		"misspelt top": {"replys: []\n", []string{`r.yaml:1:1: error: "replies" is missing (missing-key)`,
			`r.yaml:1:1: error: the key "replys" is not known here (unknown-key); hint: did you mean "replies"?`}},
		"misspelt key": {"replies:\n  - agnet: W\n    text: x\n",
			[]string{
				`r.yaml:2:5: error: the key "agnet" is not known here (unknown-key); hint: did you mean "agent"?`,
			}},
		"misspelt inner": {"replies:\n- toolCalls: [{name: f, args: {}}]\n  usage: {inputToken: 3}\n",
			[]string{`r.yaml:2:25: error: the key "args" is not known here (unknown-key)`,
				`r.yaml:3:11: error: the key "inputToken" is not known here (unknown-key); hint: did you mean ` +
					`"inputTokens"?`}},
		"says nothing": {"replies:\n- agent: W\n", []string{"r.yaml:2:3: error: " + needs + " (bad-reply)"}},
		"not a map": {"replies:\n- hello\n",
			[]string{"r.yaml:2:3: error: expected a map, found a string (wrong-type)"}},
		"text and json": {"replies:\n- text: x\n  json: {}\n",
			[]string{"r.yaml:3:9: error: an entry has text or json, not both (bad-reply)"}},
		"error and text": {"replies:\n- text: x\n  error: {code: a}\n",
			[]string{"r.yaml:3:10: error: an entry has an error or an answer, not both (bad-reply)"}},
		"no code": {"replies:\n- error: {message: x}\n",
			[]string{`r.yaml:2:10: error: "code" is missing (missing-key)`}},
		"no such kind": {"replies:\n- error: {code: rate-limit}\n",
			[]string{
				`r.yaml:2:17: warning: unknown error code "rate-limit" (bad-reply); hint: did you mean "rate_limit"?`,
			}},
		"times": {"replies:\n- {text: x, times: 0}\n- {text: x, times: often}\n- {text: x, times: 1.5}\n",
			[]string{"r.yaml:2:20: error: times must be a number from 1, or always (bad-reply)",
				"r.yaml:3:20: error: times must be a number from 1, or always (bad-reply)",
				"r.yaml:4:20: error: expected a whole number, found a number (wrong-type)"}},
		"delay": {"replies:\n- {text: x, delayMs: -1}\n",
			[]string{"r.yaml:2:22: error: delayMs must be a number of milliseconds from 0 to 86400000 (bad-reply)"}},
		"usage": {"replies:\n- {text: x, usage: {inputTokens: -1}}\n",
			[]string{"r.yaml:2:34: error: inputTokens must not be negative (bad-reply)"}},
		"calls": {
			"replies:\n- toolCalls: []\n- toolCalls: [{arguments: {}}]\n- toolCalls: [{name: f, arguments: [1]}]\n",
			[]string{"r.yaml:2:14: error: toolCalls is empty (bad-reply)",
				`r.yaml:3:15: error: "name" is missing (missing-key)`,
				"r.yaml:4:36: error: arguments must be a map, or a text in place of it (bad-reply)"},
		},
		"stop reason": {"replies:\n- {text: x, stopReason: tired}\n",
			[]string{"r.yaml:2:25: error: stopReason must be stop, length, tool_calls or refusal (bad-reply)"}},
		"duplicate key": {"replies:\n- text: x\n  text: y\n", []string{"r.yaml:3:3: error: * (duplicate-key)"}},
		"not a file":    {"", []string{"* (empty-document)"}},
		"in JSON": {"{\"replies\": [{\"text\": 3, \"tims\": 1}]}",
			[]string{
				`r.yaml:1:26: error: the key "tims" is not known here (unknown-key); hint: did you mean "times"?`,
			}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, diags := script.Parse("r.yaml", []byte(tc.in))
			diags.Sort()
			var got []string
			for i, d := range diags {
				line := d.String()
				// A star in the expected line stands for words that come from the document reader.
				if i < len(tc.want) {
					if before, after, star := strings.Cut(tc.want[i], "*"); star && strings.HasPrefix(line, before) &&
						strings.Contains(line, after) {
						line = tc.want[i]
					}
				}
				got = append(got, line)
			}
			if d := cmp.Diff(got, tc.want); d != "" {
				t.Errorf("-got +want\n%s", d)
			}
		})
	}
}

// TestSpans checks that every entry has its position.
func TestSpans(t *testing.T) {
	t.Parallel()
	s, _ := script.Parse("r.yaml", []byte(contract))
	if got := s.Entries[1].Span.Start; got.Line != 5 || got.Column != 5 {
		t.Errorf("got %+v", got)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(contract))
	f.Add([]byte(`{"replies":[{"times":"always","toolCalls":[{"name":"f","arguments":"{"}]}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, diags := script.Parse("f", data)
		if s == nil {
			t.Fatal("got no script")
		}
		if diags.HasErrors() {
			return
		}
		for i, e := range s.Entries {
			if e.Times == 0 || e.Delay < 0 || (e.Error != nil && (e.Text != "" || e.ToolCalls != nil)) {
				t.Errorf("entry %d: got %+v", i, e)
			}
			for _, c := range e.ToolCalls {
				if c.Name == "" || !json.Valid(c.Arguments) {
					t.Errorf("entry %d: got call %+v", i, c)
				}
			}
		}
	})
}
