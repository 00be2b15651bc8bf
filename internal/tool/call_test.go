package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hocket-run/hocket/internal/tool"
	"github.com/hocket-run/hocket/internal/tool/tooltest"
)

// TestArguments checks that a tool is not called with arguments that do not match the schema, and
// that the model is told why.
func TestArguments(t *testing.T) {
	t.Parallel()
	schema := json.RawMessage(
		`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","required":["path"],` +
			`"additionalProperties":false,
		"properties":{"path":{"type":"string","pattern":"^(?!/etc)"},"lines":{"type":"array",` +
			`"items":{"type":"object","properties":{"n":{"type":"integer"}}}},
		"mode":{"enum":["r","w"]},"who":{"anyOf":[{"type":"string"},{"type":"null"}]}}}`)
	for _, tc := range []struct {
		name   string
		schema json.RawMessage
		args   string
		want   string // in the error; "" for a call
		got    string // the arguments of the call
	}{
		{"good", schema, ` {"path":"x","who":null} `, "", `{"path":"x","who":null}`},
		{"null for what is optional counts as absent", schema, `{"path":"x","mode":null,"lines":[{"n":null}]}`, "",
			`{"lines":[{}],"path":"x"}`},
		{"null for what is required", schema, `{"path":null}`, `(root): lacks "path"`, ""},
		{"a whole number as 5.0", schema, `{"path":"x","lines":[{"n":5.0}]}`, "", `{"lines":[{"n":5}],"path":"x"}`},
		{"big numbers stay whole", nil, `{"n":12345678901234567890}`, "", `{"n":12345678901234567890}`},
		{"nothing", nil, ``, "", `{}`},
		{"null", nil, `null`, "", `{}`},
		{"missing", schema, `{}`, `(root): lacks "path"`, ""},
		{"wrong type", schema, `{"path":3}`, `/path: must be a string, not a number`, ""},
		{"deep", schema, `{"path":"x","lines":[{"n":1},{"n":"2"}]}`, `/lines/1/n: must be a whole number, not a string`,
			""},
		{"enum", schema, `{"path":"x","mode":"rw"}`, `/mode: must be "r" or "w"`, ""},
		{"alternatives", schema, `{"path":"x","who":3}`,
			`/who: must fit any of these, but: must be a string, not a number; or must be null, not a number`, ""},
		{"unknown property", schema, `{"path":"x","extra":1}`, `(root): must not have "extra"`, ""},
		{"several", schema, `{"mode":1}`, `(root): lacks "path"; /mode: must be`, ""},
		{"a pattern that Go cannot say is not checked", schema, `{"path":"/etc/passwd"}`, "", `{"path":"/etc/passwd"}`},
		{"text that is no JSON, as adapters hand it on", schema, `"{path: x"`, "must be a JSON object, got a string",
			""},
		{"array", nil, `[1]`, "must be a JSON object, got an array", ""},
		{"broken", nil, `{"a":`, "not valid JSON", ""},
		{"two values", nil, `{} {}`, "not valid JSON", ""},
		{"a schema that is no use asks for an object", json.RawMessage(`{"type":12}`), `{"a":1}`, "", `{"a":1}`},
		{"references to files are not followed",
			json.RawMessage(`{"type":"object","properties":{"a":{"$ref":"file:///etc/passwd"}}}`), `{"a":1}`, "",
			`{"a":1}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			tl := &tooltest.Tool{Name: "x", Params: tc.schema}
			f := tooltest.NewToolset("f", tl)
			s := set(t, tool.Config{Agents: map[string]tool.Grant{"a": {Toolsets: []tool.Spec{f.Spec()}}},
				Types: tooltest.Types(f)})
			r, err := s.Call(t.Context(), tool.Call{Agent: "a", Name: "x", Arguments: json.RawMessage(tc.args)})
			if tc.want == "" {
				if err != nil || r.Text != tc.got {
					t.Errorf("got %s, %v, want %s", r.Text, err, tc.got)
				}
				return
			}
			if kindOf(err) != tool.KindInvalidArguments || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want invalid_arguments with %q", err, tc.want)
			}
			if len(tl.Calls()) != 0 {
				t.Error("the tool was called")
			}
		})
	}
}

// TestHostileSchemas checks that schemas from a server and arguments from a model can neither make
// the check panic nor make it run forever (SEC17).
func TestHostileSchemas(t *testing.T) {
	t.Parallel()
	doubling := `"z40":{}`
	for i := range 40 {
		doubling += fmt.Sprintf(`,"z%d":{"allOf":[{"$ref":"#/$defs/z%d"},{"$ref":"#/$defs/z%d"}]}`, i, i+1, i+1)
	}
	for name, tc := range map[string]struct {
		schema, args string
		called       bool // an unusable schema becomes one that requires an object
	}{
		"a number out of range": {`{"properties":{"n":{"minimum":3}}}`, `{"n":1e2000000}`, false},
		"of a kind":             {`{"properties":{"n":{"type":"integer"}}}`, `{"n":1e999999}`, false},
		"in a list of unlike items": {`{"properties":{"n":{"uniqueItems":true}}}`, `{"n":[1e2000000,1e2000000]}`,
			false},
		"doubling at one place": {`{"$defs":{` + doubling + `},"$ref":"#/$defs/z0"}`, `{}`, true},
		"doubling with the depth": {`{"properties":{"a":{"allOf":[{"$ref":"#"},{"$ref":"#"}]}}}`,
			strings.Repeat(`{"a":`, 60) + "{}" + strings.Repeat("}", 60), false},
		"deep": {strings.Repeat(`{"allOf":[`, 3000) + "{}" + strings.Repeat("]}", 3000), `{}`,
			true},
		"in circles": {`{"allOf":[{"$ref":"#"}]}`, `{}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tl := &tooltest.Tool{Name: "x", Params: json.RawMessage(tc.schema)}
			f := tooltest.NewToolset("f", tl)
			s := set(t, tool.Config{Agents: map[string]tool.Grant{"a": {Toolsets: []tool.Spec{f.Spec()}}},
				Types: tooltest.Types(f)})
			_, err := s.Call(t.Context(), tool.Call{Agent: "a", Name: "x", Arguments: json.RawMessage(tc.args)})
			if tc.called && err != nil || !tc.called && kindOf(err) != tool.KindInvalidArguments {
				t.Errorf("got %v, called: %t", err, tc.called)
			}
		})
	}
}

// TestCall_Timeout checks that every call ends in finite time, whatever the tool does (P11).
func TestCall_Timeout(t *testing.T) {
	t.Parallel()
	obeys := func(ctx context.Context, _ tool.Call) (tool.Result, error) {
		<-ctx.Done()
		return tool.Result{}, ctx.Err()
	}
	for _, tc := range []struct {
		name   string
		fn     func(release <-chan struct{}) func(context.Context, tool.Call) (tool.Result, error)
		cancel time.Duration // 0 means never
		within time.Duration
		check  func(error) bool
	}{
		{"timeout", func(<-chan struct{}) func(context.Context, tool.Call) (tool.Result, error) { return obeys }, 0,
			90 * time.Second, func(err error) bool {
				var e *tool.Error
				// S2-46
				return errors.As(err, &e) && e.Kind == tool.KindTimeout && e.OutcomeUnknown &&
					e.Error() == `Tool "x" timed out after 90000ms`
			}},
		{"cancel", func(<-chan struct{}) func(context.Context, tool.Call) (tool.Result, error) { return obeys },
			time.Second, time.Second,
			func(err error) bool { return errors.Is(err, context.Canceled) }},
		{"a tool that does not obey is left behind", func(release <-chan struct{}) func(context.Context, tool.Call) (
			tool.Result, error) {
			return func(context.Context, tool.Call) (tool.Result, error) { <-release; return tool.Result{}, nil }
		}, time.Second, 3 * time.Second, func(err error) bool { return errors.Is(err, context.Canceled) }},
		{"panic", func(<-chan struct{}) func(context.Context, tool.Call) (tool.Result, error) {
			return func(context.Context, tool.Call) (tool.Result, error) { panic("oh no") }
		}, 0, 0, func(err error) bool {
			return kindOf(err) == tool.KindFailed && strings.Contains(err.Error(), "oh no")
		}},
		{"plain error", func(<-chan struct{}) func(context.Context, tool.Call) (tool.Result, error) {
			return func(context.Context, tool.Call) (tool.Result, error) { return tool.Result{}, errors.New("broken") }
		}, 0, 0, func(err error) bool {
			return kindOf(err) == tool.KindFailed && err.Error() == `tool "x" failed: broken`
		}},
		{"too much", func(<-chan struct{}) func(context.Context, tool.Call) (tool.Result, error) {
			return func(context.Context, tool.Call) (tool.Result, error) {
				return tool.Result{Text: strings.Repeat("x", 101)}, nil
			}
		}, 0, 0, func(err error) bool {
			return kindOf(err) == tool.KindFailed && strings.Contains(err.Error(), "101 bytes")
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				release := make(chan struct{})
				defer close(release)
				f := tooltest.NewToolset("f", &tooltest.Tool{Name: "x", Fn: tc.fn(release)})
				spec := f.Spec()
				spec.Timeout = 90 * time.Second
				s := set(t, tool.Config{Agents: map[string]tool.Grant{"a": {Toolsets: []tool.Spec{spec}}},
					Types: tooltest.Types(f), MaxResultBytes: 100})
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if tc.cancel > 0 {
					time.AfterFunc(tc.cancel, cancel)
				}
				start := time.Now()
				_, err := s.Call(ctx, tool.Call{Agent: "a", Name: "x"})
				if !tc.check(err) {
					t.Errorf("got %v", err)
				}
				if d := time.Since(start); d != tc.within {
					t.Errorf("took %s, want %s", d, tc.within)
				}
			})
		})
	}
}

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
