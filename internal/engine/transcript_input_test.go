package engine_test

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/enginetest"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/text"
	"github.com/hocket-run/hocket/workflow"
)

// prices are the prices of every run of a script: for every agent without a named model, a million
// tokens cost 1 USD for input and 2 USD for output.
var prices = []event.Price{{Rate: chat.Rate{Input: 1_000_000, Output: 2_000_000}}}

func argument(d *datadriven.TestData, key string) (datadriven.CmdArg, bool) {
	for _, a := range d.CmdArgs {
		if a.Key == key {
			return a, true
		}
	}
	return datadriven.CmdArg{}, false
}

// stringOf returns the single value of a key, or "" if the key is absent.
func stringOf(d *datadriven.TestData, key string) string {
	if a, ok := argument(d, key); ok && len(a.Vals) > 0 {
		return a.Vals[0]
	}
	return ""
}

// number returns the number of a key, or 0 if the key is absent.
func number(t *testing.T, d *datadriven.TestData, key string) int64 {
	t.Helper()
	v := stringOf(d, key)
	if v == "" {
		return 0
	}
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil {
		d.Fatalf(t, "%s: %v", key, err)
	}
	return n
}

// value parses an object, a list or a number as JSON, and everything else as a string.
func value(in string) event.Value {
	if json.Valid([]byte(in)) {
		return event.Value(in)
	}
	return enginetest.Text(in)
}

// object parses an object of values.
func object(t *testing.T, d *datadriven.TestData, in string) (out map[string]event.Value) {
	t.Helper()
	if err := json.Unmarshal([]byte(in), &out); err != nil {
		d.Fatalf(t, "%v", err)
	}
	return out
}

// limits parses the limits of a run.
func limits(t *testing.T, d *datadriven.TestData) workflow.Limits {
	t.Helper()
	l := workflow.Limits{
		MaxRounds: int(number(t, d, "max_rounds")), MaxLoopIterations: int(number(t, d, "loops")),
		MaxConcurrency: int(number(t, d, "concurrency")), MaxTokens: number(t, d, "tokens"),
		MaxCalls: number(t, d, "calls"), MaxBytes: number(t, d, "bytes"), OnBudget: stringOf(d, "on_budget"),
	}
	if _, ok := argument(d, "max_steps"); ok {
		l.MaxSteps = new(int(number(t, d, "max_steps")))
	}
	if v := stringOf(d, "timeout"); v != "" {
		l.Timeout = workflow.Duration(duration(t, d, v))
	}
	return l
}

// budget parses PREFIX_tokens=N and PREFIX_calls=N; it returns nil if neither is present.
func budget(t *testing.T, d *datadriven.TestData, prefix string) *workflow.Budget {
	t.Helper()
	b := workflow.Budget{MaxTokens: number(t, d, prefix+"_tokens"), MaxCalls: number(t, d, prefix+"_calls")}
	if !b.Bounds() {
		return nil
	}
	return &b
}

// modelResult parses a reply: lines `calls TOOL ARGUMENTS` are tool calls, with the ids c1, c2, …;
// `reads` are calls that may be in flight together, and `asks` those about which a person must
// decide. All other lines are the text. in=N and out=N are the tokens used.
func modelResult(t *testing.T, d *datadriven.TestData, id string) engine.ModelResult {
	t.Helper()
	r := engine.ModelResult{ID: id, Stop: stringOf(d, "stop"), Pins: event.Value(stringOf(d, "pins")),
		Usage: &chat.Usage{InputTokens: max(1, number(t, d, "in")), OutputTokens: max(1, number(t, d, "out"))}}
	var said []string
	for line := range strings.Lines(d.Input) {
		verb, call, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch n := len(r.Message.ToolCalls); verb {
		case "calls":
		case "reads":
			r.Concurrent = append(r.Concurrent, n)
		case "asks":
			r.Asks = append(r.Asks, n)
		default:
			said = append(said, strings.TrimSuffix(line, "\n"))
			continue
		}
		name, args, _ := strings.Cut(call, " ")
		r.Message.ToolCalls = append(r.Message.ToolCalls, enginetest.Call("c"+strconv.Itoa(len(r.Message.ToolCalls)+1),
			name, args))
	}
	r.Message.Text = text.Of(strings.Join(said, "\n"))
	return r
}

// held parses a tool result which says that a person must first decide about the call or, with
// `question`, provide its result.
func held(d *datadriven.TestData, id string) engine.ToolHeld {
	h := engine.Hold{Kind: workflow.WaitApproval, Prompt: d.Input, Arguments: event.Value(`{}`),
		Binding: "binding-of-" + id}
	if run := stringOf(d, "run"); run != "" { // the call started a run that waits
		h.Below = &event.Below{Run: run, Wait: stringOf(d, "wait")}
	}
	if _, ok := argument(d, "question"); ok {
		h.Kind = workflow.WaitQuestion
	}
	return engine.ToolHeld{ID: id, Hold: h}
}

// funcResult parses lines `output JSON`, `update OBJECT`, `goto NODE…` and `signal NAME`.
func funcResult(t *testing.T, d *datadriven.TestData, id string) engine.FuncResult {
	t.Helper()
	r := engine.FuncResult{ID: id}
	for line := range strings.Lines(d.Input) {
		switch what, rest, _ := strings.Cut(strings.TrimSpace(line), " "); what {
		case "output":
			r.Output = value(rest)
		case "update":
			r.Update = object(t, d, rest)
		case "goto":
			r.Goto = strings.Fields(rest)
		case "signal":
			r.Signals = append(r.Signals, event.SignalRaised{Signal: rest})
		default:
			d.Fatalf(t, "unknown line %q", line)
		}
	}
	return r
}

// failed parses the failure of a call of any kind. budget=DETAIL means that no budget was left for
// what the call was to start; unknown=POLICY means that a tool may have done its work.
func failed(t *testing.T, d *datadriven.TestData, id string, c engine.Command) engine.InputData {
	t.Helper()
	f := &event.Failure{Code: stringOf(d, "code"), Message: d.Input}
	if v := stringOf(d, "retry_after"); v != "" {
		f.RetryAfterMS = duration(t, d, v).Milliseconds()
	}
	switch c.(type) {
	case *engine.CallTool:
		return engine.ToolResult{ID: id, Failure: f, Unknown: stringOf(d, "unknown"), Budget: stringOf(d, "budget")}
	case *engine.CallFunc:
		return engine.FuncResult{ID: id, Failure: f, Budget: stringOf(d, "budget")}
	}
	return engine.ModelResult{ID: id, Failure: f}
}

// used parses usage that a call's result does not contain: run=R for that of a child run (with
// `ended` once it has ended), key=K for that of a session's model call.
func used(t *testing.T, d *datadriven.TestData, id string) engine.CallUse {
	t.Helper()
	_, ended := argument(d, "ended")
	n := number(t, d, "tokens")
	return engine.CallUse{ID: id, Run: stringOf(d, "run"), Key: stringOf(d, "key"), Ended: ended, Used: event.Used{
		OutputTokens: n, ModelCalls: int(number(t, d, "calls")),
		Borne: event.Spent{Tokens: n, Calls: number(t, d, "calls")},
	}}
}

// scriptHost provides the functions of a script: conditions hold if the input contains `yes`, and
// the states of sub-flows are passed as in [enginetest.Host].
type scriptHost struct{ enginetest.Host }

// Condition implements engine.Host.
func (scriptHost) Condition(_ string, v engine.View) (bool, error) {
	return strings.Contains(string(v.Input), "yes"), nil
}
